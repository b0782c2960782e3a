// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/key_path.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

TEST(KeyPath, AnyBytesButSlashAndNulMakeAName) {
  for (const std::string& name :
       {std::string("a"), std::string("..."), std::string("\x01 \xff\n"), std::string(255, 'x')}) {
    EXPECT_TRUE(is_valid_name(name)) << name;
  }
}

TEST(KeyPath, ANameThatPosixForbidsIsNotValid) {
  for (const std::string_view name : {"", ".", "..", "a/b"}) {
    EXPECT_FALSE(is_valid_name(name)) << name;
  }
  EXPECT_FALSE(is_valid_name(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_valid_name(std::string(256, 'x')));
}

TEST(KeyPath, TheParentOfADirectoryIsOneComponentUpAndStopsAtTheRoot) {
  const std::map<std::string, std::string> parents = {{"a/b/", "a/"}, {"a/", ""}, {"", ""}};
  for (const auto& [prefix, parent] : parents) EXPECT_EQ(parent_prefix(prefix, ""), parent);
  for (const std::string prefix : {"p/q/a/", "p/q/"}) {
    EXPECT_EQ(parent_prefix(prefix, "p/q/"), "p/q/") << prefix;
  }
}

TEST(KeyPath, TheNameOfAKeyFollowsItsDirectory) {
  const std::map<std::string, std::string> names = {
      {"a/b", "b"}, {"a/b/", "b"}, {"a/", ""}, {"a//", ""}, {"b", ""}};
  for (const auto& [key, name] : names) EXPECT_EQ(name_below("a/", key), name) << key;
  EXPECT_EQ(name_below("", "b"), "b");
}

}  // namespace
}  // namespace s3rdmafs::vfs
