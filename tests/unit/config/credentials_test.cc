// SPDX-License-Identifier: Apache-2.0
#include "config/credentials/credentials.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mount_file.h"

namespace s3rdmafs::config {
namespace {

using testing::HasSubstr;

class ResolveCredentials : public testing::Test {
 protected:
  ResolveCredentials() {
    environment_.home = folder_.path();
    folder_.write(".aws/credentials",
                  "[default]\naws_access_key_id = HOME\naws_secret_access_key = s\n"
                  "[work]\naws_access_key_id = WORK\naws_secret_access_key = s\n"
                  "aws_session_token = t\n");
    file_ = folder_.write("keys",
                          "[default]\naws_access_key_id = FILE\naws_secret_access_key = s\n"
                          "[half]\naws_access_key_id = HALF\n");
  }

  // The access key that was found, or the error.
  std::string found() const {
    const auto credentials = resolve_credentials(config_, environment_);
    return credentials ? credentials->access_key_id : credentials.error().detail;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_;
  Environment environment_;
  MountConfig::Credentials config_;
};

// From the weakest on; each step adds a stronger place to those before.
TEST_F(ResolveCredentials, TakesTheFirstPlaceThatSaysAnything) {
  EXPECT_EQ(found(), "HOME");
  environment_.variables = {{"AWS_ACCESS_KEY_ID", "VARIABLE"}, {"AWS_SECRET_ACCESS_KEY", "s"}};
  EXPECT_EQ(found(), "VARIABLE");
  config_.file = file_;
  EXPECT_EQ(found(), "FILE");
  config_.access_key_id = "CONFIG";
  config_.secret_access_key = "s";
  EXPECT_EQ(found(), "CONFIG");
  config_.anonymous = true;
  EXPECT_EQ(found(), "");
  EXPECT_TRUE(resolve_credentials(config_, environment_)->anonymous);
}

TEST_F(ResolveCredentials, TakesTheProfileFromTheMountFileThenTheEnvironment) {
  environment_.variables = {{"AWS_PROFILE", "work"}};
  EXPECT_EQ(found(), "WORK");
  EXPECT_EQ(resolve_credentials(config_, environment_)->session_token, "t");
  config_.profile = "default";
  EXPECT_EQ(found(), "HOME");
}

TEST_F(ResolveCredentials, StopsAtAPlaceThatIsBroken) {
  config_.file = file_;
  config_.profile = "half";
  EXPECT_THAT(found(), HasSubstr("[half] has no aws_secret_access_key"));
  config_.profile = "absent";
  EXPECT_THAT(found(), HasSubstr("no section [absent]; it has: default, half"));
  config_.file = folder_.path() / "nowhere";
  EXPECT_THAT(found(), HasSubstr("No such file"));
}

TEST_F(ResolveCredentials, RefusesHalfAPairOfVariables) {
  environment_.variables = {{"AWS_ACCESS_KEY_ID", "A"}};
  EXPECT_THAT(found(), HasSubstr("AWS_SECRET_ACCESS_KEY is not"));
  environment_.variables = {{"AWS_SECRET_ACCESS_KEY", "A"}};
  EXPECT_THAT(found(), HasSubstr("AWS_ACCESS_KEY_ID is not"));
}

TEST_F(ResolveCredentials, ListsWhereItLookedWhenNothingIsThere) {
  environment_.home = folder_.path() / "empty";
  EXPECT_THAT(found(), AllOf(HasSubstr("credentials.access_key_id"), HasSubstr("credentials.file"),
                             HasSubstr("AWS_ACCESS_KEY_ID"),
                             HasSubstr((environment_.home / ".aws/credentials").string()),
                             HasSubstr("credentials.anonymous")));
  environment_.home.clear();
  EXPECT_THAT(found(), HasSubstr("HOME is not set"));
}

TEST_F(ResolveCredentials, WarnsOfAFileThatOthersMayRead) {
  config_.file = file_;
  ASSERT_EQ(::chmod(file_.c_str(), 0644), 0);
  EXPECT_THAT(resolve_credentials(config_, environment_)->warning,
              HasSubstr("chmod 600 " + file_.string()));
  ASSERT_EQ(::chmod(file_.c_str(), 0600), 0);
  EXPECT_EQ(resolve_credentials(config_, environment_)->warning, "");
}

}  // namespace
}  // namespace s3rdmafs::config
