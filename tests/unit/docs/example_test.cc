// SPDX-License-Identifier: Apache-2.0
// packaging/example/train.toml: loads, and shows every section.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "config/load.h"
#include "man_page.h"

namespace s3rdmafs::docs {
namespace {

constexpr std::string_view kExample = "packaging/example/train.toml";

TEST(ExampleMountFile, LoadsAndSetsAKeyOfEverySection) {
  const auto loaded = config::load_mount_config_text(read_source(kExample), kExample, {});
  ASSERT_TRUE(loaded) << loaded.error().detail;
  EXPECT_TRUE(loaded->warnings.empty());

  std::set<std::string_view> missing;
  for (const config::Key& key : config::schema()) missing.insert(key.section);
  for (const auto& [key, source] : loaded->sources) {
    if (source.starts_with(kExample)) missing.erase(key->section);
  }
  EXPECT_TRUE(missing.empty()) << *missing.begin();
  EXPECT_FALSE(loaded->config.resident.empty());
}

// The control: the same file with one letter wrong does not load.
TEST(ExampleMountFile, WouldNotLoadWithAWrongKey) {
  std::string text = read_source(kExample);
  const std::size_t at = text.find("region");
  ASSERT_NE(at, std::string::npos);
  text[at] = 'X';

  EXPECT_FALSE(config::load_mount_config_text(text, kExample, {}));
}

}  // namespace
}  // namespace s3rdmafs::docs
