// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/find_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/s3/fake_object_store.h"

namespace s3rdmafs::daemon {
namespace {

using fakes::FakeObjectStore;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class FindObjectsTest : public testing::Test {
 protected:
  FindObjectsTest() {
    for (const char* key : {"p/a", "p/d/1.bin", "p/d/2.bin", "p/d/sub/3.bin", "p/d2/1.bin",
                            "p/e/x[1]", "p/e/x1", "q/a"}) {
      store_.put(key, key);
    }
  }

  Result<std::vector<std::string>> find(std::string_view pattern) {
    return find(config::PathGlob::anchored(pattern));
  }
  Result<std::vector<std::string>> find(const config::PathGlob& glob) {
    const auto objects = find_objects(bucket_, glob, [this] { return goes_on_; });
    if (!objects) return std::unexpected(objects.error());
    std::vector<std::string> keys;
    for (const s3::ObjectInfo& object : *objects) {
      EXPECT_FALSE(object.etag.empty()) << object.key;
      keys.push_back(object.key);
    }
    return keys;
  }

  fakes::FakeClock clock_;
  FakeObjectStore store_{clock_};
  bool goes_on_ = true;
  Bucket bucket_{.store = store_,
                 .clock = clock_,
                 .prefix = "p/",
                 .request_timeout = std::chrono::seconds(30)};
};

TEST_F(FindObjectsTest, AFileIsItself) { EXPECT_THAT(*find("a"), ElementsAre("p/a")); }

TEST_F(FindObjectsTest, ADirectoryIsAllBelowIt) {
  EXPECT_THAT(*find("d"), UnorderedElementsAre("p/d/1.bin", "p/d/2.bin", "p/d/sub/3.bin"));
  EXPECT_EQ(find("")->size(), 7U);
}

TEST_F(FindObjectsTest, APatternStandsForItsMatches) {
  EXPECT_THAT(*find("d*/1.bin"), ElementsAre("p/d/1.bin", "p/d2/1.bin"));
  EXPECT_THAT(*find("d/*.bin"), UnorderedElementsAre("p/d/1.bin", "p/d/2.bin"));
  EXPECT_THAT(*find("?/sub"), ElementsAre("p/d/sub/3.bin")) << "a directory that matches";
  EXPECT_THAT(*find("e/x?"), ElementsAre("p/e/x1"));
}

TEST_F(FindObjectsTest, TwoStarsStandForAnyNumberOfDirectories) {
  EXPECT_THAT(*find("**/1.bin"), UnorderedElementsAre("p/d/1.bin", "p/d2/1.bin"));
  EXPECT_THAT(*find("d/**/*.bin"), UnorderedElementsAre("p/d/1.bin", "p/d/2.bin", "p/d/sub/3.bin"));
  EXPECT_THAT(*find("**/sub"), ElementsAre("p/d/sub/3.bin")) << "a directory that matches";
  EXPECT_THAT(*find("**/d/**"), UnorderedElementsAre("p/d/1.bin", "p/d/2.bin", "p/d/sub/3.bin"))
      << "each once";
}

TEST_F(FindObjectsTest, APatternOfTheMountFileWithoutASlashIsForEveryDirectory) {
  EXPECT_THAT(*find(config::PathGlob::of_mount_file("[12].bin")),
              UnorderedElementsAre("p/d/1.bin", "p/d/2.bin", "p/d2/1.bin"));
  EXPECT_THAT(
      *find(config::PathGlob::of_mount_file("/?")),
      UnorderedElementsAre("p/a", "p/d/1.bin", "p/d/2.bin", "p/d/sub/3.bin", "p/e/x[1]", "p/e/x1"));
  EXPECT_EQ(find(config::PathGlob::of_mount_file("/*.bin")).error().code, ErrorCode::kNotFound);
}

TEST_F(FindObjectsTest, AFileNamedLikeThePatternComesFirst) {
  EXPECT_THAT(*find("e/x[1]"), ElementsAre("p/e/x[1]"));
}

TEST_F(FindObjectsTest, AListingOfManyPagesIsReadToItsEnd) {
  store_.set_page_keys_max(1);
  EXPECT_EQ(find("d")->size(), 3U);
}

TEST_F(FindObjectsTest, AServerThatIgnoresTheDelimiterHasTheSameObjects) {
  store_.ignore_delimiters();
  EXPECT_THAT(*find("d"), UnorderedElementsAre("p/d/1.bin", "p/d/2.bin", "p/d/sub/3.bin"));
  EXPECT_THAT(*find("d*/1.bin"), ElementsAre("p/d/1.bin", "p/d2/1.bin"));
  EXPECT_EQ(find("")->size(), 7U);
}

TEST_F(FindObjectsTest, ObjectsThatTheMountHidesAreNotFound) {
  store_.put("p/a/below", "x");  // now directory a hides file a
  EXPECT_THAT(*find("a"), ElementsAre("p/a/below"));
  store_.put("p/d/", "");
  store_.put("p/d//y", "x");
  EXPECT_EQ(find("d")->size(), 3U);
}

TEST_F(FindObjectsTest, APatternWithoutAMatchIsAnError) {
  for (const char* pattern : {"nothing", "d/*.txt", "no/such/*", "q/a"}) {
    const auto found = find(pattern);
    ASSERT_FALSE(found) << pattern;
    EXPECT_EQ(found.error().code, ErrorCode::kNotFound) << pattern;
  }
}

TEST_F(FindObjectsTest, ErrorsOfTheStoreAreReturned) {
  store_.fail_next(FakeObjectStore::Operation::kList, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(find("d/*").error().code, ErrorCode::kAccessDenied);
}

TEST_F(FindObjectsTest, MoreThanTheLimitIsAnErrorBeforeEverythingIsListed) {
  bucket_.objects_max = 3;
  EXPECT_EQ(find("d")->size(), 3U) << "the control";
  store_.set_page_keys_max(1);
  const auto lists_before = store_.count(FakeObjectStore::Operation::kList);
  const auto found = find("");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(found.error().detail, "more than 3 objects; name fewer");
  EXPECT_LT(store_.count(FakeObjectStore::Operation::kList) - lists_before, 7U);
  EXPECT_EQ(find("*/*").error().code, ErrorCode::kTooLarge);
}

TEST_F(FindObjectsTest, EndsWhenTheRequestIsCancelled) {
  goes_on_ = false;
  EXPECT_EQ(find("d").error().code, ErrorCode::kCancelled);
  EXPECT_EQ(find("*").error().code, ErrorCode::kCancelled);
}

/// A store in which each directory has one directory and nothing else, whatever the depth.
class EndlessDepth final : public s3::ObjectStore {
 public:
  void head(std::string, Deadline, Done<s3::ObjectInfo> done) override {
    done(fail(ErrorCode::kNotFound, "there is no object"));
  }
  void list(s3::ListRequest request, Deadline, Done<s3::ListPage> done) override {
    ++listings;
    s3::ListPage page;
    for (const std::string& name : names) page.common_prefixes.push_back(request.prefix + name);
    done(std::move(page));
  }
  void get(s3::GetRequest, Deadline, s3::GetDone) override {}
  void shut_down() override {}

  std::vector<std::string> names = {"d/"};
  std::size_t listings = 0;
};

TEST_F(FindObjectsTest, DirectoriesOfEndlessDepthEndAtTheLongestKey) {
  EndlessDepth store;
  const Bucket bucket{
      .store = store, .clock = clock_, .prefix = "", .request_timeout = std::chrono::seconds(30)};
  const auto found = find_objects(bucket, config::PathGlob::anchored(""), [] { return true; });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store.listings, 1 + 1024 / 2U) << "the root, and all that 1,024 bytes can name";
}

TEST_F(FindObjectsTest, AnEndlessTreeOfDirectoriesIsTooLarge) {
  EndlessDepth store;
  store.names = {"d/", "e/"};
  const Bucket bucket{.store = store,
                      .clock = clock_,
                      .prefix = "",
                      .request_timeout = std::chrono::seconds(30),
                      .directories_max = 10'000};
  const auto found = find_objects(bucket, config::PathGlob::anchored("*"), [] { return true; });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kTooLarge);
  EXPECT_LE(store.listings, 10'001U);
}

TEST_F(FindObjectsTest, AServerThatRepeatsItsContinuationTokenIsAProtocolError) {
  store_.set_page_keys_max(1);
  store_.repeat_tokens();
  const auto found = find("d");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kProtocol);
}

}  // namespace
}  // namespace s3rdmafs::daemon
