// SPDX-License-Identifier: Apache-2.0
#include "fuse/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

namespace s3rdmafs::fuse {
namespace {

TEST(Process, IsRunningUntilItHasEnded) {
  EXPECT_TRUE(is_running(::getpid()));
  EXPECT_FALSE(is_running(0x7fff'ffff)) << "more than Linux has";
}

TEST(Process, IsFoundByItsFirstThreadAndByAnyOther) {
  EXPECT_EQ(process_of_thread(::getpid()), ::getpid());
  pid_t other = 0;
  vfs::ProcessId found = 0;
  std::thread([&] {
    other = ::gettid();
    found = process_of_thread(other);
  }).join();
  EXPECT_NE(other, ::getpid()) << "the control";
  EXPECT_EQ(found, ::getpid());
  EXPECT_EQ(process_of_thread(0x7fff'ffff), 0x7fff'ffff) << "more than Linux has";
}

TEST(Process, HasADescriptorOfAFileUntilItsLastCopyIsClosed) {
  const int file = ::memfd_create("s3rdmafs-test", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  struct stat status{};
  ASSERT_EQ(::fstat(file, &status), 0);
  const int copy = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  ASSERT_GE(copy, 0);
  EXPECT_TRUE(has_descriptor(::getpid(), status.st_ino));
  ::close(file);
  EXPECT_TRUE(has_descriptor(::getpid(), status.st_ino));
  ::close(copy);
  EXPECT_FALSE(has_descriptor(::getpid(), status.st_ino));
}

TEST(Process, HasNoDescriptorWhereItsFilesAreNotTold) {
  EXPECT_FALSE(has_descriptor(0x7fff'ffff, 1));
}

}  // namespace
}  // namespace s3rdmafs::fuse
