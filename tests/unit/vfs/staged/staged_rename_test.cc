// SPDX-License-Identifier: Apache-2.0
// Renames of files that are open to write, and of what lies beside them.
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "staged_rig.h"

namespace s3rdmafs::vfs {
namespace {

class StagedRename : public StagedRig {};

TEST_F(StagedRename, LetsAnOpenFileFollowToItsNewName) {
  const auto handle = open("a");
  write(handle, 0, "so far");
  const Ino ino = bucket_.ino_of("a");
  ASSERT_EQ(error_of(bucket_.rename("a", "b")), "");
  EXPECT_EQ(store_.object("b"), "so far") << "what was pending is stored first";
  EXPECT_EQ(bucket_.ino_of("b"), ino);
  write(handle, 3, "now");
  EXPECT_EQ(read(handle), "so now");
  EXPECT_EQ(bucket_.ino_of("b"), ino);
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("b"), "so now");
  EXPECT_FALSE(store_.object("a"));
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "a")), "NotFound");
  EXPECT_TRUE(has_nothing_staged());
}

TEST_F(StagedRename, LetsHandlesOfEveryKindFollow) {
  store_.put("a", "0123456789");
  const auto reader = open_to_read("a");
  const auto writer = open("a");
  ASSERT_EQ(error_of(bucket_.rename("a", "b")), "");
  write(writer, 0, "x");
  EXPECT_EQ(read(reader), "x123456789") << "the other bytes come from the copy";
  EXPECT_EQ(close(writer), "");
  EXPECT_EQ(store_.object("b"), "x123456789");
  fs_.release(reader);
  EXPECT_TRUE(has_nothing_staged());
}

TEST_F(StagedRename, StoresNothingBetweenTheCopyAndTheRemoval) {
  const auto handle = open("a");
  write(handle, 0, "one");
  ASSERT_EQ(error_of(bucket_.sync(handle)), "");
  store_.hold();
  Later<void> renamed;
  fs_.rename(kRootIno, "a", kRootIno, "b", false, renamed.done());
  Later<void> written;
  fs_.write(handle, 0, std::as_bytes(std::span("two", 3)), {}, written.done());
  Later<void> synced;
  fs_.sync(handle, synced.done());
  const auto waits = [this] { return !store_.held().empty(); };
  while (fakes::eventually(waits) && store_.held().front().operation != StoreOperation::kRemove) {
    ASSERT_TRUE(store_.release());
  }
  ASSERT_EQ(store_.held().size(), 1U) << "the removal waits, and no store is beside it";
  EXPECT_FALSE(written.has_come());
  store_.release_all();
  EXPECT_EQ(error_of(renamed.get()), "");
  EXPECT_EQ(error_of(written.get()), "");
  EXPECT_EQ(error_of(synced.get()), "");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("b"), "two");
  EXPECT_FALSE(store_.object("a"));
}

TEST_F(StagedRename, IsNotOverwrittenByAFileThatHadTheNewName) {
  store_.put("a", "renamed");
  const auto handle = open("b");
  write(handle, 0, "written");
  ASSERT_EQ(error_of(bucket_.rename("a", "b")), "");
  EXPECT_EQ(read(handle), "written") << "as after unlink(2)";
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("b"), "renamed");
  EXPECT_EQ(read(open_to_read("b")), "renamed");
  EXPECT_TRUE(has_nothing_staged());
}

TEST_F(StagedRename, ThatFailsCostsTheFilesOfBothNamesNothing) {
  const auto from = open("a");
  const auto to = open("b");
  write(from, 0, "from");
  write(to, 0, "to");
  store_.fail_next(StoreOperation::kCopy, 1, ErrorCode::kServerError);
  EXPECT_EQ(error_of(bucket_.rename("a", "b")), "ServerError");
  write(from, 4, "!");
  EXPECT_EQ(close(from), "");
  EXPECT_EQ(close(to), "");
  EXPECT_EQ(store_.object("a"), "from!");
  EXPECT_EQ(store_.object("b"), "to");
}

