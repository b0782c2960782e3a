// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/key_path.h"

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

TEST(KeyPath, AnyBytesButSlashAndNulMakeAName) {
  EXPECT_TRUE(is_valid_name("a"));
  EXPECT_TRUE(is_valid_name("..."));
  EXPECT_TRUE(is_valid_name("\x01 \xff\n"));
  EXPECT_TRUE(is_valid_name(std::string(255, 'x')));
}

TEST(KeyPath, ANameThatPosixForbidsIsNotValid) {
  EXPECT_FALSE(is_valid_name(""));
  EXPECT_FALSE(is_valid_name("."));
  EXPECT_FALSE(is_valid_name(".."));
  EXPECT_FALSE(is_valid_name("a/b"));
  EXPECT_FALSE(is_valid_name(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_valid_name(std::string(256, 'x')));
}

TEST(KeyPath, TheParentOfADirectoryIsOneComponentUpAndStopsAtTheRoot) {
  EXPECT_EQ(parent_prefix("a/b/", ""), "a/");
  EXPECT_EQ(parent_prefix("a/", ""), "");
  EXPECT_EQ(parent_prefix("", ""), "");
  EXPECT_EQ(parent_prefix("p/q/a/", "p/q/"), "p/q/");
  EXPECT_EQ(parent_prefix("p/q/", "p/q/"), "p/q/");
}

TEST(KeyPath, TheNameOfAKeyFollowsItsDirectory) {
  EXPECT_EQ(name_below("a/", "a/b"), "b");
  EXPECT_EQ(name_below("a/", "a/b/"), "b");
  EXPECT_EQ(name_below("", "b"), "b");
  EXPECT_EQ(name_below("a/", "a/"), "");
  EXPECT_EQ(name_below("a/", "a//"), "");
  EXPECT_EQ(name_below("a/", "b"), "");
}

}  // namespace
}  // namespace s3rdmafs::vfs
