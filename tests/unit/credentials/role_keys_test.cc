// SPDX-License-Identifier: Apache-2.0
#include "credentials/role_keys.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/s3/scripted_http_server.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::credentials {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// As Amazon answers; MinIO's envelope has the same elements.
constexpr const char* kAnswer =
    R"(<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleResult><AssumedRoleUser><Arn>a</Arn></AssumedRoleUser><Credentials>
    <AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s/+=</SecretAccessKey>
    <SessionToken>t</SessionToken><Expiration>2023-11-14T23:13:20Z</Expiration>
  </Credentials></AssumeRoleResult></AssumeRoleResponse>)";

class FixedSigner final : public KeySource {
 public:
  explicit FixedSigner(Result<FetchedKeys> keys) : keys_(std::move(keys)) {}
  Result<FetchedKeys> fetch(const std::stop_token&) override { return keys_; }

 private:
  const Result<FetchedKeys> keys_;
};

class StsKeys : public testing::Test {
 protected:
  RoleKeys role(Result<FetchedKeys> signer) {
    return {{.role_arn = "arn:aws:iam::1:role/r",
             .session_name = "me",
             .external_id = "a b",
             .source = nullptr},
            std::make_unique<FixedSigner>(std::move(signer)),
            sts_,
            clock_};
  }
  static std::string detail(const Result<FetchedKeys>& fetched) {
    return fetched ? "" : fetched.error().detail;
  }

  fakes::FakeClock clock_;
  fakes::ScriptedHttpServer server_;
  const Sts sts_{.url = server_.url(), .region = "eu-west-1", .connection = {}};
};

TEST_F(StsKeys, OfARoleComeForASignedForm) {
  server_.then({.body = kAnswer});
  auto keys = role(FetchedKeys{
      .keys = {.access_key_id = "AK", .secret_access_key = "secret", .session_token = "st"}});
  const auto fetched = keys.fetch({});
  ASSERT_TRUE(fetched) << fetched.error().detail;
  EXPECT_EQ(fetched->keys.access_key_id, "ASIA1");
  EXPECT_EQ(fetched->keys.secret_access_key, "s/+=");
  EXPECT_EQ(fetched->keys.session_token, "t");
  EXPECT_EQ(fetched->end, clock_.wall_now() + std::chrono::hours(1));
  const auto seen = server_.seen().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.url, "/");
  EXPECT_EQ(seen.body,
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"
            "RoleSessionName=me&ExternalId=a%20b");
  EXPECT_EQ(seen.headers.at("x-amz-security-token"), "st");
  EXPECT_EQ(seen.headers.at("x-amz-date"), "20231114T221320Z");
  EXPECT_THAT(seen.headers.at("authorization"),
              StartsWith("AWS4-HMAC-SHA256 Credential=AK/20231114/eu-west-1/sts/aws4_request, "
                         "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, "
                         "Signature="));
}

TEST_F(StsKeys, OfARoleFailAsItsSignerDoes) {
  EXPECT_THAT(detail(role(fail(ErrorCode::kConfig, "no signer")).fetch({})), "no signer");
  EXPECT_TRUE(server_.seen().empty());
}

TEST_F(StsKeys, OfAWebIdentityComeForTheTokenThatIsInTheFileNow) {
  const fakes::TemporaryFolder folder;
  const auto file = folder.path() / "token";
  WebIdentityKeys keys({.role_arn = "arn:r", .session_name = "pod", .token_file = file}, sts_);
  EXPECT_THAT(detail(keys.fetch({})), HasSubstr("No such file"));
  std::ofstream(file) << "\n";
  EXPECT_THAT(detail(keys.fetch({})), HasSubstr("the token file is empty"));
  server_.then({.body = kAnswer});
  for (const char* token : {"first", "second"}) {
    std::ofstream(file) << token << "\n";
    EXPECT_EQ(detail(keys.fetch({})), "");
    EXPECT_EQ(server_.seen().back().body,
              std::string("Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Ar&"
                          "RoleSessionName=pod&WebIdentityToken=") +
                  token);
    EXPECT_FALSE(server_.seen().back().headers.contains("authorization"));
  }
}

TEST_F(StsKeys, AreRefusedWithTheReasonOfTheService) {
  server_.then({.status = 403,
                .body = "<ErrorResponse><Error><Code>ExpiredToken</Code><Message>too "
                        "old</Message></Error></ErrorResponse>"});
  const auto refused = role(FetchedKeys{}).fetch({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAccessDenied);
  EXPECT_THAT(refused.error().detail, HasSubstr("status 403, ExpiredToken too old"));
}

TEST_F(StsKeys, AreNotTakenFromAnAnswerWithoutThem) {
  for (const char* body :
       {"", "<html/>", "<A><Credentials><AccessKeyId>A</AccessKeyId></Credentials></A>"}) {
    fakes::ScriptedHttpServer server;
    server.then({.body = body});
    RoleKeys keys({.role_arn = "r", .session_name = "s", .external_id = {}, .source = nullptr},
                  std::make_unique<FixedSigner>(FetchedKeys{}),
                  {.url = server.url(), .region = "us-east-1", .connection = {}}, clock_);
    EXPECT_THAT(detail(keys.fetch({})), HasSubstr("is this an STS?")) << body;
  }
  server_.then({.status = 500});
  const auto failed = role(FetchedKeys{}).fetch({});
  EXPECT_EQ(failed.error().code, ErrorCode::kUnreachable) << "it may answer later";
}

}  // namespace
}  // namespace s3rdmafs::credentials
