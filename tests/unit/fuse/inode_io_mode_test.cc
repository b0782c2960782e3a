// SPDX-License-Identifier: Apache-2.0
#include "fuse/inode_io_mode.h"

#include <gtest/gtest.h>

#include "fakes/fake_resident_objects.h"

namespace s3rdmafs::fuse {
namespace {

using Object = std::shared_ptr<const cache::ResidentObject>;

class InodeIoModesTest : public testing::Test {
 protected:
  static constexpr vfs::Ino kIno = 42;

  InodeIoModes::Answer open(const Object& whole, vfs::Ino ino = kIno) {
    return modes_.open(
        ino, [this] { return otherwise_; }, whole, [this](int) { return next_backing_id_++; },
        [this] { ++fills_; });
  }
  std::uint64_t declined(std::string_view reason) {
    return metrics_
        .counter("passthrough_declined_total", "", "reason=\"" + std::string(reason) + "\"")
        .value();
  }

  metrics::Registry metrics_;
  InodeIoModes modes_{metrics_};
  Object object_ = std::make_shared<fakes::FakeResidentObject>(7);
  int next_backing_id_ = 1;
  OpenMode otherwise_ = OpenMode::kDirect;
  int fills_ = 0;
};

TEST_F(InodeIoModesTest, AWholeObjectIsPassedThroughWithOneBackingIdForAllHandles) {
  const auto first = open(object_);
  EXPECT_EQ(first.mode, OpenMode::kPassthrough);
  EXPECT_EQ(first.backing_id, 1);
  EXPECT_EQ(open(object_).backing_id, 1);
  EXPECT_EQ(next_backing_id_, 2) << "the kernel was asked once";
}

TEST_F(InodeIoModesTest, TheBackingIdAndTheObjectAreKeptUntilTheLastHandleIsClosed) {
  std::ignore = open(object_);
  std::ignore = open(object_);
  EXPECT_EQ(object_.use_count(), 2);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(object_.use_count(), 2);
  EXPECT_EQ(modes_.release(kIno), 1);
  EXPECT_EQ(object_.use_count(), 1);
}

TEST_F(InodeIoModesTest, WhileOneHandleIsDirectAllAre) {
  EXPECT_EQ(open(nullptr).mode, OpenMode::kDirect);
  EXPECT_FALSE(modes_.may_pass_through(kIno));
  EXPECT_EQ(open(object_).mode, OpenMode::kDirect);
  EXPECT_EQ(declined("other_mode"), 2U);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_TRUE(modes_.may_pass_through(kIno));
  EXPECT_EQ(open(object_).mode, OpenMode::kPassthrough);
}

TEST_F(InodeIoModesTest, WhileOneHandleIsPassedThroughAllAre) {
  std::ignore = open(object_);
  EXPECT_TRUE(modes_.may_pass_through(kIno));
  const auto second = open(nullptr);  // its fetch failed, but the first one's object is there
  EXPECT_EQ(second.mode, OpenMode::kPassthrough);
  EXPECT_EQ(second.backing_id, 1);
}

TEST_F(InodeIoModesTest, AnotherModeBeginsWithTheFirstHandleAfterTheLastWasClosed) {
  EXPECT_EQ(open(nullptr).mode, OpenMode::kDirect);
  otherwise_ = OpenMode::kCached;
  EXPECT_EQ(open(nullptr).mode, OpenMode::kDirect);
  std::ignore = modes_.release(kIno);
  std::ignore = modes_.release(kIno);
  EXPECT_EQ(open(nullptr).mode, OpenMode::kCached);
}

TEST_F(InodeIoModesTest, EachInodeHasItsOwnMode) {
  EXPECT_EQ(open(nullptr, 1).mode, OpenMode::kDirect);
  EXPECT_EQ(open(object_, 2).mode, OpenMode::kPassthrough);
}

TEST_F(InodeIoModesTest, AFileThatTheKernelRefusesIsReadInTheOtherMode) {
  const auto answer = modes_.open(
      kIno, [] { return OpenMode::kCached; }, object_, [](int) { return 0; }, [this] { ++fills_; });
  EXPECT_EQ(answer.mode, OpenMode::kCached);
  EXPECT_EQ(answer.backing_id, 0);
  EXPECT_EQ(declined("kernel_refused"), 1U);
  EXPECT_EQ(modes_.release(kIno), 0);
}

TEST_F(InodeIoModesTest, ThePageCacheIsFilledForTheFirstHandleOnly) {
  const auto open_cached = [this] {
    std::ignore = modes_.open(
        kIno, [] { return OpenMode::kCached; }, nullptr, [](int) { return 0; },
        [this] { ++fills_; });
  };
  open_cached();
  EXPECT_EQ(fills_, 1);
  open_cached();
  EXPECT_EQ(fills_, 1) << "the first handle may be reading";
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(modes_.release(kIno), 0);
  open_cached();
  EXPECT_EQ(fills_, 2);
}

TEST_F(InodeIoModesTest, ThePageCacheIsNotFilledForReadsThatGoPastIt) {
  std::ignore = open(nullptr);     // direct
  std::ignore = open(object_, 2);  // passed through
  EXPECT_EQ(fills_, 0);
}

TEST_F(InodeIoModesTest, ReleasingAHandleThatWasNotCountedDoesNothing) {
  EXPECT_EQ(modes_.release(kIno), 0);  // as of a file that is written
  EXPECT_TRUE(modes_.may_pass_through(kIno));
}

TEST_F(InodeIoModesTest, AWriterKeepsTheInodeFromBeingPassedThrough) {
  EXPECT_EQ(modes_.open_to_write(kIno), OpenMode::kCached);
  EXPECT_FALSE(modes_.may_pass_through(kIno));
  EXPECT_EQ(open(object_).mode, OpenMode::kCached);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(open(object_).mode, OpenMode::kPassthrough) << "the control";
}

TEST_F(InodeIoModesTest, AWriterTakesTheModeOfReadersButNotPassthrough) {
  std::ignore = open(nullptr);
  EXPECT_EQ(modes_.open_to_write(kIno), OpenMode::kDirect);
  std::ignore = open(object_, kIno + 1);
  EXPECT_FALSE(modes_.open_to_write(kIno + 1));
  EXPECT_EQ(modes_.release(kIno + 1), 1) << "the refused writer was not counted";
}

}  // namespace
}  // namespace s3rdmafs::fuse
