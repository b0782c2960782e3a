// SPDX-License-Identifier: Apache-2.0
#include "credentials/sso_keys.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/s3/scripted_http_server.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::credentials {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRole =
    R"({"roleCredentials":{"accessKeyId":"A","secretAccessKey":"s","sessionToken":"t","expiration":4070908800000}})";
// The SHA-1 of "people", by sha1sum(1).
constexpr const char* kCacheFile = "ab3ccc8dba2a0cf7a1ce4d830bb8a6238ff03833.json";

class SsoKeysTest : public testing::Test {
 protected:
  void sign_in(const std::string& json) { std::ofstream(folder_.path() / kCacheFile) << json; }
  Result<FetchedKeys> fetch() { return keys_.fetch({}); }
  std::string failure() {
    const auto fetched = fetch();
    return fetched ? "" : fetched.error().detail;
  }

  const fakes::TemporaryFolder folder_;
  fakes::ScriptedHttpServer server_;
  fakes::FakeClock clock_;
  SsoKeys keys_{{.portal_url = server_.url(),
                 .account_id = "123456789012",
                 .role_name = "train+read",
                 .cache_folder = folder_.path(),
                 .cache_key = "people",
                 .profile = "work"},
                clock_};
};

TEST_F(SsoKeysTest, ComeForTheSignInThatIsInTheCacheNow) {
  server_.then({.body = kRole});
  server_.then({.body = kRole});
  sign_in(R"({"accessToken":"first","expiresAt":"2099-01-01T00:00:00Z"})");
  const auto fetched = fetch();
  ASSERT_TRUE(fetched) << fetched.error().detail;
  EXPECT_EQ(fetched->keys.access_key_id, "A");
  EXPECT_EQ(fetched->keys.session_token, "t");
  EXPECT_EQ(fetched->end, std::chrono::system_clock::from_time_t(4'070'908'800));
  sign_in(R"({"accessToken":"second","expiresAt":"2099-01-01T00:00:00Z","region":"x"})");
  ASSERT_TRUE(fetch());
  ASSERT_EQ(server_.seen().size(), 2U);
  EXPECT_EQ(server_.seen()[0].url, "/federation/credentials");
  EXPECT_EQ(server_.seen()[0].query, "role_name=train%2Bread&account_id=123456789012");
  EXPECT_EQ(server_.seen()[0].headers.at("x-amz-sso_bearer_token"), "first");
  EXPECT_EQ(server_.seen()[1].headers.at("x-amz-sso_bearer_token"), "second");
}

TEST_F(SsoKeysTest, AskForASignInWhereThereIsNoneThatHolds) {
  const auto advice = HasSubstr("sign in: aws sso login --profile work");
  EXPECT_THAT(failure(), advice) << "no file";
  sign_in(R"({"accessToken":"hidden","expiresAt":"1969-12-31T00:00:00Z"})");
  EXPECT_THAT(failure(), AllOf(HasSubstr("has ended"), advice));
  EXPECT_TRUE(server_.seen().empty()) << "the portal is not asked in vain";
  sign_in(R"({"accessToken":"hidden","expiresAt":"2099-01-01T00:00:00Z"})");
  server_.then({.status = 401});
  EXPECT_THAT(failure(), AllOf(HasSubstr("does not take"), advice));
}

TEST_F(SsoKeysTest, TellARoleThatIsRefusedFromAPortalThatIsDown) {
  sign_in(R"({"accessToken":"hidden","expiresAt":"2099-01-01T00:00:00Z"})");
  server_.then({.status = 403});
  server_.then({.status = 503});
  EXPECT_EQ(fetch().error().code, ErrorCode::kAccessDenied);
  EXPECT_EQ(fetch().error().code, ErrorCode::kUnreachable);
}

TEST_F(SsoKeysTest, RefuseDocumentsThatTheyCannotRead) {
  for (const char* file :
       {"", "[]", R"({"accessToken":"hidden"})", R"({"accessToken":"hidden","expiresAt":"soon"})",
        R"({"accessToken":"hid\nden","expiresAt":"2099-01-01T00:00:00Z"})"}) {
    sign_in(file);
    EXPECT_THAT(failure(), AllOf(HasSubstr(kCacheFile), Not(HasSubstr("hidden")))) << file;
  }
  sign_in(R"({"accessToken":"hidden","expiresAt":"2099-01-01T00:00:00Z"})");
  const std::vector<std::string> answers = {
      "{}", R"({"roleCredentials":{"accessKeyId":"A"}})",
      R"({"roleCredentials":{"accessKeyId":"A","secretAccessKey":"s","sessionToken":"t"}})"};
  for (const std::string& answer : answers) server_.then({.body = answer});
  for (const std::string& answer : answers) {
    const auto fetched = fetch();
    ASSERT_FALSE(fetched) << answer;
    EXPECT_EQ(fetched.error().code, ErrorCode::kProtocol) << answer;
  }
}

}  // namespace
}  // namespace s3rdmafs::credentials
