// SPDX-License-Identifier: Apache-2.0
// The vectors are AWS's own: "Examples: Signature Calculations in AWS Signature Version 4" (GET
// with Range) and "Authenticating Requests: Using Query Parameters".
#include "target/auth/verify.h"

#include <gtest/gtest.h>

namespace s3rdmafs::target {
namespace {

using std::chrono::system_clock;

constexpr const char* kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

class VerifyTest : public testing::Test {
 protected:
  VerifyTest() {
    EXPECT_TRUE(keys_.add("AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"));
  }

  static Request ranged_get() {
    Request request;
    request.method = "GET";
    request.encoded_path = request.path = "/test.txt";
    request.headers = {
        {"host", "examplebucket.s3.amazonaws.com"},
        {"range", "bytes=0-9"},
        {"x-amz-content-sha256", kEmptyHash},
        {"x-amz-date", "20130524T000000Z"},
        {"authorization",
         "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
         "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
         "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"}};
    return request;
  }

  static Request presigned_get() {
    Request request;
    request.method = "GET";
    request.encoded_path = request.path = "/test.txt";
    request.headers = {{"host", "examplebucket.s3.amazonaws.com"}};
    request.query = {
        {"X-Amz-Algorithm", "AWS4-HMAC-SHA256"},
        {"X-Amz-Credential", "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"},
        {"X-Amz-Date", "20130524T000000Z"},
        {"X-Amz-Expires", "86400"},
        {"X-Amz-SignedHeaders", "host"},
        {"X-Amz-Signature", "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"}};
    return request;
  }

  static void replace(NameValues& values, std::string_view name, const std::string& value) {
    for (auto& [key, old] : values) {
      if (key == name) old = value;
    }
  }

  /// The error's code, or "ok".
  std::string outcome(const Request& request, std::chrono::seconds after_signing = {}) const {
    const auto signed_at = system_clock::from_time_t(1369353600);  // 2013-05-24T00:00:00Z
    const auto caller =
        verify(request, {.keys = &keys_, .region = region_}, signed_at + after_signing);
    return caller ? "ok" : std::string(caller.error().code.name);
  }

