// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/path_pattern.h"

#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

TEST(PathPattern, StandsForItselfAndAllBelow) {
  EXPECT_TRUE(covers("a/b", "a/b"));
  EXPECT_TRUE(covers("a/b", "a/b/c/d"));
  EXPECT_TRUE(covers("", "a/b"));
  EXPECT_FALSE(covers("a/b", "a"));
  EXPECT_FALSE(covers("a/b", "a/bc"));
}

TEST(PathPattern, AWildcardEndsAtASlash) {
  EXPECT_TRUE(covers("w/*.bin", "w/x.bin"));
  EXPECT_TRUE(covers("w/*", "w/x/y")) << "below a directory that matches";
  EXPECT_TRUE(covers("w/[ab]?", "w/a1"));
  EXPECT_FALSE(covers("w/*.bin", "w/x/y.bin"));
  EXPECT_FALSE(covers("*.bin", "w/x.bin"));
}

TEST(PathPattern, ANameMayLookLikeAPattern) {
  EXPECT_TRUE(covers("w/x[1]", "w/x[1]"));
  EXPECT_TRUE(covers("w/x\\*", "w/x*"));
  EXPECT_FALSE(covers("w/x\\*", "w/xy")) << "the control";
}

class PathInMountTest : public testing::Test {
 protected:
  PathInMountTest() {
    std::filesystem::create_directories(folder_ + "/mnt/a");
    std::filesystem::create_directories(folder_ + "/other");
    std::error_code ignored;
    std::filesystem::create_directory_symlink(folder_ + "/mnt", folder_ + "/link", ignored);
  }
  ~PathInMountTest() override { std::filesystem::remove_all(folder_); }

  Result<std::string> from(const std::string& here, const std::string& argument) {
    return path_in_mount(folder_ + "/mnt", argument, folder_ + here);
  }
  const std::string folder_ = std::filesystem::canonical(testing::TempDir()).string() + "/paths" +
                              std::to_string(::getpid());
};

TEST_F(PathInMountTest, IsRelativeToTheMountPoint) {
  EXPECT_EQ(from("", folder_ + "/mnt/a/b"), "a/b");
  EXPECT_EQ(from("", folder_ + "/mnt/a/"), "a");
  EXPECT_EQ(from("", folder_ + "/mnt"), "");
  EXPECT_EQ(from("", folder_ + "/mnt/*/x.bin"), "*/x.bin");
}

TEST_F(PathInMountTest, BeginsAtTheCurrentDirectoryWhereThatLeadsIntoTheMount) {
  EXPECT_EQ(from("/mnt/a", "b"), "a/b");
  EXPECT_EQ(from("/mnt/a", ".."), "");
  EXPECT_EQ(from("", "mnt/a"), "a");
  EXPECT_EQ(from("", "link/a/b"), "a/b");
}

TEST_F(PathInMountTest, BeginsAtTheMountPointElsewhere) {
  EXPECT_EQ(from("/other", "a/*.bin"), "a/*.bin");
}

TEST_F(PathInMountTest, RefusesWhatIsOutside) {
  EXPECT_FALSE(from("/other", "/etc/passwd"));
  EXPECT_FALSE(from("/mnt", "../other"));
  EXPECT_FALSE(from("", folder_ + "/mnt2/a"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
