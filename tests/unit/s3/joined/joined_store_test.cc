// SPDX-License-Identifier: Apache-2.0
// Several buckets as one: each key goes to its own bucket, and comes back as it was asked for.
#include "s3/joined/joined_store.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/s3/fake_object_store.h"
#include "s3/joined/directory_store.h"

namespace s3rdmafs::s3 {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> keys_of(const ListPage& page) {
  std::vector<std::string> keys = page.common_prefixes;
  for (const ObjectInfo& object : page.objects) keys.push_back(object.key);
  return keys;
}

ListRequest below(std::string prefix, std::string delimiter = "/", std::string start_after = "") {
  ListRequest request;
  request.prefix = std::move(prefix);
  request.delimiter = std::move(delimiter);
  request.start_after = std::move(start_after);
  return request;
}

class Joined : public testing::Test {
 protected:
  Joined() {
    train_.put("hidden", "not below the prefix");
    train_.put("images/a/1", "one");
    train_.put("images/b", "two");
    val_.put("x", "three");
  }

  ListPage list(ListRequest request, ObjectStore& store) {
    ListPage page;
    store.list(std::move(request), Deadline::max(),
               [&page](Result<ListPage> got) { page = got.value(); });
    return page;
  }
  ListPage list(ListRequest request) { return list(std::move(request), joined_); }
  std::optional<ErrorCode> error_of_copy(const std::string& from, const std::string& etag,
                                         const std::string& to) {
    std::optional<ErrorCode> code;
    joined_.copy({.key = from, .etag = etag}, to, {}, Deadline::max(),
                 [&code](const Result<std::string>& done) {
                   if (!done) code = done.error().code;
                 });
    return code;
  }

  fakes::FakeClock clock_;
  fakes::FakeObjectStore train_{clock_};
  fakes::FakeObjectStore val_{clock_};
  JoinedStore joined_{
      {{.directory = "val/", .store = &val_, .writer = &val_},
       {.directory = "train/", .prefix = "images/", .store = &train_, .writer = &train_}}};
};

TEST_F(Joined, AKeyIsThatOfItsBucketBelowTheDirectory) {
  std::string key;
  joined_.head("train/a/1", Deadline::max(), [&](Result<ObjectInfo> info) { key = info->key; });
  EXPECT_EQ(key, "train/a/1");
  EXPECT_EQ(train_.calls().back().key, "images/a/1");
  EXPECT_THAT(val_.calls(), IsEmpty());
}

TEST_F(Joined, AKeyOfNoDirectoryIsNotFound) {
  for (const char* key : {"train", "other/a", "trai/a/1", "/a"}) {
    std::optional<ErrorCode> code;
    joined_.head(key, Deadline::max(),
                 [&](const Result<ObjectInfo>& info) { code = info.error().code; });
    EXPECT_EQ(code, ErrorCode::kNotFound) << key;
  }
}

TEST_F(Joined, AListingOfADirectoryIsThatOfItsBucket) {
  EXPECT_THAT(keys_of(list(below("train/"))), ElementsAre("train/a/", "train/b"));
  EXPECT_THAT(keys_of(list(below("train/", "", "train/a/1"))), ElementsAre("train/b"));
}

TEST_F(Joined, AListingOfTheRootHasTheDirectories) {
  EXPECT_THAT(keys_of(list(below(""))), ElementsAre("train/", "val/"));
  EXPECT_THAT(keys_of(list(below("v"))), ElementsAre("val/"));
}

TEST_F(Joined, AListingOfEverythingGoesThroughTheBucketsPageByPage) {
  std::vector<std::string> keys;
  ListRequest request = below("", "");
  request.keys_max = 1;
  for (int pages = 0; pages < 10; ++pages) {
    const ListPage page = list(request);
    for (const std::string& key : keys_of(page)) keys.push_back(key);
    request.continuation_token = page.next_token;
    if (page.next_token.empty()) break;
  }
  EXPECT_THAT(keys, ElementsAre("train/a/1", "train/b", "val/x"));
  EXPECT_EQ(request.continuation_token, "") << "it ends";
}

TEST_F(Joined, ACopyStaysInItsBucket) {
  const std::string etag = train_.put("images/c", "bytes");
  EXPECT_EQ(error_of_copy("train/c", etag, "val/c"), ErrorCode::kUnsupported);
  EXPECT_EQ(val_.object("c"), std::nullopt);
  EXPECT_EQ(error_of_copy("train/c", etag, "train/d"), std::nullopt) << "the control";
  EXPECT_EQ(train_.object("images/d"), "bytes");
}

TEST_F(Joined, ARemovalIsOfTheBucketsKey) {
  joined_.remove("val/x", Deadline::max(), [](const Result<void>& done) { EXPECT_TRUE(done); });
  EXPECT_EQ(val_.object("x"), std::nullopt);
}

TEST_F(Joined, NotesOfUploadsHaveTheDirectory) {
  struct Log final : UploadLog {
    void begun(const std::string& key, const std::string&) override { keys.push_back(key); }
    void ended(const std::string&) override {}
    std::vector<std::string> keys;
  } log;
  JoinedUploadLog(joined_.buckets().front(), log).begun("images/a/1", "id");
  EXPECT_THAT(log.keys, ElementsAre("train/a/1"));
}

TEST_F(Joined, TheRootHasEmptyDirectoriesWhateverTheServersSay) {
  DirectoryStore root({"val/", "train/"});
  EXPECT_THAT(keys_of(list(below(""), root)), ElementsAre("train/", "val/"));
  EXPECT_THAT(keys_of(list(below("val/"), root)), ElementsAre("val/"));
  EXPECT_THAT(keys_of(list(below("other/"), root)), IsEmpty());
  EXPECT_THAT(train_.calls(), IsEmpty());
}

}  // namespace
}  // namespace s3rdmafs::s3
