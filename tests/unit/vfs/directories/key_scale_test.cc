// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/pages/key_scale.h"

#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "s3rdmafs/base/utf8.h"

namespace s3rdmafs::vfs {
namespace {

std::vector<s3::ObjectInfo> listed_keys(int first, int count,
                                        const std::function<std::string(int)>& name) {
  std::vector<s3::ObjectInfo> keys;
  for (int i = first; i < first + count; ++i) {
    keys.push_back({.key = "d/" + name(i), .etag = {}, .size_bytes = 0, .modified = {}});
  }
  return keys;
}

TEST(KeyScale, PagesOfNumberedNamesAreEquallyFarApart) {
  const auto name = [](int i) { return fmt::format("image-{:08}.jpg", i); };
  const KeyScale scale("d/", listed_keys(1000, 1000, name));
  const auto number = [&](int i) { return scale.number_of("d/" + name(i)); };
  const std::uint64_t page = number(2000) - number(1000);
  ASSERT_GT(page, 0U);
  EXPECT_EQ(number(5'001'000) - number(5'000'000), page);
  EXPECT_EQ(scale.key_of(number(1000) + 20 * page).substr(0, 16),
            "d/" + name(21'000).substr(0, 14));
}

TEST(KeyScale, PagesOfHashesAreEquallyFarApart) {
  const auto name = [](int i) {
    return fmt::format("{:08x}.bin", static_cast<unsigned>(i) * 4096);
  };
  const KeyScale scale("d/", listed_keys(0xa0000, 1000, name));  // they all begin with one letter
  const auto number = [&](int i) { return scale.number_of("d/" + name(i)); };
  const std::uint64_t page = number(0xa1000) - number(0xa0000);
  ASSERT_GT(page, 0U);
  EXPECT_EQ(number(0xf1000) - number(0xf0000), page);
}

TEST(KeyScale, GivesKeysInUtf8Alone) {
  const auto name = [](int i) { return fmt::format("{}-{:04}", i % 2 == 0 ? "\u00e9" : "zz", i); };
  const KeyScale scale("d/", listed_keys(0, 1000, name));
  const std::uint64_t first = scale.number_of("d/z");
  const std::uint64_t step = scale.number_of("d/\u00e9") / 100;
  std::size_t cut = 0;
  for (std::uint64_t number = first; number < first + 100 * step; number += step) {
    const std::string key = scale.key_of(number);
    EXPECT_EQ(utf8_beginning(key), key);
    cut += key.size() < scale.key_of(first).size() ? 1 : 0;
  }
  EXPECT_GT(cut, 0U) << "the control: some were not";
}

TEST(KeyScale, TakesAnyBytes) {
  const KeyScale scale("d/", listed_keys(0, 3, [](int i) { return std::string(1 + i, '\xff'); }));
  EXPECT_FALSE(scale.key_of(scale.number_of("d/\xfe\x01")).empty());
  EXPECT_EQ(scale.number_of(""), scale.number_of("d/"));
  const KeyScale none("d/", {});
  EXPECT_EQ(none.number_of("d/x"), 0U);
  EXPECT_EQ(none.key_of(7), "d/");
}

}  // namespace
}  // namespace s3rdmafs::vfs
