// SPDX-License-Identifier: Apache-2.0
#include "config/credentials/credentials.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mount_file.h"

namespace s3rdmafs::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ChooseCredentials : public testing::Test {
 protected:
  ChooseCredentials() {
    environment_.home = folder_.path();
    config_.endpoint.region = "us-east-1";
    folder_.write(".aws/credentials",
                  "[default]\naws_access_key_id = HOME\naws_secret_access_key = s\n"
                  "[work]\naws_access_key_id = WORK\naws_secret_access_key = s\n"
                  "aws_session_token = t\n");
    file_ = folder_.write("keys",
                          "[default]\naws_access_key_id = FILE\naws_secret_access_key = s\n"
                          "[half]\naws_access_key_id = HALF\n");
  }

  Result<CredentialChoice> choose() const { return choose_credentials(config_, environment_); }
  /// The choice in short, or the error.
  std::string found() const {
    const auto choice = choose();
    return choice ? text_of(*choice) : choice.error().detail;
  }
  static std::string text_of(const CredentialChoice& choice) {
    struct Text {
      std::string operator()(const Credentials& keys) const { return keys.access_key_id; }
      std::string operator()(const KeysInFile& file) const { return file.keys.access_key_id; }
      std::string operator()(const KeysOfProcess& process) const { return "sh " + process.command; }
      std::string operator()(const KeysOfWebIdentity& token) const {
        return token.role_arn + " as " + token.session_name + " for " + token.token_file.string();
      }
      std::string operator()(const KeysOfRole& role) const {
        return role.role_arn + (role.external_id.empty() ? "" : " " + role.external_id) + " by " +
               text_of(*role.source);
      }
      std::string operator()(const KeysOfContainer& container) const {
        return container.url + " " + container.authorization +
               container.authorization_file.string();
      }
      std::string operator()(const KeysOfInstance& instance) const { return instance.url; }
      std::string operator()(const KeysOfSso& sso) const {
        return sso.role_name + " of " + sso.account_id + " by " + sso.cache_key + " at " +
               sso.portal_url;
      }
    };
    return std::visit(Text{}, choice.source);
  }
  /// A profile of the config file, the present one from then on.
  void profile(const std::string& settings) {
    folder_.write(".aws/config", "[profile p]\n" + settings +
                                     "[profile base]\naws_access_key_id = BASE\n"
                                     "aws_secret_access_key = s\n");
    environment_.variables["AWS_PROFILE"] = "p";
  }

  TemporaryFolder folder_;
  std::filesystem::path file_;
  Environment environment_;
  MountConfig config_;
};

// From the weakest on; each step adds a stronger place to those before.
TEST_F(ChooseCredentials, TakesTheFirstPlaceThatSaysAnything) {
  environment_.home = folder_.path() / "empty";
  EXPECT_EQ(found(), "http://169.254.169.254");
  environment_.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/get";
  EXPECT_EQ(found(), "http://169.254.170.2/get ");
  environment_.home = folder_.path();
  EXPECT_EQ(found(), "HOME");
  environment_.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  environment_.variables["AWS_ROLE_ARN"] = "arn:r";
  EXPECT_EQ(found(), "arn:r as s3rdmafs for /token");
  environment_.variables["AWS_ACCESS_KEY_ID"] = "VARIABLE";
  environment_.variables["AWS_SECRET_ACCESS_KEY"] = "s";
  EXPECT_EQ(found(), "VARIABLE");
  config_.credentials.file = file_;
  EXPECT_EQ(found(), "FILE");
  config_.credentials.access_key_id = "CONFIG";
  config_.credentials.secret_access_key = "s";
  EXPECT_EQ(found(), "CONFIG");
  config_.credentials.anonymous = true;
  EXPECT_EQ(found(), "");
  EXPECT_TRUE(std::get<Credentials>(choose()->source).anonymous);
}

TEST_F(ChooseCredentials, TakesTheProfileFromTheMountFileThenTheEnvironment) {
  environment_.variables = {{"AWS_PROFILE", "work"}};
  EXPECT_EQ(found(), "WORK");
  EXPECT_EQ(std::get<KeysInFile>(choose()->source).keys.session_token, "t");
  config_.credentials.profile = "default";
  EXPECT_EQ(found(), "HOME");
}

