// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/opened_inode.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {
namespace {

class OpenedInodeTest : public testing::Test {
 protected:
  OpenedInodeTest() {
    std::ofstream(file_) << "bytes";
    ::stat(file_.c_str(), &status_);
  }
  [[nodiscard]] UniqueFd open(int flags) const { return UniqueFd(::open(file_.c_str(), flags)); }

  const fakes::TemporaryFolder folder_;
  const std::string file_ = folder_.path() / "file";
  struct stat status_{};
};

TEST_F(OpenedInodeTest, IsThatOfAFileThatIsOpenForReading) {
  for (const int flags : {O_RDONLY, O_RDWR}) {
    const auto inode = opened_inode(open(flags).get(), status_.st_dev);
    ASSERT_TRUE(inode) << inode.error().detail;
    EXPECT_EQ(*inode, status_.st_ino);
  }
}

TEST_F(OpenedInodeTest, IsNoneWhereReadingWasNotChecked) {
  for (const int flags : {O_WRONLY, O_PATH}) {
    EXPECT_FALSE(opened_inode(open(flags).get(), status_.st_dev)) << flags;
  }
}

TEST_F(OpenedInodeTest, IsNoneOnAnotherDevice) {
  EXPECT_FALSE(opened_inode(open(O_RDONLY).get(), status_.st_dev + 1));
  EXPECT_FALSE(opened_inode(open(O_RDONLY).get(), 0)) << "before the mount answers";
}

TEST_F(OpenedInodeTest, IsNoneOfADirectory) {
  const UniqueFd directory(::open(folder_.path().c_str(), O_RDONLY));
  EXPECT_FALSE(opened_inode(directory.get(), status_.st_dev));
  EXPECT_FALSE(opened_inode(-1, status_.st_dev));
}

}  // namespace
}  // namespace s3rdmafs::daemon
