// SPDX-License-Identifier: Apache-2.0
// User metadata on the wire.
#include "s3/wire/user_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "writer_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class UserMetadataTest : public ObjectWriterTest {
 protected:
  UserMetadataTest() { options_.rdma.mode = RdmaMode::kOff; }
  Result<ObjectInfo> head() {
    Outcome<Result<ObjectInfo>> outcome;
    store().head("k", soon(), outcome.done());
    return outcome.get();
  }
};

TEST_F(UserMetadataTest, GoesWithAPutAndIsSigned) {
  server_.then(ok());
  ASSERT_TRUE(put_with({.metadata = {{"mode", "33188"}, {"mtime", "1700000000.5"}}}).etag);
  const fakes::SeenRequest seen = server_.seen().at(0);
  EXPECT_EQ(seen.headers.at("x-amz-meta-mode"), "33188");
  EXPECT_EQ(seen.headers.at("x-amz-meta-mtime"), "1700000000.5");
  EXPECT_THAT(seen.headers.at("authorization"), HasSubstr("x-amz-meta-mtime"));
}

TEST_F(UserMetadataTest, GoesWithTheBeginningOfAnUpload) {
  server_.then(upload_created());
  Outcome<Result<std::string>> outcome;
  store().create_upload("k", {{"uid", "1000"}}, soon(), outcome.done());
  EXPECT_TRUE(outcome.get());
  EXPECT_EQ(server_.seen().at(0).headers.at("x-amz-meta-uid"), "1000");
}

TEST_F(UserMetadataTest, IsReadFromAHead) {
  server_.then({.headers = {{"ETag", "\"v\""},
                            {"X-Amz-Meta-Mode", "33188"},
                            {"x-amz-meta-note", "=?UTF-8?B?w6Q=?="}},
                .body = "x"});
  const Result<ObjectInfo> info = head();
  ASSERT_TRUE(info);
  EXPECT_THAT(*info->metadata, ElementsAre(Pair("mode", "33188"), Pair("note", "ä")));
}

TEST_F(UserMetadataTest, IsKeptUpToABound) {
  const std::string long_value(5000, 'x');
  server_.then({.headers = {{"ETag", "\"v\""},
                            {"x-amz-meta-a", long_value},
                            {"x-amz-meta-b", long_value},
                            {"x-amz-meta-c", "1"}},
                .body = "x"});
  const Result<ObjectInfo> info = head();
  ASSERT_TRUE(info) << "too much of it is not a reason to refuse the object";
  EXPECT_THAT(*info->metadata, ElementsAre(Pair("a", long_value), Pair("c", "1")));
}

TEST_F(UserMetadataTest, OfANameThatNoHeaderCanHaveIsRefusedBeforeAnythingIsSent) {
  server_.then(ok());
  for (const char* name : {"", "a b", "a:b", "ä", "UPPER", "a\r\nx"}) {
    const PutOutcome outcome = put_with({.metadata = {{name, "1"}}});
    ASSERT_FALSE(outcome.etag) << name;
    EXPECT_EQ(outcome.etag.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(server_.seen().empty());
  EXPECT_TRUE(put_with({.metadata = {{"a-b.c_d", "1"}}}).etag) << "the control";
}

TEST(MetadataValue, SurvivesTheWayWhateverItsBytes) {
  using namespace std::string_literals;
  for (const std::string& value :
       {"33188"s, "a b"s, ""s, " a"s, "a "s, "ä"s, "a\nb"s, "\0\xff"s, "=?UTF-8?B?w6Q=?="s, "a=?b"s,
        "%7B%22user.a%22:%22MQ==%22%7D"s, std::string(2000, '\x80')}) {
    const std::string sent = metadata_header(value);
    for (const char c : sent) EXPECT_TRUE(c >= ' ' && c < 0x7F);
    EXPECT_FALSE(sent.empty());
    EXPECT_EQ(metadata_value(sent), value);
  }
  EXPECT_EQ(metadata_header("1700000000.123"), "1700000000.123") << "as s3fs writes it";
}

TEST(MetadataValue, IsUnderstoodAsOtherClientsEncodeIt) {
  EXPECT_EQ(metadata_value("=?UTF-8?Q?a_=C3=A4=25?="), "a ä%");
  EXPECT_EQ(metadata_value("=?utf-8?b?w6Q=?= =?utf-8?b?w6Q=?="), "ää") << "in several words";
  for (const char* text : {"=?latin1?Q?=E4?=", "=?UTF-8?B?w6Q",
                           "=?UTF-8?X?a?=", "=?UTF-8?B?*?=", "=?", "=?=", "=?UTF-8?=", "\xe4"}) {
    EXPECT_EQ(metadata_value(text), text);
  }
}

}  // namespace
}  // namespace s3rdmafs::s3
