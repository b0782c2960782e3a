// SPDX-License-Identifier: Apache-2.0
// packaging/example: each file loads and says why of each line; train.toml shows every section.
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

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

std::vector<std::string> examples() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(SOURCE_ROOT "/packaging/example")) {
    found.push_back("packaging/example/" + entry.path().filename().string());
  }
  return found;
}

// The lines `key = value` without a comment directly above them.
std::vector<std::string> lines_without_reason(const std::string& text) {
  std::vector<std::string> found;
  std::string above;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); above = line) {
    const bool is_key = !line.starts_with("#") && line.find(" = ") != std::string::npos;
    if (is_key && !above.starts_with("#")) found.push_back(line);
  }
  return found;
}

TEST(ExampleMountFiles, LoadWithoutAWarning) {
  EXPECT_GE(examples().size(), 8U);
  for (const std::string& path : examples()) {
    const auto loaded = config::load_mount_config_text(read_source(path), path, {});
    ASSERT_TRUE(loaded) << loaded.error().detail;
    EXPECT_TRUE(loaded->warnings.empty()) << path;
  }
}

TEST(ExampleMountFiles, GiveTheReasonOfEachLine) {
  for (const std::string& path : examples()) {
    if (path == kExample) continue;  // shows every key, and has its comments where they help
    EXPECT_EQ(lines_without_reason(read_source(path)), std::vector<std::string>{}) << path;
  }
  EXPECT_EQ(lines_without_reason("[a]\nb = 1\n# Why.\nc = 2\n"), std::vector<std::string>{"b = 1"})
      << "the control";
}

}  // namespace
}  // namespace s3rdmafs::docs
