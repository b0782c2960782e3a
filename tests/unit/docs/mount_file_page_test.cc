// SPDX-License-Identifier: Apache-2.0
// s3rdmafs.toml(5) against the schema: the same keys, the same defaults.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/keys/schema.h"
#include "man_page.h"

namespace s3rdmafs::docs {
namespace {

using testing::ElementsAre;
using testing::Pair;

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
  EXPECT_THAT(
      documented_keys("# KEYS\n\n## [cache]\n\n*size* = size\n\tText.\n\n\tDefault: *2GiB*.\n"
                      "*other* = text\n\tDefault: empty, so to speak.\n"
                      "*third* = text\n\tRequired.\n*fourth* = text\n\tText.\n"
                      "# NEXT\n\n*fifth* = text\n"),
      ElementsAre(Pair("cache.fourth", ""), Pair("cache.other", "empty"),
                  Pair("cache.size", "2GiB"), Pair("cache.third", "required")));
}

}  // namespace
}  // namespace s3rdmafs::docs
