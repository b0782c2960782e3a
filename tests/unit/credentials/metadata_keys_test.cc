// SPDX-License-Identifier: Apache-2.0
#include "credentials/metadata_keys.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/s3/scripted_http_server.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::credentials {
namespace {

using testing::HasSubstr;

constexpr const char* kKeys =
    R"({"AccessKeyId":"A","SecretAccessKey":"s","Token":"t","Expiration":"2099-01-01T00:00:00Z"})";

class MetadataKeys : public testing::Test {
 protected:
  static std::string fetch(KeySource& source) {
    const auto fetched = source.fetch({});
    return fetched ? fetched->keys.access_key_id : fetched.error().detail;
  }
  fakes::ScriptedHttpServer server_;
};

TEST_F(MetadataKeys, OfAContainerComeForTheTokenThatIsInTheFileNow) {
  const fakes::TemporaryFolder folder;
  const auto file = folder.path() / "token";
  ContainerKeys keys({.url = server_.url() + "/v1/keys",
                      .authorization = "not this one",
                      .authorization_file = file});
  server_.then({.body = kKeys});
  std::ofstream(file) << "first\n";
  EXPECT_EQ(fetch(keys), "A");
  std::ofstream(file) << "second";
  EXPECT_EQ(fetch(keys), "A");
  ASSERT_EQ(server_.seen().size(), 2U);
  EXPECT_EQ(server_.seen()[0].url, "/v1/keys");
  EXPECT_EQ(server_.seen()[0].headers.at("authorization"), "first");
  EXPECT_EQ(server_.seen()[1].headers.at("authorization"), "second");
  std::ofstream(file) << "two\nlines";
  EXPECT_THAT(fetch(keys), HasSubstr("more than one line"));
}

TEST_F(MetadataKeys, OfAContainerAreRefusedWithTheStatus) {
  ContainerKeys keys({.url = server_.url() + "/k", .authorization = {}, .authorization_file = {}});
  server_.then({.status = 403, .body = kKeys});
  const auto refused = keys.fetch({});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kAccessDenied);
  EXPECT_THAT(refused.error().detail, HasSubstr("status 403"));
  EXPECT_FALSE(server_.seen()[0].headers.contains("authorization"));
  fakes::ScriptedHttpServer other;
  other.then({.status = 302, .headers = {{"Location", server_.url() + "/k"}}});
  ContainerKeys moved({.url = other.url() + "/k", .authorization = {}, .authorization_file = {}});
  EXPECT_THAT(fetch(moved), HasSubstr("status 302")) << "a secret goes to no other place";
}

TEST_F(MetadataKeys, OfAnInstanceComeForASessionToken) {
  InstanceKeys keys({.url = server_.url()});
  server_.then({.body = "session"});
  server_.then({.body = "role-name\n"});
  server_.then({.body = kKeys});
  EXPECT_EQ(fetch(keys), "A");
  const auto seen = server_.seen();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].method, "PUT");
  EXPECT_EQ(seen[0].url, "/latest/api/token");
  EXPECT_EQ(seen[0].headers.at("x-aws-ec2-metadata-token-ttl-seconds"), "21600");
  EXPECT_EQ(seen[1].url, "/latest/meta-data/iam/security-credentials/");
  EXPECT_EQ(seen[2].url, "/latest/meta-data/iam/security-credentials/role-name");
  for (const std::size_t i : {1, 2}) {
    EXPECT_EQ(seen[i].headers.at("x-aws-ec2-metadata-token"), "session");
  }
}

TEST_F(MetadataKeys, OfAnInstanceThatHasNoRoleOrOnlyTheFirstVersion) {
  InstanceKeys keys({.url = server_.url()});
  server_.then({.status = 404});
  EXPECT_THAT(fetch(keys), HasSubstr("/latest/api/token: status 404"));
  fakes::ScriptedHttpServer other;
  other.then({.body = "session"});
  other.then({.body = ""});
  InstanceKeys without_role({.url = other.url()});
  EXPECT_THAT(fetch(without_role), HasSubstr("the instance has no role"));
}

TEST_F(MetadataKeys, FailWhereNothingListens) {
  InstanceKeys keys({.url = "http://127.0.0.1:1"});
  const auto fetched = keys.fetch({});
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::kUnreachable);
}

}  // namespace
}  // namespace s3rdmafs::credentials
