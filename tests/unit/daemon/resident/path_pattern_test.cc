// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/path_pattern.h"

#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

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

TEST_F(PathInMountTest, RefusesAPathOutside) {
  EXPECT_FALSE(from("/other", "/etc/passwd"));
  EXPECT_FALSE(from("/mnt", "../other"));
  EXPECT_FALSE(from("", folder_ + "/mnt2/a"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
