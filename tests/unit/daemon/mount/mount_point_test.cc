// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/mount_point.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"

namespace s3rdmafs::daemon {
namespace {

using testing::HasSubstr;

class MountPointTest : public testing::Test {
 protected:
  MountPointTest() {
    std::filesystem::create_directory(directory_);
    std::filesystem::create_directory_symlink(directory_, link_);
    std::ofstream(file_).put('x');
  }

  const fakes::TemporaryFolder folder_;
  const std::filesystem::path root_ = std::filesystem::canonical(folder_.path());
  const std::string directory_ = root_ / "directory";
  const std::string link_ = root_ / "link";
  const std::string file_ = root_ / "file";
};

TEST_F(MountPointTest, IsTheAbsolutePathWithoutLinks) {
  EXPECT_EQ(resolve_mount_point(link_), directory_);
  EXPECT_EQ(check_mount_point(link_), directory_);
  EXPECT_EQ(resolve_mount_point(directory_ + "/../directory/"), directory_);
}

TEST_F(MountPointTest, ADirectoryThatDoesNotExistIsToBeCreated) {
  const auto missing = check_mount_point(directory_ + "/missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().detail, HasSubstr("mkdir -p"));
}

TEST_F(MountPointTest, AFileIsRefusedAndSoIsAPathThroughOne) {
  EXPECT_EQ(check_mount_point(file_).error().code, ErrorCode::kNotDirectory);
  EXPECT_EQ(check_mount_point(file_ + "/below").error().code, ErrorCode::kNotDirectory);
  EXPECT_TRUE(resolve_mount_point(file_)) << "only a new mount needs a directory";
}

TEST_F(MountPointTest, APathThatCannotBeLookedUpNamesTheSystemsError) {
  const auto refused = resolve_mount_point(directory_ + "/" + std::string(300, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kSystem);
  EXPECT_THAT(refused.error().detail, HasSubstr("File name too long"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
