// SPDX-License-Identifier: Apache-2.0
// HEAD and LIST as a server answers them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reader_fixture.h"
#include "s3/check_bucket.h"

namespace s3rdmafs::s3 {
namespace {

using fakes::error_answer;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;

class HeadAndListTest : public ObjectReaderTest {};

TEST_F(HeadAndListTest, ReadsHead) {
  server_.then({.headers = {{"ETag", kEtag}, {"Last-Modified", "Wed, 12 Oct 2009 17:50:00 GMT"}},
                .body = data_bytes(77)});
  const Result<ObjectInfo> info = head();
  ASSERT_TRUE(info) << info.error().detail;
  EXPECT_EQ(info->key, "a/b c");
  EXPECT_EQ(info->etag, kEtag);
  EXPECT_EQ(info->size_bytes, 77U);
  EXPECT_EQ(server_.seen().at(0).method, "HEAD");
}

TEST_F(HeadAndListTest, HeadTellsTheHeadersThatAreKeptWithAnObject) {
  server_.then({.headers = {{"ETag", kEtag},
                            {"Content-Type", "text/html"},
                            {"Content-Encoding", "aws-chunked, gzip"},
                            {"Cache-Control", "private"},
                            {"cache-control", "max-age=1"},
                            {"Server", "other"}},
                .body = data_bytes(77)});
  const Result<ObjectInfo> info = head();
  ASSERT_TRUE(info) << info.error().detail;
  EXPECT_EQ(*info->headers, (StoredHeaders{{"content-type", "text/html"},
                                           {"content-encoding", "gzip"},
                                           {"cache-control", "private, max-age=1"}}));
}

TEST_F(HeadAndListTest, DescribesAVersionForPeople) {
  const auto answer = [&](std::vector<std::pair<std::string, std::string>> headers) {
    headers.emplace_back("ETag", kEtag);
    server_.then({.headers = std::move(headers), .body = "x"});
  };
  const auto describe = [&] {
    Outcome<Result<ObjectDescription>> outcome;
    store().describe("a/b c", soon(), outcome.done());
    return outcome.get().value();
  };
  answer({{"x-amz-version-id", "v1"},
          {"x-amz-storage-class", "GLACIER"},
          {"x-amz-checksum-crc32", "MTIzNA=="},
          {"x-amz-checksum-crc64nvme", "MTIzNDU2Nzg="},
          {"x-amz-checksum-type", "FULL_OBJECT"}});
  answer({{"x-amz-checksum-sha256", "MTIzNA=="}, {"x-amz-checksum-type", "COMPOSITE"}});
  answer({});
  const ObjectDescription full = describe();
  EXPECT_EQ(full.object.etag, kEtag);
  EXPECT_EQ(full.version_id, "v1");
  EXPECT_THAT(*full.object.headers, Contains(Pair("x-amz-storage-class", "GLACIER")));
  EXPECT_EQ(full.checksum, "crc64nvme:MTIzNDU2Nzg=");
  EXPECT_THAT(full.url, AllOf(HasSubstr("http://"), EndsWith("/a/b%20c")));
  EXPECT_THAT(server_.seen().at(0).headers, Contains(Pair("x-amz-checksum-mode", "ENABLED")));
  EXPECT_EQ(describe().checksum, "sha256:MTIzNA== (of the parts' checksums)");
  EXPECT_EQ(describe().checksum, "");
}

TEST_F(HeadAndListTest, TellsHeadThatNothingIsThere) {
  server_.then({.status = 404});
  EXPECT_EQ(head().error().code, ErrorCode::kNotFound);
}

TEST_F(HeadAndListTest, RefusesHeadWithoutAVersion) {
  server_.then({.body = "x"});
  EXPECT_EQ(head().error().code, ErrorCode::kProtocol);
}

TEST_F(HeadAndListTest, RefusesAnswersWhoseHeadersCouldNotBeSentBack) {
  const std::string too_long = "\"" + std::string(1024, 'e') + "\"";
  for (const std::string& etag : {std::string("\"a\x01z\""), too_long}) {
    server_.then({.headers = {{"ETag", etag}}, .body = "x"});
  }
  server_.then({.headers = {{"ETag", too_long.substr(2)}}, .body = "x"});
  for (int i = 0; i < 2; ++i) {
    const Result<ObjectInfo> info = head();
    ASSERT_FALSE(info);
    EXPECT_EQ(info.error().code, ErrorCode::kProtocol);
    EXPECT_THAT(info.error().detail, HasSubstr("'ETag'"));
  }
  EXPECT_TRUE(head()) << "the control: 1 KiB";
}

TEST_F(HeadAndListTest, TakesAHeaderThatIsTooLongForAProtocolError) {
  server_.then({.headers = {{"ETag", "\"v\""}, {"X-Long", std::string(400'000, 'x')}}});
  EXPECT_EQ(head().error().code, ErrorCode::kProtocol) << "this process lacks no memory";
}

TEST_F(HeadAndListTest, RefusesGarbageForAListing) {
  server_.then({.body = "<ListBucketResult><Contents>"});
  EXPECT_EQ(list().error().code, ErrorCode::kProtocol);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(HeadAndListTest, BeginsAListingAfterAKey) {
  server_.then({.body = "<ListBucketResult></ListBucketResult>"});
  for (const std::string token : {"", "t"}) {
    Outcome<Result<ListPage>> outcome;
    store().list(
        {.prefix = "p/", .delimiter = "", .continuation_token = token, .start_after = "p/k m"},
        soon(), outcome.done());
    EXPECT_TRUE(outcome.get());
  }
  EXPECT_THAT(server_.seen().at(0).query, HasSubstr("start-after=p%2Fk%20m"));
  EXPECT_THAT(server_.seen().at(1).query, testing::Not(HasSubstr("start-after")))
      << "a token says where to go on";
}

TEST_F(HeadAndListTest, ChecksTheBucketByAListingOfOneKey) {
  server_.then({.body = "<ListBucketResult></ListBucketResult>"});
  server_.then(error_answer(404, "NoSuchBucket"));
  for (const bool is_there : {true, false}) {
    Outcome<Result<void>> outcome;
    check_bucket(store(), "p/", soon(), outcome.done());
    EXPECT_EQ(outcome.get().has_value(), is_there);
  }
}

}  // namespace
}  // namespace s3rdmafs::s3
