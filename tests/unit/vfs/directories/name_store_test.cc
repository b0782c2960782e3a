// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/name_store.h"

#include <random>

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

constexpr const char* kMd5 = "\"0123456789abcdef0123456789abcdef\"";

ListedName listed_file(const std::string& prefix, std::string name, std::string etag,
                       std::uint64_t size_bytes = 1) {
  Node node = Node::file({.key = prefix + name,
                          .etag = std::move(etag),
                          .size_bytes = size_bytes,
                          .modified = std::chrono::system_clock::time_point(
                              std::chrono::microseconds(1'700'000'000'123'456))});
  return {.name = std::move(name), .node = std::move(node), .seen_at = {}};
}

void expect_same(const ListedName& actual, const ListedName& wanted) {
  EXPECT_EQ(actual.name, wanted.name);
  EXPECT_TRUE(actual.node.same_as(wanted.node)) << actual.node.object.etag;
  EXPECT_EQ(actual.node.object.size_bytes, wanted.node.object.size_bytes);
  EXPECT_EQ(actual.node.object.modified, wanted.node.object.modified);
  EXPECT_EQ(actual.seen_at, wanted.seen_at);
}

TEST(NameStore, GivesBackWhatItWasGiven) {
  const std::string long_name(255, 'x');
  const std::vector<ListedName> names{
      listed_file("d/", "a", kMd5),
      listed_file("d/", "\xff\x01\xfe", "\"0123456789abcdef0123456789abcdef-17\"", 1ULL << 42),
      {.name = "sub", .node = Node::directory("d/sub/"), .seen_at = {}},
      listed_file("d/", long_name, ""),
      listed_file("d/", "upper", "\"0123456789ABCDEF0123456789abcdef\""),
      listed_file("d/", "weak", "W/\"1\"")};
  NameStore store("d/");
  store.add(std::span(names).first(2));
  store.add({});
  store.add(std::span(names).subspan(2));
  ASSERT_EQ(store.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) expect_same(store.at(i), names[i]);
}

TEST(NameStore, RandomPagesComeBackByIndex) {
  std::mt19937 random(13);
  std::vector<ListedName> names;
  NameStore store("");
  for (int page = 0; page < 100; ++page) {
    std::vector<ListedName> added;
    for (std::size_t i = random() % 50; i > 0; --i) {
      std::string name(1 + random() % 255, '\0');
      for (char& each : name) each = static_cast<char>(1 + random() % 255);
      std::string etag = kMd5;
      for (char& each : etag) each = random() % 8 == 0 ? "0123456789abcdef"[random() % 16] : each;
      added.push_back(listed_file("", name, etag, random()));
    }
    store.add(added);
    names.insert(names.end(), added.begin(), added.end());
  }
  ASSERT_EQ(store.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) expect_same(store.at(i), names[i]);
}

// An answer that looks older than it is would be taken for superseded.
TEST(NameStore, KnowsWhenEachNameWasSeen) {
  std::vector<ListedName> names{listed_file("", "a", kMd5), listed_file("", "b", kMd5),
                                listed_file("", "c", kMd5), listed_file("", "d", kMd5)};
  for (const std::size_t late : {1, 2}) names[late].seen_at += std::chrono::seconds(1);
  NameStore store("");
  store.add(names);
  for (std::size_t i = 0; i < names.size(); ++i) expect_same(store.at(i), names[i]);
}

TEST(NameStore, TakesAFifthOfWhatTheNamesTake) {
  NameStore store("a/long/prefix/that/all/names/have/in/common/");
  constexpr std::size_t kNames = 100'000;
  for (std::size_t page = 0; page < kNames / 1000; ++page) {
    std::vector<ListedName> names;
    for (std::size_t i = 0; i < 1000; ++i) {
      names.push_back(listed_file("a/long/prefix/that/all/names/have/in/common/",
                                  "image-" + std::to_string(page * 1000 + i) + ".jpg", kMd5));
    }
    store.add(names);
  }
  EXPECT_LT(store.bytes() / kNames, 64U);
  EXPECT_GT(store.bytes() / kNames, 48U) << "the control: it is counted";
}

}  // namespace
}  // namespace s3rdmafs::vfs
