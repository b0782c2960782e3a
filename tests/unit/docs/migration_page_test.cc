// SPDX-License-Identifier: Apache-2.0
// s3rdmafs-migration(7): the keys that it names exist, and each setting of another program has a
// home or a reason.
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/keys/schema.h"
#include "man_page.h"

namespace s3rdmafs::docs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kPage = "man/s3rdmafs-migration.7.scd";

// The keys of the mount file that a page names: "*cache.size*".
std::vector<std::string> keys_named_in(const std::string& text) {
  static const std::regex kKey("\\*([a-z_]+\\.[a-z_]+)\\*");
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), kKey), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

std::vector<std::string> unknown_keys(const std::string& text) {
  std::set<std::string> known;
  for (const config::Key& key : config::schema()) known.insert(key.full_name());
  std::vector<std::string> unknown = keys_named_in(text);
  std::erase_if(unknown, [&](const std::string& name) { return known.contains(name); });
  return unknown;
}

bool is_home_or_reason(const std::string& text) {
  static const std::regex kCommand("\\*(s3rdmafs |-)");
  static const std::regex kReason("None(:| [a-z]+.*:)|Not needed.*: |credential_process");
  return !keys_named_in(text).empty() || std::regex_search(text, kCommand) ||
         std::regex_search(text, kReason);
}

// The settings, one entry of the page each, below which there is neither.
std::vector<std::string> homeless(const std::string& page) {
  std::vector<std::string> found;
  std::string setting;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("_")) setting = line;
    if (!line.starts_with("\t")) continue;
    if (!is_home_or_reason(line)) found.push_back(setting);
    setting.clear();
  }
  return found;
}

TEST(MigrationPage, NamesKeysThatExist) {
  const std::string page = read_source(kPage);
  EXPECT_GT(keys_named_in(page).size(), 100U);
  EXPECT_THAT(unknown_keys(page), IsEmpty());
  EXPECT_THAT(unknown_keys("*cache.size* *cache.sizes*"), ElementsAre("cache.sizes"))
      << "the control";
}

TEST(MigrationPage, HasAHomeOrAReasonForEachSetting) {
  const std::string page = read_source(kPage);
  EXPECT_GT(std::ranges::count(page, '\t'), 150);
  EXPECT_THAT(homeless(page), IsEmpty());
  EXPECT_THAT(homeless("_--a_\n\t*cache.size*\n_--b_\n\tNone.\n_--c_\n\tNone: it is so.\n"),
              ElementsAre("_--b_"))
      << "the control";
}

TEST(MigrationPage, IsOfEachProgramThatSitesComeFrom) {
  const std::string page = read_source(kPage);
  for (const char* program :
       {"MOUNTPOINT-S3", "S3FS", "RCLONE MOUNT", "GEESEFS", "DELL SPT", "NEBULAIO"}) {
    EXPECT_NE(page.find(std::string("\n# ") + program + "\n"), std::string::npos) << program;
  }
}

}  // namespace
}  // namespace s3rdmafs::docs
