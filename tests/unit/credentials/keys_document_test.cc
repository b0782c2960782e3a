// SPDX-License-Identifier: Apache-2.0
#include "credentials/keys_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::credentials {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

std::int64_t seconds_of(std::string_view text) {
  const auto time = parse_time(text);
  return time ? std::chrono::duration_cast<seconds>(time->time_since_epoch()).count() : -1;
}

TEST(ParseTime, TakesTheFormsThatServicesWrite) {
  EXPECT_EQ(seconds_of("2023-11-14T22:13:20Z"), 1'700'000'000);
  EXPECT_EQ(seconds_of("2023-11-14T22:13:20.123456Z"), 1'700'000'000);
  EXPECT_EQ(seconds_of("2023-11-14T22:13:20"), 1'700'000'000) << "no zone is UTC";
  EXPECT_EQ(seconds_of("2023-11-14T23:13:20+01:00"), 1'700'000'000);
  EXPECT_EQ(seconds_of("2023-11-14T20:43:20-0130"), 1'700'000'000);
}

TEST(ParseTime, TakesTheNearestOfATimeThatItCannotHold) {
  EXPECT_EQ(seconds_of("9999-12-31T23:59:59Z"), 7'258'118'400) << "the year 2200";
  EXPECT_EQ(seconds_of("0001-01-01T00:00:00Z"), 0);
}

TEST(ParseTime, RefusesEverythingElse) {
  for (const char* text : {"", "soon", "2023-11-14", "2023-11-14T22:13:20X", "1700000000",
                           "2023-11-14T22:13:20+1", "2023-11-14T22:13:20+aa:bb"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

TEST(ParseKeys, TakesBothNamesOfTheToken) {
  for (const char* name : {"Token", "SessionToken"}) {
    const auto found =
        parse_keys(std::string(R"({"AccessKeyId":"A","SecretAccessKey":"s","Expiration":)") +
                       R"("2023-11-14T22:13:20Z","other":[1],")" + name + R"(":"t"})",
                   "here");
    ASSERT_TRUE(found) << found.error().detail;
    EXPECT_EQ(found->keys.access_key_id, "A");
    EXPECT_EQ(found->keys.secret_access_key, "s");
    EXPECT_EQ(found->keys.session_token, "t");
    EXPECT_EQ(found->end, parse_time("2023-11-14T22:13:20Z"));
  }
  const auto without = parse_keys(R"({"AccessKeyId":"A","SecretAccessKey":"s","Token":null})", "x");
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->end) << "they do not end";
}

TEST(ParseKeys, NamesTheMemberThatIsWrongAndNoValue) {
  const auto refusal = [](std::string_view json) {
    const auto found = parse_keys(json, "here");
    return found ? std::string() : found.error().detail;
  };
  EXPECT_THAT(refusal(""), HasSubstr("here: expected a JSON object"));
  EXPECT_THAT(refusal("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(refusal(R"({"SecretAccessKey":"hunter2"})"),
              AllOf(HasSubstr("no AccessKeyId"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refusal(R"({"AccessKeyId":"A"})"), HasSubstr("no SecretAccessKey"));
  EXPECT_THAT(refusal(R"({"AccessKeyId":1,"SecretAccessKey":"s"})"),
              HasSubstr("AccessKeyId is not a text"));
  EXPECT_THAT(refusal(R"({"AccessKeyId":"A","SecretAccessKey":"s","Expiration":"soon"})"),
              HasSubstr("Expiration is not a time"));
}

}  // namespace
}  // namespace s3rdmafs::credentials
