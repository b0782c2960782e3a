// SPDX-License-Identifier: Apache-2.0
#include "config/path_glob.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool matches(std::string_view pattern, std::string_view path) {
  return PathGlob::of_mount_file(pattern).matches(path);
}
bool covers(std::string_view pattern, std::string_view path) {
  return PathGlob::anchored(pattern).covers(path);
}

// Those of the paths that the pattern is for.
std::vector<std::string> matched(std::string_view pattern, std::vector<std::string> paths) {
  std::erase_if(paths, [&](const std::string& path) { return !matches(pattern, path); });
  return paths;
}
std::vector<std::string> covered(std::string_view pattern, std::vector<std::string> paths) {
  std::erase_if(paths, [&](const std::string& path) { return !covers(pattern, path); });
  return paths;
}

TEST(PathGlob, WithoutASlashIsForANameInAnyDirectory) {
  EXPECT_THAT(matched("*.bin", {"a.bin", "deep/down/a.bin", "a.bin.json", "a.bin/b"}),
              ElementsAre("a.bin", "deep/down/a.bin"));
  EXPECT_TRUE(matches("model.bin", "deep/down/model.bin"));
}

TEST(PathGlob, WithASlashIsForAPathFromTheMountPointOn) {
  EXPECT_THAT(
      matched("index/*.bin", {"index/a.bin", "a.bin", "old/index/a.bin", "index/old/a.bin"}),
      ElementsAre("index/a.bin"))
      << "a star ends at a slash";
}

TEST(PathGlob, WithASlashInFrontIsForTheMountPointAlone) {
  EXPECT_TRUE(matches("/*.bin", "a.bin"));
  EXPECT_FALSE(matches("/*.bin", "down/a.bin"));
  EXPECT_TRUE(matches("*.bin", "down/a.bin")) << "the control";
  EXPECT_EQ(PathGlob::of_mount_file("/*.bin").text(), "*.bin");
}

TEST(PathGlob, TwoStarsStandForAnyNumberOfDirectories) {
  EXPECT_THAT(matched("a/**/z.bin", {"a/z.bin", "a/b/c/z.bin", "b/a/z.bin", "a/b/z.bin/c"}),
              ElementsAre("a/z.bin", "a/b/c/z.bin"));
  EXPECT_TRUE(matches("**/b/*.bin", "a/b/x/b/z.bin")) << "the first b is not the one";
  EXPECT_THAT(matched("**/a/**/b/**/c", {"x/a/y/b/a/b/z/c", "x/b/y/a/z/c"}),
              ElementsAre("x/a/y/b/a/b/z/c"));
  EXPECT_FALSE(matches("a/b**c", "a/b/c")) << "only a whole component";
}

TEST(PathGlob, TwoStarsAtTheEndAreForWhatIsInTheDirectory) {
  EXPECT_THAT(matched("a/**", {"a", "a/b", "a/b/c"}), ElementsAre("a/b", "a/b/c"));
  EXPECT_THAT(covered("a/**", {"a", "a/b/c"}), ElementsAre("a/b/c"));
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
  EXPECT_THAT(covered("a/b", {"a/b", "a/b/c/d", "a", "a/bc"}), ElementsAre("a/b", "a/b/c/d"));
  EXPECT_TRUE(covers("", "a/b"));
  EXPECT_THAT(covered("**/b", {"x/b/c", "x/bc"}), ElementsAre("x/b/c"));
}

TEST(PathGlob, IsAnchoredWhereItsUserStandsAtTheMountPoint) {
  EXPECT_THAT(covered("w/*.bin", {"w/x.bin", "w/x/y.bin"}), ElementsAre("w/x.bin"));
  EXPECT_TRUE(covers("w/*", "w/x/y")) << "below a directory that matches";
  EXPECT_TRUE(covers("w/[ab]?", "w/a1"));
  EXPECT_THAT(covered("*.bin", {"w/x.bin"}), IsEmpty());
}

TEST(PathGlob, IsForANameThatLooksLikeAPattern) {
  EXPECT_TRUE(covers("w/x[1]", "w/x[1]"));
  EXPECT_TRUE(covers("w/x\\*", "w/x*"));
  EXPECT_FALSE(covers("w/x\\*", "w/xy")) << "the control";
}

}  // namespace
}  // namespace s3rdmafs::config
