// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/directory_order.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

class DirectoryOrderTest : public ::testing::Test {
 protected:
  static s3::ObjectInfo file(std::size_t number, std::uint64_t size_bytes = 100'000) {
    char key[16];
    std::snprintf(key, sizeof(key), "d/%06zu", number);
    return {.key = key, .etag = "\"e\"", .size_bytes = size_bytes, .modified = {}};
  }
  static std::vector<ListedName> names(std::size_t count, std::uint64_t size_bytes = 100'000) {
    std::vector<ListedName> names;
    for (std::size_t i = 0; i < count; ++i) {
      names.push_back({.name = "n", .node = Node::file(file(i, size_bytes)), .seen_at = {}});
    }
    return names;
  }
  void list(std::size_t count, std::uint64_t size_bytes = 100'000) {
    order_.on_listed("d/", 0, names(count, size_bytes));
  }
  /// Keys that were fetched because of these opens.
  std::vector<std::string> open(const std::vector<std::size_t>& numbers) {
    std::vector<std::string> keys;
    for (const std::size_t number : numbers) {
      for (const s3::ObjectInfo& next : order_.on_open(file(number))) keys.push_back(next.key);
    }
    return keys;
  }

  static constexpr std::uint64_t kLarge = 64 * kMiB;
  std::vector<std::string> open_large(const std::vector<std::size_t>& numbers) {
    std::vector<std::string> keys;
    for (const std::size_t number : numbers) {
      for (const s3::ObjectInfo& next : order_.on_open(file(number, kLarge))) {
        keys.push_back(next.key);
      }
    }
    return keys;
  }
  static std::vector<std::string> keys(const std::vector<std::size_t>& numbers) {
    std::vector<std::string> keys;
    for (const std::size_t number : numbers) keys.push_back(file(number).key);
    return keys;
  }

  /// The number of files to be asked for because of each of these lookups.
  std::vector<std::size_t> stat(const std::vector<std::size_t>& numbers) {
    std::vector<std::size_t> counts;
    for (const std::size_t number : numbers) {
      counts.push_back(order_.on_stat(file(number).key).size());
    }
    return counts;
  }

  DirectoryOrder order_{1000};
};

TEST_F(DirectoryOrderTest, GuessesMoreStatsWithEachLookupInOrder) {
  list(1000);
  EXPECT_EQ(stat({0, 1, 10, 27, 60, 125, 254}),
            (std::vector<std::size_t>{0, 8, 16, 32, 64, 128, 128}));
  EXPECT_EQ(order_.on_stat(file(383).key).front().key, file(384).key);
  EXPECT_EQ(stat({990, 500, 0}), (std::vector<std::size_t>{0, 0, 0})) << "another order, or none";
  EXPECT_EQ(stat({998, 999}), (std::vector<std::size_t>{0, 0})) << "the directory ends";
  EXPECT_TRUE(order_.on_stat("d/other").empty());
  EXPECT_TRUE(order_.on_stat("other/file").empty());
}

TEST_F(DirectoryOrderTest, FetchesNothingUntilAnOrderShows) {
  list(100);
  EXPECT_TRUE(open({0, 1}).empty());
  const auto keys = open({2});
  ASSERT_FALSE(keys.empty());
  EXPECT_EQ(keys.front(), file(3).key);
}

TEST_F(DirectoryOrderTest, FetchesEveryFileOnceAndStaysAhead) {
  list(100);
  std::vector<std::string> fetched;
  for (std::size_t i = 0; i < 100; ++i) {
    for (const std::string& key : open({i})) fetched.push_back(key);
    if (i >= DirectoryOrder::kRunMin && i + 1 < 100) {
      EXPECT_GT(fetched.back(), file(i).key) << "the next one is on its way";
    }
  }
  EXPECT_EQ(fetched.size(), 100 - DirectoryOrder::kRunMin);
  EXPECT_EQ(std::ranges::adjacent_find(fetched), fetched.end());
  EXPECT_TRUE(std::ranges::is_sorted(fetched));
}