TEST_F(StagedRename, RefusesToReplaceAFileThatIsNotStoredYetWhereThatIsForbidden) {
  store_.put("a", "bytes");
  const auto handle = open("b");
  EXPECT_EQ(error_of(bucket_.rename("a", "b", /*must_be_new=*/true)), "Exists");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("a"), "bytes");
}

TEST_F(StagedRename, OfAnotherClientsVersionLeavesTheStagedBytesBehind) {
  store_.put("a", "base");
  const auto handle = open("a");
  write(handle, 0, "mine");
  store_.put("a", "theirs");
  EXPECT_EQ(error_of(bucket_.rename("a", "b")), "Stale") << "what is pending cannot be stored";
  EXPECT_EQ(error_of(bucket_.rename("a", "b")), "");
  EXPECT_EQ(close(handle), "Stale");
  EXPECT_EQ(store_.object("b"), "theirs");
  EXPECT_GT(staged_bytes(), 0U) << "for s3rdmafs recover";
}

// The callback runs as soon as a program can hear of the failure.
TEST_F(StagedRename, LeavesAFileWhoseStoreFailedToRecoverHoweverSoonItFollowsTheClose) {
  for (const bool is_open : {true, false}) {  // the first is the control
    store_.put("other", "theirs");
    bucket_.ino_of("other");
    const auto handle = open("file", /*truncate=*/true);
    write(handle, 0, "ours");
    store_.fail_next(StoreOperation::kPut, 1, ErrorCode::kAccessDenied);
    Later<void> renamed;
    fs_.sync(handle, [&](const Result<void>& synced) {
      EXPECT_FALSE(synced);
      if (!is_open) fs_.release(handle);
      fs_.rename(kRootIno, "other", kRootIno, "file", false, renamed.done());
    });
    EXPECT_EQ(error_of(renamed.get()), "");
    if (is_open) fs_.release(handle);
    EXPECT_EQ(store_.object("file"), "theirs");
    EXPECT_TRUE(fakes::eventually([&] { return (staged_bytes() == 0) == is_open; }));
  }
}

TEST_F(StagedRename, OfADirectoryLetsTheOpenFilesBelowFollow) {
  store_.put("d/old", "0123");
  const Ino directory = bucket_.ino_of("d");
  const auto created = bucket_.create(directory, "new");
  ASSERT_TRUE(created);
  write(created->file.handle, 0, "new");
  const auto changed = bucket_.open_by_name(directory, "old", false, WritableBucket::kProcess);
  ASSERT_TRUE(changed);
  write(*changed, 0, "a");
  ASSERT_EQ(error_of(bucket_.rename("d", "e")), "");
  EXPECT_EQ(store_.object("e/new"), "new");
  EXPECT_EQ(store_.object("e/old"), "a123");
  write(created->file.handle, 0, "N");
  write(*changed, 3, "z");
  EXPECT_EQ(close(created->file.handle), "");
  EXPECT_EQ(close(*changed), "");
  EXPECT_EQ(store_.object("e/new"), "New");
  EXPECT_EQ(store_.object("e/old"), "a12z");
  EXPECT_FALSE(store_.object("d/new"));
  EXPECT_FALSE(store_.object("d/old"));
  EXPECT_TRUE(has_nothing_staged());
}

// The kernel's names

TEST_F(StagedRename, TheKernelKeepsNoNameOfAFileThatIsOpenToWrite) {
  store_.put("file", "bytes");
  const auto handle = open("file");
  const auto valid_for = [this] { return bucket_.lookup(kRootIno, "file")->valid_for.count(); };
  EXPECT_EQ(valid_for(), 0) << "its store may fail, and the name stand for another inode";
  write(handle, 0, "B");
  EXPECT_EQ(valid_for(), 0);
  EXPECT_EQ(close(handle), "");
  ASSERT_TRUE(has_nothing_staged());
  bucket_.clock.advance(std::chrono::milliseconds(1));
  EXPECT_GT(valid_for(), 0);
}

}  // namespace
}  // namespace s3rdmafs::vfs
