// SPDX-License-Identifier: Apache-2.0
#include "config/keys/schema.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "config/value.h"

namespace s3rdmafs::config {
namespace {

TEST(Schema, NamesEveryKeyOnceAndKeepsSectionsTogether) {
  std::set<std::string> names;
  std::set<std::string> finished_sections;
  std::string section;
  for (const Key& key : schema()) {
    EXPECT_TRUE(names.insert(key.full_name()).second) << key.full_name();
    if (key.section == section) continue;
    finished_sections.insert(section);
    section = key.section;
    EXPECT_FALSE(finished_sections.contains(section)) << section;
  }
}

// Otherwise two keys ("a.b_c" and "a_b.c") could share a variable.
TEST(Schema, GivesEveryKeyAVariableOfItsOwn) {
  std::set<std::string> names;
  for (const Key& key : schema()) {
    EXPECT_TRUE(names.insert(key.variable_name()).second) << key.variable_name();
  }
  EXPECT_TRUE(names.contains("S3RDMAFS_READ_AHEAD_WINDOW_MAX"));
}

TEST(Schema, HasDefaultsThatItsOwnBoundsAllow) {
  for (const Key& key : schema()) {
    if (!key.standard || key.standard->compute != nullptr) continue;
    MountConfig config;
    const auto set = set_value(key, key.standard->text, config);
    EXPECT_TRUE(set) << key.full_name() << ": " << set.error().detail;
  }
}

TEST(Schema, DescribesEveryKeyInOneSentence) {
  for (const Key& key : schema()) {
    EXPECT_TRUE(key.description.ends_with('.')) << key.full_name();
    EXPECT_EQ(key.description.find('\n'), std::string_view::npos) << key.full_name();
  }
}

TEST(Schema, FindsKeysByNameAndNothingElse) {
  ASSERT_NE(find_key("cache", "size"), nullptr);
  EXPECT_EQ(find_key("cache", "size")->full_name(), "cache.size");
  EXPECT_EQ(find_key("cache", "sizes"), nullptr);
  EXPECT_EQ(find_key("", "size"), nullptr);
}

// A copied line of the table that sets its neighbour's field would go unnoticed elsewhere.
TEST(Schema, SetsADifferentFieldWithEveryKey) {
  for (const Key& key : schema()) {
    for (const Key& other : schema()) {
      if (&key == &other || key.rule.index() != other.rule.index()) continue;
      const auto field_of = [](const Key& k, MountConfig& config) -> const void* {
        return std::visit([&](const auto& rule) -> const void* { return &rule.field(config); },
                          k.rule);
      };
      MountConfig config;
      EXPECT_NE(field_of(key, config), field_of(other, config))
          << key.full_name() << " and " << other.full_name();
    }
  }
}

}  // namespace
}  // namespace s3rdmafs::config