TEST_F(DirectoryOrderTest, FetchesNothingForRandomOpens) {
  list(1000);
  std::mt19937 random(1);
  std::vector<std::size_t> numbers(1000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  std::ranges::shuffle(numbers, random);
  EXPECT_LT(open(numbers).size(), 20U);
}

TEST_F(DirectoryOrderTest, TakesWorkersThatShareADirectoryForOne) {
  list(100);
  EXPECT_FALSE(open({3, 0, 1, 2, 7, 4}).empty());
}

TEST_F(DirectoryOrderTest, SkipsEmptyFiles) {
  list(100, 0);
  EXPECT_TRUE(open({0, 1, 2, 3, 4}).empty());
}

TEST_F(DirectoryOrderTest, FetchesNoMoreThanItsShareOfBytes) {
  list(1000, DirectoryOrder::kSmallMax);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_LE(open({i}).size(), DirectoryOrder::kBytesMax / DirectoryOrder::kSmallMax);
  }
}

// Large files.

TEST_F(DirectoryOrderTest, FetchesTheNextShardsFromTheSecondOn) {
  list(10, kLarge);
  EXPECT_TRUE(open_large({0}).empty());
  EXPECT_EQ(open_large({1}), keys({2, 3})) << "of 64 MiB two are enough";
  EXPECT_EQ(open_large({2}), keys({4}));
  EXPECT_EQ(open_large({3, 4, 5, 6, 7, 8, 9}), keys({5, 6, 7, 8, 9})) << "each once";
  list(10, 100 * kLarge);
  EXPECT_EQ(open_large({0, 1}), keys({2})) << "one larger than all that may be ahead";
}

TEST_F(DirectoryOrderTest, FetchesNoLargeFileWhereNoOrderShows) {
  list(100, kLarge);
  EXPECT_TRUE(open_large({50, 3, 77, 20, 91}).empty());
  EXPECT_TRUE(open_large({91, 91, 91}).empty()) << "one file again and again";
}

TEST_F(DirectoryOrderTest, TheFirstLargeFileOfADirectoryWithoutAListingAsksForOne) {
  EXPECT_TRUE(order_.wants_listing(file(0, kLarge)));
  EXPECT_FALSE(order_.wants_listing(file(1, kLarge))) << "it is on its way";
  list(10, kLarge);
  EXPECT_FALSE(order_.wants_listing(file(2, kLarge)));
  EXPECT_EQ(open_large({2}), keys({3, 4})) << "the open before the listing counts";
}

TEST_F(DirectoryOrderTest, ASmallFileIsNotWorthAListing) {
  EXPECT_FALSE(order_.wants_listing(file(0)));
}

TEST_F(DirectoryOrderTest, RemembersFewDirectoriesThatWereNeverListed) {
  for (std::size_t i = 0; i < 10 * DirectoryOrder::kUnlistedMax; ++i) {
    s3::ObjectInfo shard = file(0, kLarge);
    shard.key = std::to_string(i) + "/" + shard.key;
    EXPECT_TRUE(order_.wants_listing(shard)) << "each is forgotten before it comes again";
  }
}

TEST_F(DirectoryOrderTest, JoinsPagesAndIgnoresAPageThatDoesNotFollow) {
  const auto all = names(20);
  order_.on_listed("d/", 0, std::span(all).first(3));
  order_.on_listed("d/", 10, std::span(all).subspan(10));
  EXPECT_TRUE(open({0, 1, 2}).empty()) << "what comes after is not known";
  order_.on_listed("d/", 0, std::span(all).first(3));
  order_.on_listed("d/", 3, std::span(all).subspan(3));
  EXPECT_FALSE(open({0, 1, 2}).empty());
}

TEST_F(DirectoryOrderTest, FollowsKeysThatPagesDoNotShowInOrder) {
  auto all = names(30);
  std::swap(all[8], all[13]);   // into another page
  std::swap(all[21], all[25]);  // within a page
  for (std::size_t page = 0; page < 3; ++page) {
    order_.on_listed("d/", 10 * page, std::span(all).subspan(10 * page, 10));
  }
  std::vector<std::string> fetched;
  for (std::size_t i = 0; i < 30; ++i) {
    for (const std::string& key : open({i})) fetched.push_back(key);
  }
  EXPECT_EQ(fetched.size(), 30 - DirectoryOrder::kRunMin);
  EXPECT_TRUE(std::ranges::is_sorted(fetched));
}

TEST_F(DirectoryOrderTest, ForgetsTheDirectoryNotUsedForLongest) {
  list(600);
  auto others = names(600);
  for (ListedName& other : others) other.node.object.key[0] = 'o';
  order_.on_listed("o/", 0, others);
  EXPECT_TRUE(open({0, 1, 2, 3}).empty());
}

}  // namespace
}  // namespace s3rdmafs::vfs
