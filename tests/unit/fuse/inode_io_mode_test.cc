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
        [this] { ++fills_; }, written_);
  }
  InodeIoModes::Answer mode_to_write(int local_fd = 5, vfs::Ino ino = kIno) {
    return modes_.mode_to_write(
        ino, local_fd, [this](int) { return next_backing_id_++; }, written_);
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
  std::uint64_t local_number_ = 1;
  int closed_backing_id_ = 0;
  const InodeIoModes::Written written_{
      .number = [this] { return local_number_; },
      .close_backing = [this](int id) { closed_backing_id_ = id; }};
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
      kIno, [] { return OpenMode::kCached; }, object_, [](int) { return 0; }, [this] { ++fills_; },
      written_);
  EXPECT_EQ(answer.mode, OpenMode::kCached);
  EXPECT_EQ(answer.backing_id, 0);
  EXPECT_EQ(declined("kernel_refused"), 1U);
  EXPECT_EQ(modes_.release(kIno), 0);
}

TEST_F(InodeIoModesTest, ThePageCacheIsFilledForTheFirstHandleOnly) {
  const auto open_cached = [this] {
    std::ignore = modes_.open(
        kIno, [] { return OpenMode::kCached; }, nullptr, [](int) { return 0; },
        [this] { ++fills_; }, written_);
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
  EXPECT_TRUE(modes_.open_to_write(kIno));
  EXPECT_EQ(mode_to_write(-1).mode, OpenMode::kCached);
  EXPECT_FALSE(modes_.may_pass_through(kIno));
  EXPECT_EQ(open(object_).mode, OpenMode::kCached);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(open(object_).mode, OpenMode::kPassthrough) << "the control";
}

TEST_F(InodeIoModesTest, AWriterTakesTheModeOfReadersButNotPassthrough) {
  std::ignore = open(nullptr);
  EXPECT_TRUE(modes_.open_to_write(kIno));
  EXPECT_EQ(mode_to_write().mode, OpenMode::kDirect);
  std::ignore = open(object_, kIno + 1);
  EXPECT_FALSE(modes_.open_to_write(kIno + 1));
  EXPECT_EQ(modes_.release(kIno + 1), 1) << "the refused writer was not counted";
}

TEST_F(InodeIoModesTest, AnInodeIsPassedThroughToWhatIsWrittenWithOneBackingIdForAllHandles) {
  EXPECT_TRUE(modes_.open_to_write(kIno));
  EXPECT_EQ(mode_to_write().mode, OpenMode::kPassthrough);
  EXPECT_TRUE(modes_.open_to_write(kIno));
  EXPECT_EQ(mode_to_write(-1).backing_id, 1) << "a second writer";
  EXPECT_EQ(open(nullptr).backing_id, 1) << "a reader";
  EXPECT_EQ(mode_to_write().backing_id, 1) << "a writer that empties the file";
  EXPECT_EQ(next_backing_id_, 2);
  EXPECT_EQ(fills_, 0);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(modes_.release(kIno), 1);
}

TEST_F(InodeIoModesTest, AnOpenThatWasCountedBeforeTheLastCloseIsNotPassedThroughToTheFormerFile) {
  EXPECT_TRUE(modes_.open_to_write(kIno));
  EXPECT_EQ(mode_to_write().backing_id, 1);
  EXPECT_TRUE(modes_.open_to_write(kIno)) << "without an answer yet";
  EXPECT_EQ(modes_.release(kIno), 0);
  local_number_ = 2;  // the file system has let the first file go
  EXPECT_EQ(mode_to_write(6).backing_id, 2);
  EXPECT_EQ(closed_backing_id_, 1);
  EXPECT_TRUE(modes_.open_to_write(kIno));
  EXPECT_EQ(modes_.release(kIno), 0);
  local_number_ = 0;
  EXPECT_EQ(open(nullptr).mode, OpenMode::kCached);
  EXPECT_EQ(closed_backing_id_, 2);
  EXPECT_EQ(modes_.release(kIno), 0);
  EXPECT_EQ(modes_.release(kIno), 0);
}

TEST_F(InodeIoModesTest, NoInodeIsPassedThroughToWritesWhereAnotherHandleIsOpenOrTheKernelRefuses) {
  EXPECT_TRUE(modes_.open_to_write(kIno));
  EXPECT_TRUE(modes_.open_to_write(kIno));
  EXPECT_EQ(mode_to_write().mode, OpenMode::kCached);
  next_backing_id_ = -1;
  EXPECT_TRUE(modes_.open_to_write(kIno + 1));
  EXPECT_EQ(mode_to_write(5, kIno + 1).mode, OpenMode::kCached);
  EXPECT_EQ(declined("kernel_refused"), 1U);
  EXPECT_EQ(modes_.release(kIno + 1), 0);
}

}  // namespace
}  // namespace s3rdmafs::fuse
