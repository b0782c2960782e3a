// SPDX-License-Identifier: Apache-2.0
#include "config/path_glob.h"

#include <gtest/gtest.h>

namespace s3rdmafs::config {
namespace {

bool matches(std::string_view pattern, std::string_view path) {
  return PathGlob::of_mount_file(pattern).matches(path);
}
bool covers(std::string_view pattern, std::string_view path) {
  return PathGlob::anchored(pattern).covers(path);
}

TEST(PathGlob, WithoutASlashIsForANameInAnyDirectory) {
  EXPECT_TRUE(matches("*.bin", "a.bin"));
  EXPECT_TRUE(matches("*.bin", "deep/down/a.bin"));
  EXPECT_TRUE(matches("model.bin", "deep/down/model.bin"));
  EXPECT_FALSE(matches("*.bin", "a.bin.json"));
  EXPECT_FALSE(matches("*.bin", "a.bin/b"));
}

TEST(PathGlob, WithASlashIsForAPathFromTheMountPointOn) {
  EXPECT_TRUE(matches("index/*.bin", "index/a.bin"));
  EXPECT_FALSE(matches("index/*.bin", "a.bin"));
  EXPECT_FALSE(matches("index/*.bin", "old/index/a.bin"));
  EXPECT_FALSE(matches("index/*.bin", "index/old/a.bin")) << "a star ends at a slash";
}

TEST(PathGlob, WithASlashInFrontIsForTheMountPointAlone) {
  EXPECT_TRUE(matches("/*.bin", "a.bin"));
  EXPECT_FALSE(matches("/*.bin", "down/a.bin"));
  EXPECT_TRUE(matches("*.bin", "down/a.bin")) << "the control";
  EXPECT_EQ(PathGlob::of_mount_file("/*.bin").text(), "*.bin");
}

TEST(PathGlob, TwoStarsStandForAnyNumberOfDirectories) {
  EXPECT_TRUE(matches("a/**/z.bin", "a/z.bin"));
  EXPECT_TRUE(matches("a/**/z.bin", "a/b/c/z.bin"));
  EXPECT_FALSE(matches("a/**/z.bin", "b/a/z.bin"));
  EXPECT_FALSE(matches("a/**/z.bin", "a/b/z.bin/c"));
  EXPECT_TRUE(matches("**/b/*.bin", "a/b/x/b/z.bin")) << "the first b is not the one";
  EXPECT_TRUE(matches("**/a/**/b/**/c", "x/a/y/b/a/b/z/c"));
  EXPECT_FALSE(matches("**/a/**/b/**/c", "x/b/y/a/z/c"));
  EXPECT_FALSE(matches("a/b**c", "a/b/c")) << "only a whole component";
}

TEST(PathGlob, TwoStarsAtTheEndAreForWhatIsInTheDirectory) {
  EXPECT_TRUE(matches("a/**", "a/b"));
  EXPECT_TRUE(matches("a/**", "a/b/c"));
  EXPECT_FALSE(matches("a/**", "a"));
  EXPECT_FALSE(covers("a/**", "a"));
  EXPECT_TRUE(covers("a/**", "a/b/c"));
}

TEST(PathGlob, OfManyStarsTakesNoTimeForALongPath) {
  std::string path = "x";
  std::string pattern = "**/x";
  for (int i = 0; i < 500; ++i) path += "/x";
  for (int i = 0; i < 50; ++i) pattern += "/**/x";
  EXPECT_TRUE(matches(pattern, path));
  EXPECT_FALSE(matches(pattern + "/y", path)) << "trying every division would take for ever";
}

TEST(PathGlob, CoversAPathAndAllBelowIt) {
  EXPECT_TRUE(covers("a/b", "a/b"));
  EXPECT_TRUE(covers("a/b", "a/b/c/d"));
  EXPECT_TRUE(covers("", "a/b"));
  EXPECT_FALSE(covers("a/b", "a"));
  EXPECT_FALSE(covers("a/b", "a/bc"));
  EXPECT_TRUE(covers("**/b", "x/b/c"));
  EXPECT_FALSE(covers("**/b", "x/bc"));
}

TEST(PathGlob, IsAnchoredWhereItsUserStandsAtTheMountPoint) {
  EXPECT_TRUE(covers("w/*.bin", "w/x.bin"));
  EXPECT_TRUE(covers("w/*", "w/x/y")) << "below a directory that matches";
  EXPECT_TRUE(covers("w/[ab]?", "w/a1"));
  EXPECT_FALSE(covers("w/*.bin", "w/x/y.bin"));
  EXPECT_FALSE(covers("*.bin", "w/x.bin"));
}

TEST(PathGlob, IsForANameThatLooksLikeAPattern) {
  EXPECT_TRUE(covers("w/x[1]", "w/x[1]"));
  EXPECT_TRUE(covers("w/x\\*", "w/x*"));
  EXPECT_FALSE(covers("w/x\\*", "w/xy")) << "the control";
}

}  // namespace
}  // namespace s3rdmafs::config