  Keys keys_;
  std::string region_;
};

TEST_F(VerifyTest, AcceptsAwsExampleInTheAuthorizationHeader) {
  EXPECT_EQ(outcome(ranged_get()), "ok");
}

TEST_F(VerifyTest, RefusesAChangedSignedHeader) {
  Request request = ranged_get();
  replace(request.headers, "range", "bytes=0-99");
  EXPECT_EQ(outcome(request), "SignatureDoesNotMatch");
}

TEST_F(VerifyTest, RefusesAChangedPathMethodAndQuery) {
  Request path = ranged_get();
  path.encoded_path = path.path = "/other.txt";
  EXPECT_EQ(outcome(path), "SignatureDoesNotMatch");
  Request method = ranged_get();
  method.method = "DELETE";
  EXPECT_EQ(outcome(method), "SignatureDoesNotMatch");
  Request query = ranged_get();
  query.query = {{"acl", ""}};
  EXPECT_EQ(outcome(query), "SignatureDoesNotMatch");
}

TEST_F(VerifyTest, RefusesAnUnknownKey) {
  Request request = ranged_get();
  std::string authorization = request.header_or("authorization", "");
  authorization.replace(authorization.find("AKIA"), 4, "BKIA");
  replace(request.headers, "authorization", authorization);
  EXPECT_EQ(outcome(request), "InvalidAccessKeyId");
}

TEST_F(VerifyTest, AllowsFifteenMinutesOfSkewEachWay) {
  using namespace std::chrono_literals;
  EXPECT_EQ(outcome(ranged_get(), 15min), "ok");
  EXPECT_EQ(outcome(ranged_get(), -15min), "ok");
  EXPECT_EQ(outcome(ranged_get(), 15min + 1s), "RequestTimeTooSkewed");
  EXPECT_EQ(outcome(ranged_get(), -15min - 1s), "RequestTimeTooSkewed");
}

TEST_F(VerifyTest, ChecksTheRegionOnlyIfTheServerHasOne) {
  region_ = "us-east-1";
  EXPECT_EQ(outcome(ranged_get()), "ok");
  region_ = "eu-central-1";
  EXPECT_EQ(outcome(ranged_get()), "AuthorizationHeaderMalformed");
}

TEST_F(VerifyTest, AcceptsAwsPresignedExampleUntilItExpires) {
  using namespace std::chrono_literals;
  EXPECT_EQ(outcome(presigned_get()), "ok");
  EXPECT_EQ(outcome(presigned_get(), 86400s), "ok");
  EXPECT_EQ(outcome(presigned_get(), 86401s), "AccessDenied");
}

TEST_F(VerifyTest, RefusesAPresignedAddressWhoseExpiryWasChanged) {
  Request request = presigned_get();
  replace(request.query, "X-Amz-Expires", "86401");
  EXPECT_EQ(outcome(request), "SignatureDoesNotMatch");
  replace(request.query, "X-Amz-Expires", "604801");
  EXPECT_EQ(outcome(request), "AccessDenied");
}

TEST_F(VerifyTest, RefusesASignatureThatLeavesOutTheHost) {
  Request request = presigned_get();
  replace(request.query, "X-Amz-SignedHeaders", "range");
  EXPECT_EQ(outcome(request), "AccessDenied");
}

TEST_F(VerifyTest, RefusesAnAmzHeaderThatIsNotSigned) {
  for (const std::string name : {"x-amz-copy-source", "x-amz-meta-a", "x-amz-rdma-token"}) {
    for (Request request : {ranged_get(), presigned_get()}) {
      request.headers.emplace_back(name, "/other/secret");
      EXPECT_EQ(outcome(request), "AccessDenied") << name;
    }
  }
}

TEST_F(VerifyTest, TakesAHeaderThatIsNotSignedWhereItIsNotOfAmz) {
  for (Request request : {ranged_get(), presigned_get()}) {
    request.headers.emplace_back("user-agent", "test");
    request.headers.emplace_back("x-amzn-trace-id", "1");
    EXPECT_EQ(outcome(request), "ok");
  }
}

TEST_F(VerifyTest, NeedsNoSignatureOverTheHeaderOfThePayloadHash) {
  Request request = presigned_get();
  request.headers.emplace_back("x-amz-content-sha256", "UNSIGNED-PAYLOAD");
  EXPECT_EQ(outcome(request), "ok") << "the hash itself is part of what is signed";
}

TEST_F(VerifyTest, RefusesASecondValueThatWasAddedToASignedHeader) {
  Request request = ranged_get();
  request.headers.emplace_back("range", "bytes=0-99");
  EXPECT_EQ(outcome(request), "SignatureDoesNotMatch");
}

TEST_F(VerifyTest, SaysThatSignatureVersionTwoIsNotTaken) {
  Request request = presigned_get();
  request.query = {{"AWSAccessKeyId", "AKIAIOSFODNN7EXAMPLE"}, {"Signature", "x"}};
  EXPECT_EQ(outcome(request), "InvalidRequest");
}

// The vector is of tests/mount/harness/key_service.py.
TEST_F(VerifyTest, KnowsTemporaryKeysByTheirSecretUntilTheyEnd) {
  const std::string access_key = "ASIA1700000000X0";
  EXPECT_FALSE(keys_.find(access_key)) << "the control";
  keys_.take_temporary("the secret that makes temporary keys");
  const auto key = keys_.find(access_key);
  ASSERT_TRUE(key);
  EXPECT_EQ(key->secret, "eed48fbce59b0338036a6204a153a42dc660e642ef8a21fc1eb1dad944afad77");
  EXPECT_EQ(key->session_token, "40c91ecdb124f0e86b7832f62ae3bf0a480c4bded8e125afc469aceb0e5f66e1");
  EXPECT_EQ(key->end, system_clock::time_point(std::chrono::seconds(1'700'000'000)));
  EXPECT_FALSE(keys_.find("ASIAX0")) << "it has no end";
  EXPECT_FALSE(keys_.find("AKIA1700000000X0"));

  Request request = ranged_get();
  replace(request.headers, "authorization",
          "AWS4-HMAC-SHA256 Credential=ASIA1369353600X0/20130524/us-east-1/s3/aws4_request,"
          "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=0");
  EXPECT_EQ(outcome(request), "ExpiredToken") << "with the second in which it was signed";
  replace(request.headers, "authorization",
          "AWS4-HMAC-SHA256 Credential=ASIA1369353601X0/20130524/us-east-1/s3/aws4_request,"
          "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=0");
  EXPECT_EQ(outcome(request), "InvalidToken") << "there is none";
}

TEST_F(VerifyTest, TakesARequestWithoutSignatureForAnonymous) {
  Request request = ranged_get();
  request.headers.pop_back();
  const auto caller = verify(request, {.keys = &keys_, .region = {}}, system_clock::now());
  ASSERT_TRUE(caller);
  EXPECT_TRUE(caller->is_anonymous);
}

}  // namespace
}  // namespace s3rdmafs::target
