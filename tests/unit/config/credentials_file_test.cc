// SPDX-License-Identifier: Apache-2.0
#include "config/credentials/credentials_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::config {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string refusal(std::string_view text) {
  const auto parsed = parse_credentials_file(text, "keys");
  return parsed ? "" : parsed.error().detail;
}

TEST(CredentialsFile, ReadsProfilesCommentsAndBlanks) {
  const auto parsed = parse_credentials_file(
      "# a comment\r\n"
      "[default]\r\n"
      "aws_access_key_id = AKID\r\n"
      "aws_secret_access_key=se/cr+et=\r\n"
      "\n"
      "; another\n"
      "[ other ]\n"
      "  aws_session_token = inside an indented line\n"
      "region = eu-west-1\n"
      "s3 =\n"
      "  addressing_style = path\n"
      "aws_access_key_id = OTHER",
      "keys");

  ASSERT_TRUE(parsed) << parsed.error().detail;
  EXPECT_EQ(parsed->at("default").at("aws_access_key_id"), "AKID");
  EXPECT_EQ(parsed->at("default").at("aws_secret_access_key"), "se/cr+et=")
      << "a secret may hold \"=\"";
  EXPECT_EQ(parsed->at("other").at("aws_access_key_id"), "OTHER");
  EXPECT_FALSE(parsed->at("other").contains("aws_session_token"));
}

TEST(CredentialsFile, GivesTheLineOfWhatIsWrongButNeverTheValue) {
  EXPECT_THAT(refusal("[default]\nAKID hunter2\n"),
              StartsWith("keys:2: expected \"name = value\""));
  EXPECT_THAT(refusal("aws_access_key_id = A\n"), StartsWith("keys:1: a setting stands above"));
  EXPECT_THAT(refusal("[default\n"), StartsWith("keys:1: expected a section"));
  EXPECT_THAT(refusal("[]\n"), StartsWith("keys:1: expected a section"));
  EXPECT_THAT(refusal("[a]\naws_access_key_id =\n"),
              StartsWith("keys:2: aws_access_key_id has no"));
  EXPECT_THAT(refusal("[a]\naws_secret_access_key = \"hunter2\"\n"),
              AllOf(StartsWith("keys:2:"), HasSubstr("in quotes"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal("[default]\nAKID hunter2\n"), Not(HasSubstr("hunter2")));
}

TEST(CredentialsFile, ReadsTheProfilesOfAConfigFileAlone) {
  const auto parsed = parse_credentials_file(
      "[default]\nregion = x\n[profile  one]\ncredential_process = \"/a b\" c\n"
      "[sso-session s]\nsso_start_url = u\n[services x]\n",
      "config", ProfileFile::kConfig);
  ASSERT_TRUE(parsed) << parsed.error().detail;
  EXPECT_EQ(parsed->size(), 3U);
  EXPECT_EQ(parsed->at("sso-session s").at("sso_start_url"), "u");
  EXPECT_EQ(parsed->at("one").at("credential_process"), "\"/a b\" c") << "a command has quotes";
}

TEST(CredentialsFile, OfTheConfigKindMayHaveLinesThatSayNothing) {
  const auto parsed = parse_credentials_file(
      "[default] # the first\nrole_arn =\njust words\n[profile \"two words\"]\n"
      "role_session_name = \"me\"\n",
      "config", ProfileFile::kConfig);
  ASSERT_TRUE(parsed) << parsed.error().detail;
  EXPECT_TRUE(parsed->at("default").empty());
  EXPECT_EQ(parsed->at("two words").at("role_session_name"), "\"me\"");
}

TEST(CredentialsFile, MayBeEmpty) { EXPECT_TRUE(parse_credentials_file("", "keys")->empty()); }

}  // namespace
}  // namespace s3rdmafs::config
