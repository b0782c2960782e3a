// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/sibling_order.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

class SiblingOrderTest : public testing::Test {
 protected:
  static std::string sibling(std::size_t number, const std::string& parent = "p/") {
    char name[16];
    std::snprintf(name, sizeof(name), "%06zu/", number);
    return parent + name;
  }
  static std::vector<ListedName> directories(std::size_t count, const std::string& parent = "p/") {
    std::vector<ListedName> names;
    for (std::size_t i = 0; i < count; ++i) {
      names.push_back({.name = "n", .node = Node::directory(sibling(i, parent)), .seen_at = {}});
    }
    return names;
  }
  void list(std::size_t count, const std::string& parent = "p/") {
    order_.on_listed(parent, 0, directories(count, parent));
  }
  std::vector<std::string> open(const std::vector<std::size_t>& numbers,
                                const std::string& parent = "p/") {
    std::vector<std::string> ahead;
    for (const std::size_t number : numbers) {
      for (std::string& next : order_.on_open(sibling(number, parent))) {
        ahead.push_back(std::move(next));
      }
    }
    return ahead;
  }

  SiblingOrder order_{1000};
};

TEST_F(SiblingOrderTest, ListsNothingAheadUntilAnOrderShows) {
  list(100);
  EXPECT_TRUE(open({1}).empty());
  EXPECT_EQ(open({2}).front(), sibling(3));
}

TEST_F(SiblingOrderTest, AfterTheFirstAFewAreNamedAtOnce) {
  list(100);
  EXPECT_EQ(open({0}).size(), SiblingOrder::kAheadOfFirst);
  EXPECT_TRUE(open({50}).empty()) << "the control: another place shows no order";
}

TEST_F(SiblingOrderTest, OnlyALongWalkIsNamedFarAhead) {
  list(200);
  std::string farthest;
  const auto walk_to = [&](std::size_t from, std::size_t end) {
    for (std::size_t i = from; i < end; ++i) {
      for (const std::string& next : open({i})) farthest = next;
    }
  };
  walk_to(0, 20);
  EXPECT_LE(farthest, sibling(19 + SiblingOrder::kAheadOfShort));
  walk_to(20, 100);
  EXPECT_GT(farthest, sibling(99 + SiblingOrder::kAheadOfShort));
}

TEST_F(SiblingOrderTest, NamesEverySiblingOnceAndNeverMoreThanItsBoundAhead) {
  list(200);
  std::set<std::string> named;
  for (std::size_t i = 0; i < 200; ++i) {
    for (const std::string& next : open({i})) {
      EXPECT_TRUE(named.insert(next).second) << next << " again";
      EXPECT_GT(next, sibling(i)) << "it is open already";
      EXPECT_LE(next, sibling(i + SiblingOrder::kAheadMax));
    }
  }
  EXPECT_EQ(named.size(), 199U) << "all but the first";
}

TEST_F(SiblingOrderTest, OpensInNoOrderNameNothing) {
  list(1000);
  std::size_t named = 0;
  for (std::size_t i = 0; i < 300; ++i) named += open({(i * 389) % 1000}).size();
  EXPECT_LE(named, SiblingOrder::kAheadOfFirst) << "the first alone";
}

TEST_F(SiblingOrderTest, AnOrderThatIsNearlyThatOfBytesIsFollowed) {
  list(100);
  EXPECT_FALSE(open({1, 0, 3, 2}).empty());
}

TEST_F(SiblingOrderTest, FilesBetweenDirectoriesAreNotNamed) {
  std::vector<ListedName> names = directories(20);
  names.insert(
      names.begin() + 5,
      {.name = "f",
       .node = Node::file({.key = "p/000004x", .etag = "\"e\"", .size_bytes = 1, .modified = {}}),
       .seen_at = {}});
  order_.on_listed("p/", 0, names);
  std::vector<std::string> ahead = open({0, 1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_FALSE(ahead.empty());
  EXPECT_TRUE(std::ranges::all_of(ahead, [](const auto& next) { return next.ends_with('/'); }));
}

TEST_F(SiblingOrderTest, AParentListedAgainBeginsAgain) {
  list(10);
  (void)open({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  list(10);
  EXPECT_FALSE(open({0, 1}).empty());
}

TEST_F(SiblingOrderTest, TheParentNotUsedForLongestIsDropped) {
  list(600, "p/");
  list(600, "q/");
  EXPECT_TRUE(open({0, 1, 2}, "p/").empty());
  EXPECT_FALSE(open({0, 1, 2}, "q/").empty()) << "the control";
}

TEST_F(SiblingOrderTest, OfOneParentNoMoreThanTheBoundIsRemembered) {
  list(5000);
  EXPECT_FALSE(open({997, 998}).empty());
  EXPECT_TRUE(open({2000, 2001, 2002}).empty());
}

}  // namespace
}  // namespace s3rdmafs::vfs
