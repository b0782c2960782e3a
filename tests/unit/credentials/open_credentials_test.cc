// SPDX-License-Identifier: Apache-2.0
#include "credentials/open_credentials.h"

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

class OpenCredentials : public testing::Test {
 protected:
  std::string open(const config::CredentialChoice& choice) {
    const auto opened = open_credentials(
        choice, {.url = server_.url(), .region = "us-east-1", .connection = {}}, clock_, metrics_);
    if (!opened) return opened.error().detail;
    const auto keys = (*opened)->get();
    return keys ? keys->access_key_id : keys.error().detail;
  }
  static config::CredentialChoice printing(const std::string& id) {
    return {.origin = "a program",
            .source = config::KeysOfProcess{R"(echo '{"Version":1,"SecretAccessKey":"s",)"
                                            R"("AccessKeyId":")" +
                                            id + "\"}'"}};
  }

  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  fakes::ScriptedHttpServer server_;
};

TEST_F(OpenCredentials, GivesKeysThatStayOrTheFirstOfThoseThatChange) {
  EXPECT_EQ(open({.origin = "x", .source = config::Credentials{.access_key_id = "A"}}), "A");
  EXPECT_EQ(open(printing("P")), "P");
}

TEST_F(OpenCredentials, SignsForARoleWithTheKeysOfAnotherSource) {
  server_.then({.body = "<R><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>s"
                        "</SecretAccessKey></Credentials></R>"});
  const config::KeysOfRole role{
      .role_arn = "arn:r",
      .session_name = "s",
      .external_id = {},
      .source = std::make_shared<const config::CredentialChoice>(printing("SIGNER"))};
  EXPECT_EQ(open({.origin = "x", .source = role}), "ROLE");
  EXPECT_THAT(server_.seen().at(0).headers.at("authorization"), HasSubstr("Credential=SIGNER/"));
}

TEST_F(OpenCredentials, SignsForARoleWithTheOwnKeysOfItsProfile) {
  const fakes::TemporaryFolder folder;
  const auto file = folder.path() / "keys";
  std::ofstream(file) << "[p]\nrole_arn = arn:r\nsource_profile = p\naws_access_key_id = OWN\n"
                         "aws_secret_access_key = s\n";
  config::MountConfig config;
  config.credentials.file = file;
  config.credentials.profile = "p";
  server_.then({.body = "<R><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>s"
                        "</SecretAccessKey></Credentials></R>"});
  const auto choice = config::choose_credentials(config, {});
  ASSERT_TRUE(choice) << choice.error().detail;
  EXPECT_EQ(open(*choice), "ROLE");
  EXPECT_THAT(server_.seen().at(0).headers.at("authorization"), HasSubstr("Credential=OWN/"));
}

TEST_F(OpenCredentials, TakesNoKeysThatHaveEnded) {
  EXPECT_THAT(open({.origin = "a program",
                    .source =
                        config::KeysOfProcess{
                            R"(echo '{"Version":1,"AccessKeyId":"A","SecretAccessKey":"s",)"
                            R"("Expiration":"2001-01-01T00:00:00Z"}')"}}),
              HasSubstr("no keys from a program: they have ended already"));
}

TEST_F(OpenCredentials, AsksAgainWhereTheServiceIsBusy) {
  server_.then({.status = 503});
  server_.then({.body = R"({"AccessKeyId":"A","SecretAccessKey":"s"})"});
  EXPECT_EQ(open({.origin = "x", .source = config::KeysOfContainer{.url = server_.url() + "/k"}}),
            "A");
}

TEST_F(OpenCredentials, SaysWhereItAsked) {
  EXPECT_THAT(open({.origin = "the place", .source = config::KeysOfProcess{"exit 1"}}),
              AllOf(HasSubstr("no keys from the place"), HasSubstr("status 1")));
  EXPECT_THAT(open({.origin = "an instance",
                    .searched = "looked here and there",
                    .source = config::KeysOfInstance{"http://127.0.0.1:1"}}),
              AllOf(HasSubstr("looked here and there"), HasSubstr("has no role either")));
}

}  // namespace
}  // namespace s3rdmafs::credentials
