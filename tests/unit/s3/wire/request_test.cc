// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "s3/wire/response_headers.h"

namespace s3rdmafs::s3 {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RequestTest : public ::testing::Test {
 protected:
  Result<HttpRequest> build(const RequestSpec& spec) {
    StaticCredentials source(credentials_);
    return RequestBuilder(address_, source, clock_).build(spec);
  }

  BucketAddress address_{
      .bucket = "examplebucket", .url = "http://127.0.0.1:9000", .region = "us-east-1"};
  Credentials credentials_{.access_key_id = "AKIAIOSFODNN7EXAMPLE",
                           .secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                           .session_token = ""};
  fakes::FakeClock clock_;
};

TEST_F(RequestTest, PutsTheBucketIntoThePath) {
  const auto request = build({.key = "a b/../c+d", .query = {{"x y", "1&2"}}});
  EXPECT_EQ(request->url, "http://127.0.0.1:9000/examplebucket/a%20b/../c%2Bd?x%20y=1%262");
  EXPECT_THAT(request->headers, Contains("Host: 127.0.0.1:9000"));
}

TEST_F(RequestTest, PutsTheBucketIntoTheHostIfAsked) {
  address_.url = "https://s3.example.com:443";
  address_.addressing = AddressingStyle::kVirtualHost;
  const auto request = build({.key = "k"});
  EXPECT_EQ(request->url, "https://examplebucket.s3.example.com:443/k");
  EXPECT_THAT(request->headers, Contains("Host: examplebucket.s3.example.com"))
      << "without the scheme's own port, as it is signed";
}

TEST_F(RequestTest, SendsNoHeaderThatWouldBeginAnotherOne) {
  for (const std::string bad : {"\"v1\"\r\nX-Injected: yes", "\n", "\x01", "\x7f"}) {
    const auto request = build({.key = "k", .headers = {{"if-match", bad}}});
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code, ErrorCode::kProtocol);
    EXPECT_THAT(request.error().detail, AllOf(HasSubstr("if-match"), Not(HasSubstr("\n"))));
  }
  EXPECT_TRUE(build({.key = "k", .headers = {{"if-match", "\"v\xC3\xBC 1\""}}})) << "the control";
}

