// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/directory_listing.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/s3/fake_object_store.h"

namespace s3rdmafs::vfs {
namespace {

class DirectoryListingTest : public testing::Test {
 protected:
  void put(std::initializer_list<std::string> keys) {
    for (const std::string& key : keys) store_.put(key, "");
  }

  /// The names of a directory, directories with a "/" at the end, in the order of the listing.
  std::vector<std::string> names(const std::string& prefix, std::uint32_t page_keys = 1000) {
    DirectoryListing listing(prefix);
    std::vector<std::string> names;
    std::string token;
    do {
      s3::ListPage page;
      store_.list(
          {.prefix = prefix, .delimiter = "/", .continuation_token = token, .keys_max = page_keys},
          {}, [&](Result<s3::ListPage> result) { page = std::move(result).value(); });
      token = page.next_token;
      for (const ListedName& listed : listing.add(std::move(page), {})) {
        names.push_back(listed.name + (listed.node.is_directory ? "/" : ""));
      }
    } while (!token.empty());
    hidden_ = listing.hidden();
    return names;
  }

  using Names = std::vector<std::string>;
  fakes::FakeClock clock_;
  fakes::FakeObjectStore store_{clock_};
  std::uint64_t hidden_ = 0;
};

TEST_F(DirectoryListingTest, ShowsFilesAndDirectoriesOfOneLevelOnly) {
  put({"d/f", "d/sub/x", "d/sub/y", "e", "d"});
  EXPECT_EQ(names("d/"), (Names{"f", "sub/"}));
  EXPECT_EQ(names(""), (Names{"d/", "e"}));
  EXPECT_EQ(hidden_, 1U) << "file d";
}

TEST_F(DirectoryListingTest, AKeyEndingInASlashOnlyMakesItsDirectoryExist) {
  put({"d/"});
  EXPECT_EQ(names(""), (Names{"d/"}));
  EXPECT_EQ(names("d/"), Names{});
  EXPECT_EQ(hidden_, 0U);
}

TEST_F(DirectoryListingTest, KeysThatCannotBePathsAreHiddenAndCounted) {
  put({"a//b", "a/../x", "a/./x", "a/.", "a/..", "a/" + std::string(256, 'n'), "a/ok"});
  EXPECT_EQ(names("a/"), (Names{"ok"}));
  EXPECT_EQ(hidden_, 6U);
}

TEST_F(DirectoryListingTest, AFileIsHiddenByItsDirectoryWhateverSortsBetweenThem) {
  put({"a", "a!", "a-b", "a.txt", "a/x", "a0"});
  for (const std::uint32_t page_keys : {1U, 2U, 3U, 1000U}) {
    Names found = names("", page_keys);
    std::ranges::sort(found);
    EXPECT_EQ(found, (Names{"a!", "a-b", "a.txt", "a/", "a0"})) << page_keys << " keys a page";
    EXPECT_EQ(hidden_, 1U);
  }
}

// The control: a name that only looks like a directory's hides nothing.
TEST_F(DirectoryListingTest, AFileShowsWhereOnlyLongerNamesAreDirectories) {
  put({"a", "a-/x", "a.d/x", "ab/x", "a0"});
  for (const std::uint32_t page_keys : {1U, 1000U}) {
    Names found = names("", page_keys);
    std::ranges::sort(found);
    EXPECT_EQ(found, (Names{"a", "a-/", "a.d/", "a0", "ab/"}));
    EXPECT_EQ(hidden_, 0U);
  }
}

TEST_F(DirectoryListingTest, NestedUndecidedNamesAreEachDecidedRight) {
  put({"a", "a-", "a--", "a---/x", "a--/x", "a/x", "b"});
  for (const std::uint32_t page_keys : {1U, 2U, 1000U}) {
    Names found = names("", page_keys);
    std::ranges::sort(found);
    EXPECT_EQ(found, (Names{"a-", "a---/", "a--/", "a/", "b"})) << page_keys << " keys a page";
    EXPECT_EQ(hidden_, 2U) << "a and a--";
  }
}

TEST_F(DirectoryListingTest, AServerThatIgnoresTheDelimiterShowsTheSameNames) {
  put({"d/", "d/a", "d/a-b", "d/a.txt", "d/a/x", "d/a/y/z", "d/b/", "d/c/d/e/f", "d/f", "d/f/g",
       "d/z"});
  const Names with_delimiter = names("d/");
  const std::uint64_t hidden_with_delimiter = hidden_;
  store_.ignore_delimiters();
  for (const std::uint32_t page_keys : {1U, 2U, 3U, 1000U}) {
    Names found = names("d/", page_keys);
    std::ranges::sort(found);
    EXPECT_EQ(found, (Names{"a-b", "a.txt", "a/", "b/", "c/", "f/", "z"})) << page_keys;
    EXPECT_EQ(hidden_, 2U) << "a and f, which directories hide";
  }
  EXPECT_EQ(names("d/"), with_delimiter) << "in the same order, too";
  EXPECT_EQ(hidden_, hidden_with_delimiter);
}

TEST_F(DirectoryListingTest, KeysThatCannotBePathsStayHiddenWithoutADelimiter) {
  put({"a//b", "a//c", "a/../x", "a/../y", "a/./x", "a/.", "a/..",
       "a/" + std::string(256, 'n') + "/x", "a/ok/x"});
  store_.ignore_delimiters();
  EXPECT_EQ(names("a/"), (Names{"ok/"}));
  EXPECT_EQ(hidden_, 6U) << "each name once, as with a delimiter";
}

TEST_F(DirectoryListingTest, AKeyThatIsNotBelowTheDirectoryIsHidden) {
  DirectoryListing listing("d/");
  const s3::ListPage page{.objects = {{"e/x", "\"1\"", 0, {}}, {"f", "\"1\"", 0, {}}},
                          .common_prefixes = {"d/no-slash", "d/sub/", "e/", "e/sub/"},
                          .next_token = {}};
  const auto certain = listing.add(page, {});
  ASSERT_EQ(certain.size(), 1U);
  EXPECT_EQ(certain[0].name, "sub");
  EXPECT_EQ(listing.hidden(), 5U);
}

TEST_F(DirectoryListingTest, ANameLongerThanAnyKeyIsHidden) {
  const std::string component = std::string(249, 'd') + "/";
  const std::string deep = component + component + component + component;  // 1,000 bytes
  put({deep + std::string(24, 'f'), deep + std::string(25, 'g'), deep + std::string(23, 'h') + "/x",
       deep + std::string(24, 'i') + "/x"});
  EXPECT_EQ(names(deep), (Names{std::string(24, 'f'), std::string(23, 'h') + "/"}));
  EXPECT_EQ(hidden_, 2U);
}

TEST_F(DirectoryListingTest, AFileIsHeldBackOnlyUntilItsDirectoryCouldNoLongerCome) {
  DirectoryListing listing("");
  const auto page = [](std::string key, std::string next_token) {
    return s3::ListPage{.objects = {{std::move(key), "\"1\"", 0, {}}},
                        .common_prefixes = {},
                        .next_token = std::move(next_token)};
  };
  EXPECT_EQ(listing.add(page("a", "1"), {}).size(), 0U);
  EXPECT_EQ(listing.add(page("a-", "2"), {}).size(), 0U);
  const auto certain = listing.add(page("a0", "3"), {});
  ASSERT_EQ(certain.size(), 2U);
  EXPECT_EQ(certain[0].name, "a-");
  EXPECT_EQ(certain[1].name, "a");
  EXPECT_EQ(listing.add(page("b", ""), {}).size(), 2U) << "the last page decides all";
}

}  // namespace
}  // namespace s3rdmafs::vfs
