// SPDX-License-Identifier: Apache-2.0
#include "disk/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::disk {
namespace {

using testing::HasSubstr;

class CacheFolderTest : public testing::Test {
 protected:
  [[nodiscard]] Result<CacheFolder> take() const { return CacheFolder::take(path_, clock_); }
  [[nodiscard]] Result<CacheFolder> look_at() const { return CacheFolder::look_at(path_); }

  fakes::FakeClock clock_;

  const fakes::TemporaryFolder temporary_;
  const std::string path_ = temporary_.path() / "cache";
};

TEST_F(CacheFolderTest, IsMadeForItsOwnerAlone) {
  const auto folder = take();
  ASSERT_TRUE(folder) << folder.error().detail;
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms::owner_all);
  EXPECT_GT(folder->free_bytes().value_or(0), 0U);
}

TEST_F(CacheFolderTest, IsNotMadeByALook) {
  const auto folder = look_at();
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(CacheFolderTest, IsHeldByOneAtATimeAndTheErrorNamesTheOther) {
  auto first = take();
  ASSERT_TRUE(first);
  auto waiting = std::async(std::launch::async, [this] { return take(); });
  while (waiting.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    clock_.advance(std::chrono::seconds(1));
  }
  const auto second = waiting.get();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  EXPECT_THAT(second.error().detail, HasSubstr("in use by another mount"));
  EXPECT_THAT(second.error().detail, HasSubstr(std::to_string(::getpid())));

  first = fail(ErrorCode::kCancelled, "gone");
  EXPECT_TRUE(take()) << "the control: when the first has gone";
}

TEST_F(CacheFolderTest, ALookDoesNotHinderAMountAndLeavesNothing) {
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  const auto look = look_at();
  ASSERT_TRUE(look) << look.error().detail;
  EXPECT_TRUE(std::filesystem::is_empty(path_));
  ASSERT_TRUE(take()) << "now with a lock file there";
  const auto second_look = look_at();
  ASSERT_TRUE(second_look);
  const auto user = take();
  ASSERT_TRUE(user) << user.error().detail;

  const auto busy = look_at();
  ASSERT_FALSE(busy) << "the control: a look tells the holder";
  EXPECT_EQ(busy.error().code, ErrorCode::kBusy);
  EXPECT_THAT(busy.error().detail, HasSubstr(std::to_string(::getpid())));
}

TEST_F(CacheFolderTest, IsRefusedIfOthersMayEnterIt) {
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  ASSERT_TRUE(take()) << "the control";
  ASSERT_EQ(::chmod(path_.c_str(), 0750), 0);
  const auto folder = take();
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kAccessDenied);
  EXPECT_THAT(folder.error().detail, HasSubstr("chmod 700 " + path_));
}

TEST_F(CacheFolderTest, IsRefusedIfAnotherUserOwnsIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  ASSERT_EQ(::chown(path_.c_str(), 1, 1), 0);
  const auto folder = take();
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kAccessDenied);
}

TEST_F(CacheFolderTest, IsRefusedIfItIsASymbolicLinkOrAFile) {
  const std::filesystem::path target = temporary_.path() / "target";
  ASSERT_EQ(::mkdir(target.c_str(), 0700), 0);
  std::filesystem::create_symlink(target, path_);
  const auto link = take();
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, ErrorCode::kNotDirectory);
  EXPECT_TRUE(std::filesystem::is_empty(target));
}

TEST_F(CacheFolderTest, ALockThatIsASymbolicLinkIsRefused) {
  ASSERT_EQ(::mkdir(path_.c_str(), 0700), 0);
  std::filesystem::create_symlink(temporary_.path() / "elsewhere", path_ + "/lock");
  EXPECT_FALSE(take());
  EXPECT_FALSE(std::filesystem::exists(temporary_.path() / "elsewhere"));
}

}  // namespace
}  // namespace s3rdmafs::disk