// The published AWS GET example, through the whole builder.
TEST_F(RequestTest, SignsAsAwsDoes) {
  class In2013 final : public Clock {
   public:
    std::chrono::steady_clock::time_point now() const override { return {}; }
    std::chrono::system_clock::time_point wall_now() const override {
      return std::chrono::system_clock::from_time_t(1369353600);  // 2013-05-24T00:00:00Z
    }
  } in_2013;
  address_.url = "https://s3.amazonaws.com";
  address_.addressing = AddressingStyle::kVirtualHost;
  StaticCredentials source(credentials_);
  RequestBuilder builder(address_, source, in_2013);
  const auto request = builder.build({.key = "test.txt", .headers = {{"range", "bytes=0-9"}}});
  EXPECT_THAT(
      request->headers,
      Contains("Authorization: AWS4-HMAC-SHA256 "
               "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
               "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
               "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

TEST_F(RequestTest, SignsTheTokenAndLeavesThePayloadUnsigned) {
  const auto request = build({.key = "k",
                              .headers = {{"x-amz-rdma-token", "t"}},
                              .payload_hash = std::string(kUnsignedPayload)});
  EXPECT_THAT(request->headers, Contains("x-amz-content-sha256: UNSIGNED-PAYLOAD"));
  EXPECT_THAT(request->headers, Contains(HasSubstr("x-amz-date;x-amz-rdma-token,")));
}

TEST_F(RequestTest, SendsAndSignsTheSessionToken) {
  credentials_.session_token = "session";
  const auto request = build({.key = "k"});
  EXPECT_THAT(request->headers, Contains("x-amz-security-token: session"));
  EXPECT_THAT(request->headers, Contains(HasSubstr("x-amz-security-token, Signature=")));
}

TEST_F(RequestTest, GoesUnsignedIfAnonymous) {
  credentials_ = {.anonymous = true};
  const auto request = build({.key = "k"});
  EXPECT_THAT(request->headers, Not(Contains(StartsWith("Authorization"))));
}

TEST(ResponseHeadersTest, KeepsTheFewThatCount) {
  ResponseHeaders headers;
  for (const char* line :
       {"ETag: \"abc\"\r\n", "content-LENGTH: 42\r\n", "X-Amz-Rdma-Reply:  206 \r\n",
        "x-amz-rdma-bytes-transferred: 42\r\n", "Last-Modified: Wed, 12 Oct 2009 17:50:00 GMT\r\n",
        "Retry-After: 7\r\n", "Content-Range: bytes 5-9/100\r\n", "X-Other: x\r\n", "\r\n"}) {
    headers.add_line(line, {});
  }
  EXPECT_EQ(headers.etag, "\"abc\"");
  EXPECT_EQ(headers.content_length, 42U);
  EXPECT_EQ(headers.rdma_reply, "206");
  EXPECT_EQ(headers.rdma_bytes_transferred, "42");
  EXPECT_EQ(headers.retry_after, std::chrono::seconds(7));
  EXPECT_EQ(std::chrono::system_clock::to_time_t(headers.last_modified.value()), 1255369800);
  EXPECT_EQ(parse_content_range(headers.content_range)->first, 5U);
  EXPECT_EQ(parse_content_range(headers.content_range)->last, 9U);
}

TEST(ResponseHeadersTest, TakesTwoRepliesForNone) {
  ResponseHeaders headers;
  headers.add_line("x-amz-rdma-reply: 200\r\n", {});
  headers.add_line("x-amz-rdma-reply: 501\r\n", {});
  EXPECT_EQ(headers.rdma_reply, "200, 501");
}

TEST(ResponseHeadersTest, NamesTheHeaderThatCouldNotBeSentBack) {
  for (const char* name : {"ETag", "Content-Range", "x-amz-rdma-reply", "x-amz-checksum-crc32c"}) {
    ResponseHeaders headers;
    headers.add_line(std::string(name) + ": a\x1b[31m\r\n", {});
    EXPECT_STRCASEEQ(headers.unusable.c_str(), name);
    headers.unusable.clear();
    headers.add_line(std::string(name) + ": " + std::string(1025, 'x') + "\r\n", {});
    EXPECT_STRCASEEQ(headers.unusable.c_str(), name);
  }
  ResponseHeaders fine;
  fine.add_line("ETag: " + std::string(1024, 'x') + "\r\n", {});
  fine.add_line("X-Other: \x01\r\n", {});
  fine.add_line("Date: " + std::string(1025, 'x') + "\r\n", {});
  EXPECT_EQ(fine.unusable, "") << "what is not kept does no harm";
  EXPECT_EQ(fine.etag.size(), 1024U);
}

TEST(ResponseHeadersTest, TakesTheNearestTimeForOneThatNoClockHolds) {
  ResponseHeaders headers;
  headers.add_line("Last-Modified: Fri, 31 Dec 9999 23:59:59 GMT\r\n", {});
  headers.add_line("Date: Sun, 01 Jan 1600 00:00:00 GMT\r\n", {});
  constexpr std::time_t kIn2262 = 9'214'646'400;   // 2262-01-01
  constexpr std::time_t kIn1678 = -9'214'560'000;  // 1678-01-01
  EXPECT_GE(std::chrono::system_clock::to_time_t(headers.last_modified.value()), kIn2262);
  EXPECT_LE(std::chrono::system_clock::to_time_t(headers.date.value()), kIn1678);
}

TEST(ResponseHeadersTest, IgnoresWhatItCannotRead) {
  ResponseHeaders headers;
  headers.add_line("Content-Length: many\r\n", {});
  headers.add_line("Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", {});
  headers.add_line("Retry-After: 99999999999999999\r\n", {});
  EXPECT_FALSE(headers.content_length);
  EXPECT_EQ(headers.retry_after, std::chrono::hours(1)) << "bounded";
  for (const char* text : {"", "bytes */5", "bytes 5-4/9", "bytes 1-/9", "items 1-2/3"}) {
    EXPECT_FALSE(parse_content_range(text)) << text;
  }
}

}  // namespace
}  // namespace s3rdmafs::s3