TEST_F(ChooseCredentials, LooksFurtherWhereTheDefaultProfileIsMissing) {
  folder_.write(".aws/credentials", "[other]\naws_access_key_id = O\naws_secret_access_key = s\n");
  EXPECT_EQ(found(), "http://169.254.169.254");
  config_.credentials.profile = "default";
  EXPECT_THAT(found(), HasSubstr("no section [default]; it has: other")) << "it was asked for";
}

TEST_F(ChooseCredentials, LooksFurtherWhereAProfileSaysNothingOfKeys) {
  folder_.write(".aws/credentials", "");
  for (const char* name : {"default", "p"}) {
    folder_.write(".aws/config", "[default]\nregion = x\n[profile p]\noutput = json\n");
    environment_.variables["AWS_PROFILE"] = name;
    EXPECT_EQ(found(), "http://169.254.169.254");
  }
}

TEST_F(ChooseCredentials, TakesTheProfileOfTheMountFileWhateverTheEnvironmentSays) {
  environment_.variables = {{"AWS_ACCESS_KEY_ID", "VARIABLE"},
                            {"AWS_SECRET_ACCESS_KEY", "s"},
                            {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"},
                            {"AWS_ROLE_ARN", "r"},
                            {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x"}};
  config_.credentials.profile = "work";
  EXPECT_EQ(found(), "WORK");
  environment_.home = folder_.path() / "empty";
  EXPECT_THAT(found(), HasSubstr("no profile 'work'"));
}

TEST_F(ChooseCredentials, MakesPathsOfTheEnvironmentWhole) {
  environment_.variables = {{"AWS_WEB_IDENTITY_TOKEN_FILE", "token"}, {"AWS_ROLE_ARN", "r"}};
  EXPECT_EQ(found(), "r as s3rdmafs for " + std::filesystem::absolute("token").string());
}

TEST_F(ChooseCredentials, TakesBothFilesOfTheAwsToolsWhereverTheyAre) {
  folder_.write("config",
                "[profile work]\naws_access_key_id = NOT\n"
                "[default]\ncredential_process = NOT\n"
                "[profile more]\ncredential_process = print keys\n");
  environment_.variables = {{"AWS_CONFIG_FILE", folder_.path() / "config"},
                            {"AWS_PROFILE", "more"}};
  EXPECT_EQ(found(), "sh print keys");
  environment_.variables["AWS_PROFILE"] = "work";
  EXPECT_EQ(found(), "WORK") << "the credentials file wins";
  environment_.variables["AWS_SHARED_CREDENTIALS_FILE"] = file_;
  environment_.variables["AWS_PROFILE"] = "default";
  EXPECT_EQ(found(), "FILE");
}

TEST_F(ChooseCredentials, FollowsRolesToTheKeysThatSignForThem) {
  profile("role_arn = arn:r\nsource_profile = base\nexternal_id = x\n");
  EXPECT_EQ(found(), "arn:r x by BASE");
  profile(
      "role_arn = arn:2\nsource_profile = q\n"
      "[profile q]\nrole_arn = arn:1\nsource_profile = base\n");
  EXPECT_EQ(found(), "arn:2 by arn:1 by BASE");
  profile(
      "role_arn = arn:r\nsource_profile = p\naws_access_key_id = OWN\n"
      "aws_secret_access_key = s\n");
  EXPECT_EQ(found(), "arn:r by OWN") << "a profile may name itself";
  profile("role_arn = arn:r\nrole_session_name = me\nweb_identity_token_file = /t\n");
  EXPECT_EQ(found(), "arn:r as me for /t");
}

TEST_F(ChooseCredentials, TakesTheKeysThatSignForARoleFromWhereTheProfileSays) {
  environment_.variables["AWS_ACCESS_KEY_ID"] = "VARIABLE";
  environment_.variables["AWS_SECRET_ACCESS_KEY"] = "s";
  config_.credentials.file = folder_.path() / ".aws/config";
  config_.credentials.profile = "p";
  const auto by = [&](const std::string& place) {
    folder_.write(".aws/config", "[p]\nrole_arn = arn:r\ncredential_source = " + place + "\n");
    return found();
  };
  EXPECT_EQ(by("Environment"), "arn:r by VARIABLE");
  EXPECT_THAT(by("EcsContainer"), HasSubstr("AWS_CONTAINER_CREDENTIALS_FULL_URI is unset"));
  environment_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:80/k";
  environment_.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/token";
  EXPECT_EQ(by("EcsContainer"), "arn:r by http://127.0.0.1:80/k /token");
  EXPECT_EQ(by("Ec2InstanceMetadata"), "arn:r by http://169.254.169.254");
  EXPECT_THAT(by("Elsewhere"), HasSubstr("credential_source is not Environment"));
  environment_.variables.erase("AWS_ACCESS_KEY_ID");
  EXPECT_THAT(by("Environment"), HasSubstr("AWS_ACCESS_KEY_ID is unset"));
}

TEST_F(ChooseCredentials, TakesASignInBySso) {
  profile(
      "sso_session = s\nsso_account_id = 1\nsso_role_name = n\n"
      "[sso-session s]\nsso_start_url = u\nsso_region = eu-west-1\n");
  EXPECT_EQ(found(), "n of 1 by s at https://portal.sso.eu-west-1.amazonaws.com");
  profile("sso_start_url = u\nsso_region = cn-north-1\nsso_account_id = 1\nsso_role_name = n\n");
  EXPECT_EQ(found(), "n of 1 by u at https://portal.sso.cn-north-1.amazonaws.com.cn");
  environment_.variables["AWS_ENDPOINT_URL_SSO"] = "http://127.0.0.1:1";
  EXPECT_EQ(found(), "n of 1 by u at http://127.0.0.1:1");
  profile(
      "role_arn = arn:r\nsource_profile = q\n[profile q]\n"
      "sso_start_url = u\nsso_region = r\nsso_account_id = 1\nsso_role_name = n\n");
  EXPECT_EQ(found(), "arn:r by n of 1 by u at http://127.0.0.1:1");
  environment_.variables["AWS_CONFIG_FILE"] = (folder_.path() / ".aws/config").string();
  environment_.home.clear();
  EXPECT_THAT(found(), HasSubstr("its SSO needs HOME"));
}

TEST_F(ChooseCredentials, SaysWhatToDoAboutAProfileThatItCannotUse) {
  profile("sso_session = s\n");
  EXPECT_THAT(found(), HasSubstr("there is no section [sso-session s]"));
  profile("sso_start_url = u\nsso_region = r\nsso_account_id = 1\n");
  EXPECT_THAT(found(), HasSubstr("section [p]: it has no sso_role_name"));
  profile("sso_start_url = u\nsso_account_id = 1\nsso_role_name = n\n");
  EXPECT_THAT(found(), HasSubstr("section [p]: its SSO has no sso_region"));
  profile("role_arn = arn:r\nmfa_serial = m\nsource_profile = base\n");
  EXPECT_THAT(found(), HasSubstr("mfa_serial needs a person"));
  profile("role_arn = arn:r\n");
  EXPECT_THAT(found(), HasSubstr("needs one of source_profile, credential_source"));
  profile("role_arn = arn:r\nsource_profile = p\n");
  EXPECT_THAT(found(), HasSubstr("section [p]: it has no aws_access_key_id"));
  profile(
      "role_arn = arn:r\nsource_profile = q\n"
      "[profile q]\nrole_arn = arn:q\nsource_profile = p\n");
  EXPECT_THAT(found(), HasSubstr("its chain of roles is longer than 5"));
  profile("role_arn = arn:r\nsource_profile = absent\n");
  EXPECT_THAT(found(), HasSubstr("no section [absent]"));
  profile("source_profile = base\n");
  EXPECT_THAT(
      found(),
      HasSubstr("it has no aws_access_key_id, role_arn, credential_process or sso_session"));
}

TEST_F(ChooseCredentials, SendsASecretOverHttpToThisHostAlone) {
  environment_.home.clear();
  const auto with = [&](const std::string& url) {
    environment_.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    return found();
  };
  for (const char* url :
       {"https://keys.example.org/x", "http://127.0.0.1:8080/x", "http://localhost/x",
        "http://[::1]:80/x", "http://169.254.170.23/v1", "http://[fd00:ec2::23]/v1"}) {
    EXPECT_EQ(with(url), std::string(url) + " ");
  }
  for (const char* url :
       {"http://keys.example.org/x", "http://127.evil.example/x", "http://localhost.evil.example/x",
        "http://169.254.170.234/x", "ftp://127.0.0.1/x", "http://", "http://[::1]evil.example/x",
        "http://127.0.0.1?x.example", "http://127.0.0.1:80:evil/x"}) {
    const bool is_this_host = std::string_view(url).contains("127.0.0.1?");
    EXPECT_THAT(with(url), HasSubstr(is_this_host ? "127.0.0.1?" : "expected https://")) << url;
  }
  for (const char* url : {"http://127.0.0.1:80@evil.example/x", "http://[::1]@evil.example/x",
                          "http://user@127.0.0.1/x", "https://user:hunter2@host/x"}) {
    EXPECT_THAT(with(url), AllOf(HasSubstr("has a user name"), Not(HasSubstr("hunter2"))));
  }
  environment_.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = ":80@evil.example/";
  EXPECT_THAT(found(), HasSubstr("does not begin with \"/\""));
}

TEST_F(ChooseCredentials, AsksAmazonsStsOrTheOneThatIsNamed) {
  EXPECT_EQ(choose()->sts_url, "https://sts.us-east-1.amazonaws.com");
  config_.endpoint.region = "eu-west-1";
  EXPECT_EQ(choose()->sts_url, "https://sts.eu-west-1.amazonaws.com");
  config_.endpoint.region = "cn-north-1";
  EXPECT_EQ(choose()->sts_url, "https://sts.cn-north-1.amazonaws.com.cn");
  environment_.variables["AWS_ENDPOINT_URL_STS"] = "http://sts.example/";
  EXPECT_EQ(choose()->sts_url, "http://sts.example");
  environment_.variables["AWS_ENDPOINT_URL_STS"] = "https://sts.example/path";
  EXPECT_THAT(found(), HasSubstr("AWS_ENDPOINT_URL_STS"));
  config_.credentials.sts_url = "https://minio.example:9000";
  EXPECT_EQ(choose()->sts_url, "https://minio.example:9000");
}

TEST_F(ChooseCredentials, StopsAtAPlaceThatIsBroken) {
  config_.credentials.file = file_;
  config_.credentials.profile = "half";
  EXPECT_THAT(found(), HasSubstr("section [half]: it has no aws_secret_access_key"));
  config_.credentials.profile = "absent";
  EXPECT_THAT(found(), HasSubstr("no section [absent]; it has: default, half"));
  config_.credentials.file = folder_.path() / "nowhere";
  EXPECT_THAT(found(), HasSubstr("No such file"));
}

TEST_F(ChooseCredentials, RefusesHalfAPairOfVariables) {
  environment_.variables = {{"AWS_ACCESS_KEY_ID", "A"}};
  EXPECT_THAT(found(), HasSubstr("AWS_SECRET_ACCESS_KEY is not"));
  environment_.variables = {{"AWS_SECRET_ACCESS_KEY", "A"}};
  EXPECT_THAT(found(), HasSubstr("AWS_ACCESS_KEY_ID is not"));
  environment_.variables = {{"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}};
  EXPECT_THAT(found(), HasSubstr("AWS_ROLE_ARN is not"));
}

TEST_F(ChooseCredentials, ListsWhereItLookedWhenNothingIsThere) {
  environment_.home = folder_.path() / "empty";
  environment_.variables = {{"AWS_EC2_METADATA_DISABLED", "true"}};
  EXPECT_THAT(found(), AllOf(HasSubstr("credentials.access_key_id"), HasSubstr("credentials.file"),
                             HasSubstr("AWS_ACCESS_KEY_ID"),
                             HasSubstr((environment_.home / ".aws/credentials").string()),
                             HasSubstr("credentials.anonymous")));
  environment_.home.clear();
  EXPECT_THAT(found(), HasSubstr("HOME is not set"));
  environment_.variables.clear();
  EXPECT_THAT(choose()->searched, HasSubstr("HOME is not set")) << "for a machine without a role";
}

TEST_F(ChooseCredentials, WarnsOfAFileThatOthersMayRead) {
  config_.credentials.file = file_;
  ASSERT_EQ(::chmod(file_.c_str(), 0644), 0);
  EXPECT_THAT(choose()->warning, HasSubstr("chmod 600 " + file_.string()));
  ASSERT_EQ(::chmod(file_.c_str(), 0600), 0);
  EXPECT_EQ(choose()->warning, "");
}

TEST_F(ChooseCredentials, ReadsKeysOfAFileAgain) {
  config_.credentials.file = file_;
  const auto source = std::get<KeysInFile>(choose()->source);
  folder_.write("keys", "[default]\naws_access_key_id = NEXT\naws_secret_access_key = s\n");
  EXPECT_EQ(read_keys(source)->access_key_id, "NEXT");
  folder_.write("keys", "[default]\ncredential_process = x\n");
  EXPECT_THAT(read_keys(source).error().detail, HasSubstr("it has no aws_access_key_id"));
}

}  // namespace
}  // namespace s3rdmafs::config
