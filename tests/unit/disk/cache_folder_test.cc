// SPDX-License-Identifier: Apache-2.0
#include "disk/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"

namespace s3rdmafs::disk {
namespace {

using testing::HasSubstr;

class CacheFolderTest : public testing::Test {
 protected:
  [[nodiscard]] Result<CacheFolder> open(
      CacheFolder::Purpose purpose = CacheFolder::Purpose::kUse) const {
    return CacheFolder::open(path_, purpose);
  }

  const fakes::TemporaryFolder temporary_;
  const std::string path_ = temporary_.path() / "cache";
};

TEST_F(CacheFolderTest, IsMadeForItsOwnerAlone) {
  const auto folder = open();
  ASSERT_TRUE(folder) << folder.error().detail;
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms::owner_all);
  EXPECT_GT(folder->free_bytes().value_or(0), 0U);
}

TEST_F(CacheFolderTest, IsNotMadeWhereNobodyAsked) {
  const auto folder = open(CacheFolder::Purpose::kLook);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CacheFolderTest, IsHeldByOneAtATimeAndTheErrorNamesTheOther) {
  auto first = open();
  ASSERT_TRUE(first);
  const auto second = open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  EXPECT_THAT(second.error().detail, HasSubstr("in use by another mount"));
  EXPECT_THAT(second.error().detail, HasSubstr(std::to_string(::getpid())));

  first = fail(ErrorCode::kCancelled, "gone");
  EXPECT_TRUE(open()) << "the control: when the first has gone";
}

TEST_F(CacheFolderTest, WhoLooksIsInNobodysWayAndLeavesNothing) {
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  const auto look = open(CacheFolder::Purpose::kLook);
  ASSERT_TRUE(look) << look.error().detail;
  EXPECT_TRUE(std::filesystem::is_empty(path_));
  ASSERT_TRUE(open()) << "now with a lock file there";
  const auto second_look = open(CacheFolder::Purpose::kLook);
  ASSERT_TRUE(second_look);
  const auto user = open();
  ASSERT_TRUE(user) << user.error().detail;

  const auto busy = open(CacheFolder::Purpose::kLook);
  ASSERT_FALSE(busy) << "the control: who looks sees who has it";
  EXPECT_EQ(busy.error().code, ErrorCode::kBusy);
  EXPECT_THAT(busy.error().detail, HasSubstr(std::to_string(::getpid())));
}

TEST_F(CacheFolderTest, IsRefusedIfOthersMayEnterIt) {
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  ASSERT_TRUE(open()) << "the control";
  ASSERT_EQ(::chmod(path_.c_str(), 0750), 0);
  const auto folder = open();
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kAccessDenied);
  EXPECT_THAT(folder.error().detail, HasSubstr("chmod 700 " + path_));
}

TEST_F(CacheFolderTest, IsRefusedIfItIsSomebodyElses) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  ASSERT_EQ(::chown(path_.c_str(), 1, 1), 0);
  const auto folder = open();
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kAccessDenied);
}

TEST_F(CacheFolderTest, IsRefusedIfItIsASymbolicLinkOrNoFolder) {
  const std::filesystem::path target = temporary_.path() / "target";
  ASSERT_EQ(::mkdir(target.c_str(), 0700), 0);
  std::filesystem::create_symlink(target, path_);
  const auto link = open();
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, ErrorCode::kNotDirectory);
  EXPECT_TRUE(std::filesystem::is_empty(target));
}

TEST_F(CacheFolderTest, ALockThatIsASymbolicLinkIsRefused) {
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  std::filesystem::create_symlink(temporary_.path() / "elsewhere", path_ + "/lock");
  EXPECT_FALSE(open());
  EXPECT_FALSE(std::filesystem::exists(temporary_.path() / "elsewhere"));
}

}  // namespace
}  // namespace s3rdmafs::disk
