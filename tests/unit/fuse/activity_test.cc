// SPDX-License-Identifier: Apache-2.0
#include "fuse/watch/activity.h"

#include <fcntl.h>

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "fake_mount.h"

namespace s3rdmafs::fuse {
namespace {

const Activity::Thread* find(const Activity::Snapshot& snapshot, pid_t thread) {
  const auto found = std::ranges::find(snapshot.threads, thread, &Activity::Thread::thread);
  return found == snapshot.threads.end() ? nullptr : &*found;
}

TEST(Activity, ShowsOpenFilesAndTheSumsOfTheirThreads) {
  Activity activity;
  activity.opened(1, 100, 7, Activity::Way::kDirect);
  activity.opened(2, 101, 7, Activity::Way::kByKernel);
  activity.opened(3, 100, 8, Activity::Way::kCached);
  activity.read(1, 10);
  activity.read(1, 5);
  activity.wrote(3, 4);
  const Activity::Snapshot open = activity.snapshot();
  EXPECT_EQ(open.files.size(), 3U);
  ASSERT_NE(find(open, 7), nullptr);
  EXPECT_EQ(find(open, 7)->bytes.read, 15U);
  EXPECT_EQ(find(open, 7)->opens, 2U);
  EXPECT_EQ(find(open, 8)->bytes.written, 4U);
  activity.released(1);
  const Activity::Snapshot closed = activity.snapshot();
  EXPECT_EQ(closed.files.size(), 2U);
  EXPECT_EQ(find(closed, 7)->bytes.read, 15U);
}

TEST(Activity, AFileThatIsReadPastFuseIsFoundByItsInode) {
  Activity activity;
  activity.opened(1, 100, 7, Activity::Way::kDirect);
  activity.opened(2, 101, 7, Activity::Way::kDirect);
  const auto openers = activity.openers_of(100);
  ASSERT_EQ(openers.size(), 1U);
  EXPECT_EQ(openers[0].handle, 1U);
  EXPECT_EQ(openers[0].thread, 7);
  activity.gave(1, 10);
  activity.gave(9, 10);
  const Activity::Snapshot open = activity.snapshot();
  const auto file = std::ranges::find(open.files, 1U, &Activity::File::handle);
  ASSERT_NE(file, open.files.end());
  EXPECT_EQ(file->way, Activity::Way::kPastFuse);
  EXPECT_EQ(find(open, 7)->bytes.read, 10U);
}

TEST(Activity, AHandleThatItDoesNotKnowIsPassedOver) {
  Activity activity;
  activity.read(9, 10);
  activity.released(9);
  EXPECT_TRUE(activity.snapshot().files.empty());
}

TEST(Activity, RemembersABoundedNumberOfThreads) {
  Activity activity;
  constexpr std::uint64_t kMany = 10 * Activity::kThreadsMax;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    activity.opened(i, i, static_cast<pid_t>(i), Activity::Way::kCached);
    activity.released(i);
  }
  const Activity::Snapshot snapshot = activity.snapshot();
  EXPECT_LE(snapshot.threads.size(), Activity::kThreadsMax);
  EXPECT_NE(find(snapshot, static_cast<pid_t>(kMany)), nullptr);  // the newest
  EXPECT_EQ(find(snapshot, 1), nullptr);                          // the oldest
}

TEST(Activity, CountsWhatManyThreadsDoAtOnce) {
  Activity activity;
  for (std::uint64_t i = 1; i <= 4; ++i) activity.opened(i, i, 7, Activity::Way::kDirect);
  {
    std::vector<std::jthread> readers;
    for (std::uint64_t i = 1; i <= 4; ++i) {
      readers.emplace_back([&activity, i] {
        for (int n = 0; n < 1000; ++n) activity.read(i, 1);
      });
    }
    for (int n = 0; n < 100; ++n) std::ignore = activity.snapshot();
  }
  const Activity::Snapshot snapshot = activity.snapshot();
  EXPECT_EQ(find(snapshot, 7)->bytes.read, 4000U);
}

TEST(FuseActivity, FollowsAFileFromItsOpenToItsRelease) {
  FakeMount mount;
  mount.store.put("a", "0123456789");
  const vfs::Ino ino = mount.ino_of("a");
  const std::uint64_t handle = mount.open(ino);
  mount.call(request::read(ino, handle, 0, 4));
  mount.call(request::read(ino, handle, 4, 4096));
  const Activity::Snapshot open = mount.context.activity.snapshot();
  ASSERT_EQ(open.files.size(), 1U);
  EXPECT_EQ(open.files[0].ino, ino);
  EXPECT_EQ(open.files[0].bytes.read, 10U);
  EXPECT_EQ(mount.file_system->path_of(ino), "a");
  mount.call(request::release(ino, handle));
  EXPECT_TRUE(mount.context.activity.snapshot().files.empty());
  EXPECT_EQ(mount.file_system->path_of(12345), "");
}

TEST(FuseActivity, CountsWhatIsWritten) {
  FakeMount mount({.is_staged = true});
  const FuseReply created = mount.call(request::create(kRoot, "new", O_WRONLY));
  ASSERT_EQ(created.error, 0);
  const auto handle = created.as<fuse_open_out>(sizeof(fuse_entry_out)).fh;
  const auto ino = created.as<fuse_entry_out>().nodeid;
  mount.call(request::write(ino, handle, 0, "abc"));
  const Activity::Snapshot open = mount.context.activity.snapshot();
  ASSERT_EQ(open.files.size(), 1U);
  EXPECT_EQ(open.files[0].bytes.written, 3U);
  mount.call(request::release(ino, handle));
}

}  // namespace
}  // namespace s3rdmafs::fuse
