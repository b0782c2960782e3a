// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/shared_snapshots.h"

#include <gtest/gtest.h>

#include "answer.h"
#include "snapshot_rig.h"

namespace s3rdmafs::vfs {
namespace {

using Snapshot = std::shared_ptr<DirectorySnapshot>;

class SharedSnapshotsTest : public testing::Test {
 protected:
  static constexpr seconds kFreshFor{10};

  Snapshot get(const std::string& prefix) { return snapshots_.get(rig_.context(), prefix, ""); }
  static void list(const Snapshot& snapshot) {
    snapshot->read(0, 100, {}, [](const Result<std::vector<ListedName>>&) {});
  }

  SnapshotRig rig_;
  fakes::FakeClock& clock_ = rig_.clock;
  fakes::FakeObjectStore& store_ = rig_.store;
  SharedSnapshots snapshots_{kFreshFor};
};

TEST_F(SharedSnapshotsTest, HandlesOfOneDirectoryShareASnapshotWhileItIsFresh) {
  const Snapshot first = get("d/");
  EXPECT_EQ(get("d/"), first);
  EXPECT_NE(get("e/"), first) << "another directory";
  list(first);
  clock_.advance(kFreshFor - std::chrono::milliseconds(1));
  EXPECT_EQ(get("d/"), first);
  clock_.advance(std::chrono::milliseconds(1));
  const Snapshot second = get("d/");
  EXPECT_NE(second, first);
  EXPECT_EQ(get("d/"), second) << "the newest is the one that is shared";
}

TEST_F(SharedSnapshotsTest, ASnapshotNotListedYetIsFreshWheneverItWasOpened) {
  const Snapshot first = get("d/");
  clock_.advance(10 * kFreshFor);
  EXPECT_EQ(get("d/"), first);
}

TEST_F(SharedSnapshotsTest, ASnapshotEndsWithItsLastHandle) {
  std::weak_ptr<DirectorySnapshot> ended;
  {
    const Snapshot first = get("d/");
    const Snapshot same = get("d/");
    ended = first;
    EXPECT_GT(rig_.listing_bytes.value(), 0);
  }
  EXPECT_TRUE(ended.expired());
  EXPECT_EQ(rig_.listing_bytes.value(), 0);
}

TEST_F(SharedSnapshotsTest, ADirectoryThatChangedIsListedAgain) {
  const Snapshot first = get("d/");
  const Snapshot other = get("e/");
  snapshots_.forget("d/");
  EXPECT_NE(get("d/"), first);
  EXPECT_EQ(get("e/"), other) << "the control";
}

TEST_F(SharedSnapshotsTest, ARewoundHandleGetsAListingOfItsOwnAlthoughAnotherReadsAFreshOne) {
  const Snapshot first = get("d/");
  list(first);
  const Snapshot renewed = snapshots_.renew(rig_.context(), "d/", "");
  EXPECT_NE(renewed, first);
  EXPECT_EQ(snapshots_.renew(rig_.context(), "d/", ""), renewed) << "it is not older than now";
  list(renewed);
  EXPECT_NE(snapshots_.renew(rig_.context(), "d/", ""), renewed);
  EXPECT_EQ(get("e/"), get("e/")) << "the control: opens share";
}

TEST_F(SharedSnapshotsTest, AListingThatFailedIsNotShared) {
  store_.fail_next(Operation::kList, 1, ErrorCode::kUnreachable);
  const Snapshot first = get("d/");
  list(first);
  const Snapshot second = get("d/");
  EXPECT_NE(second, first);
  list(second);
  EXPECT_EQ(get("d/"), second) << "the control";
}

TEST_F(SharedSnapshotsTest, ThousandsOfDirectoriesOneAfterAnotherLeaveTheOpenOnesShared) {
  const Snapshot open = get("open/");
  for (int i = 0; i < 5'000; ++i) (void)get(std::to_string(i) + "/");
  EXPECT_EQ(get("open/"), open);
}

}  // namespace
}  // namespace s3rdmafs::vfs
