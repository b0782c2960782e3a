// SPDX-License-Identifier: Apache-2.0
// s3rdmafs.toml(5) against the schema: the same keys, the same defaults.
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/keys/mount_profiles.h"
#include "config/keys/schema.h"
#include "man_page.h"

namespace s3rdmafs::docs {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAreArray;

// A key's default as the page has to spell it.
std::string default_of(const config::Key& key) {
  if (!key.standard) return "required";
  return key.standard->text.empty() ? "empty" : std::string(key.standard->text);
}

TEST(MountFilePage, HasEveryKeyOfTheSchemaWithItsDefault) {
  const auto documented = documented_keys(read_source("man/s3rdmafs.toml.5.scd"));

  for (const config::Key& key : config::schema()) {
    const auto found = documented.find(key.full_name());
    if (found == documented.end()) {
      ADD_FAILURE() << key.full_name() << " is not in s3rdmafs.toml(5)";
      continue;
    }
    EXPECT_EQ(found->second, default_of(key)) << key.full_name();
  }
}

TEST(MountFilePage, HasNoKeyThatTheSchemaLacks) {
  std::set<std::string> known;
  for (const config::Key& key : config::schema()) known.insert(key.full_name());

  for (const auto& [name, text] : documented_keys(read_source("man/s3rdmafs.toml.5.scd"))) {
    EXPECT_TRUE(known.contains(name)) << name;
  }
}

// The control of both: what is on a page is seen, with the default it states.
TEST(MountFilePage, IsReadKeyByKey) {
  EXPECT_THAT(documented_keys("# KEYS\n\n*top* = text\n\tDefault: *none*.\n## [cache]\n\n*size* = "
                              "size\n\tText.\n\n\tDefault: *2GiB*.\n"
                              "*other* = text\n\tDefault: empty, so to speak.\n"
                              "*third* = text\n\tRequired.\n*fourth* = text\n\tText.\n"
                              "# NEXT\n\n*fifth* = text\n"),
              ElementsAre(Pair("cache.fourth", ""), Pair("cache.other", "empty"),
                          Pair("cache.size", "2GiB"), Pair("cache.third", "required"),
                          Pair("top", "none")));
}

// "training: metadata.ttl = 10m"
std::vector<std::string> documented_profile_lines(std::string_view page) {
  static const std::regex kProfile("## ([a-z]+)");
  static const std::regex kLine(R"re(\*([a-z_.]+)\* = "?([^"]*)"?)re");
  std::vector<std::string> found;
  std::string profile;
  bool in_profiles = false;
  std::istringstream lines{std::string(page)};
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with("# ")) in_profiles = line == "# PROFILES";
    if (!in_profiles) continue;
    if (std::regex_match(line, match, kProfile)) profile = match[1];
    if (std::regex_match(line, match, kLine)) {
      const std::string text = std::regex_replace(match[2].str(), std::regex(R"(\\(.))"), "$1");
      found.push_back(profile + ": " + match[1].str() + " = " + text);
    }
  }
  return found;
}

TEST(MountFilePage, HasEveryLineOfEveryProfileAndNoOthers) {
  std::vector<std::string> lines;
  for (const config::ProfileLine& line : config::profile_lines()) {
    const config::Key* const key = config::find_key(line.section, line.name);
    ASSERT_NE(key, nullptr) << line.section << "." << line.name;
    lines.push_back(std::string(config::profile_name(line.profile)) + ": " + key->full_name() +
                    " = " + std::string(line.text));
  }
  EXPECT_THAT(documented_profile_lines(read_source("man/s3rdmafs.toml.5.scd")),
              UnorderedElementsAreArray(lines));
}

TEST(MountFilePage, IsReadProfileByProfile) {
  EXPECT_THAT(documented_profile_lines("*a.b* = \"1\"\n# PROFILES\n## first\n*a.b_c* = \"\\*.x\"\n"
                                       "\tText.\n*a.d* = 2\n# NEXT\n*a.e* = 3\n"),
              ElementsAre("first: a.b_c = *.x", "first: a.d = 2"));
}

}  // namespace
}  // namespace s3rdmafs::docs
