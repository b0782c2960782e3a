// SPDX-License-Identifier: Apache-2.0
#include "journal/state_folder.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/temporary_folder.h"
#include "journal/mount_folders.h"

namespace s3rdmafs::journal {
namespace {

class StateFolderTest : public testing::Test {
 protected:
  Result<StateFolder> take(const std::string& path) {
    return StateFolder::take(path, "write.state_dir", clock_);
  }

  fakes::FakeClock clock_;
  fakes::TemporaryFolder temporary_;
  const std::string path_ = temporary_.path().string() + "/some/where/state";
};

TEST_F(StateFolderTest, IsMadeWithTheFoldersAboveItForItsOwnerAlone) {
  const auto folder = take(path_);
  ASSERT_TRUE(folder) << folder.error().detail;
  EXPECT_EQ(folder->path(), path_);
  struct stat status{};
  for (const std::string& made : {path_, std::filesystem::path(path_).parent_path().string()}) {
    ASSERT_EQ(::stat(made.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U) << made;
  }
}

TEST_F(StateFolderTest, BelongsToOneMountAtATime) {
  std::optional<Result<StateFolder>> first = take(path_);
  ASSERT_TRUE(*first);
  std::optional<Result<StateFolder>> second;
  std::atomic<bool> ended = false;
  std::thread taker([&] {
    second = take(path_);
    ended = true;
  });
  while (!ended) {
    clock_.advance(std::chrono::milliseconds(100));
    std::this_thread::yield();
  }
  taker.join();
  ASSERT_FALSE(*second);
  EXPECT_EQ(second->error().code, ErrorCode::kBusy);
  EXPECT_NE(second->error().detail.find("in use by another mount (process " +
                                        std::to_string(::getpid()) + ")"),
            std::string::npos)
      << second->error().detail;
  first.reset();
  EXPECT_TRUE(take(path_)) << "the lock ends with its holder";
}

TEST_F(StateFolderTest, IsRefusedWhereOthersMayEnterIt) {
  ASSERT_TRUE(take(path_));
  ::chmod(path_.c_str(), 0750);
  const auto folder = take(path_);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kAccessDenied);
  EXPECT_NE(folder.error().detail.find("write.state_dir " + path_), std::string::npos);
  EXPECT_NE(folder.error().advice.find("chmod 700"), std::string::npos);
}

TEST_F(StateFolderTest, IsRefusedWhereItIsALinkOrAFileOrNotAbsolute) {
  const std::string link = temporary_.path().string() + "/link";
  std::filesystem::create_directory_symlink("/tmp", link);
  EXPECT_EQ(take(link).error().code, ErrorCode::kNotDirectory);
  EXPECT_EQ(take("state").error().code, ErrorCode::kInvalidArgument);
}

TEST_F(StateFolderTest, ListsItsFiles) {
  const auto folder = take(path_);
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->names().value(), std::vector<std::string>{"lock"});
}

TEST(MountFolders, TellMountsApart) {
  const std::vector<std::string> one{"http://a.example", "bucket", "", "/mnt"};
  const std::vector<std::string> other{"http://a.example", "bucket", "/mnt", ""};
  EXPECT_EQ(mount_name(one), mount_name(one));
  EXPECT_NE(mount_name(one), mount_name(other));
  EXPECT_EQ(mount_name(one).size(), 16U);
  EXPECT_EQ(default_state_folder(0, "x"), "/var/lib/s3rdmafs/x");
  EXPECT_NE(default_staging_folder(1, "x"), default_staging_folder(2, "x"));
}

TEST(MountFolders, KeepAUsersStagedBytesOutOfMemoryThatLogindEmpties) {
  EXPECT_TRUE(default_staging_folder(0, "x").starts_with("/dev/shm/"));
  EXPECT_TRUE(default_staging_folder(999, "x").starts_with("/dev/shm/"));
  EXPECT_EQ(default_staging_folder(1000, "x"), default_state_folder(1000, "x-staged"));
}

TEST(MountFolders, TellMachinesApartByTheirIdOrElseTheirHostName) {
  const fakes::TemporaryFolder folder;
  const std::string file = folder.path().string() + "/machine-id";
  std::array<char, 256> host{};
  ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
  EXPECT_EQ(machine_name(file), host.data()) << "no file";
  std::ofstream(file) << "\n";
  EXPECT_EQ(machine_name(file), host.data()) << "not yet set, as in a fresh image";
  std::ofstream(file) << "0123456789abcdef0123456789abcdef\n";
  EXPECT_EQ(machine_name(file), "0123456789abcdef0123456789abcdef");
}

TEST(MountFolders, FollowTheBaseDirectorySpecification) {
  ::setenv("HOME", "/home/user", 1);
  ::unsetenv("XDG_STATE_HOME");
  EXPECT_EQ(default_state_folder(1000, "x"), "/home/user/.local/state/s3rdmafs/x");
  ::setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(default_state_folder(1000, "x"), "/state/s3rdmafs/x");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  EXPECT_EQ(default_state_folder(1000, "x"), "/home/user/.local/state/s3rdmafs/x");
}

}  // namespace
}  // namespace s3rdmafs::journal
