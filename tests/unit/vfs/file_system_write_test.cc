// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gtest/gtest.h>

#include "vfs/file_system.h"
#include "writable_bucket.h"

namespace s3rdmafs::vfs {
namespace {

class FileSystemWrite : public testing::Test {
 protected:
  std::uint64_t open_truncated(std::string_view name) {
    const auto handle = bucket_.open_truncated(kRootIno, name);
    EXPECT_TRUE(handle) << handle.error().detail;
    return handle.value_or(0);
  }
  std::uint64_t size_of(std::string_view name) {
    const auto found = bucket_.lookup(kRootIno, name);
    return found ? found->attributes.size_bytes : 0;
  }
  std::string_view open_error(std::string_view name) {
    Answer<OpenFile> answer;
    bucket_.fs.open(bucket_.lookup(kRootIno, name).value().attributes.ino, {}, answer.done());
    return answer.error();
  }

  WritableBucket bucket_;
  fakes::FakeObjectStore& store_ = bucket_.store;
  FileSystem& fs_ = bucket_.fs;
};

TEST_F(FileSystemWrite, ShowsAFileWithItsSizeSoFarAndStoresItWithSync) {
  const auto handle = open_truncated("file");
  EXPECT_EQ(size_of("file"), 0U);
  EXPECT_EQ(error_of(bucket_.write(handle, 0, "some ")), "");
  EXPECT_EQ(error_of(bucket_.write(handle, 5, "bytes")), "");
  EXPECT_EQ(size_of("file"), 10U);
  EXPECT_FALSE(store_.object("file"));
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  EXPECT_EQ(store_.object("file"), "some bytes");
}

TEST_F(FileSystemWrite, LetsTheNameStandForTheNewVersionAtOnce) {
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound") << "now known not to be there";
  const auto handle = open_truncated("file");
  const Ino written = bucket_.lookup(kRootIno, "file")->attributes.ino;
  bucket_.write(handle, 0, "x").value();
  bucket_.sync(handle).value();
  const auto found = bucket_.lookup(kRootIno, "file");
  ASSERT_TRUE(found);
  EXPECT_NE(found->attributes.ino, written);
  EXPECT_FALSE(found->attributes.is_being_written);
  EXPECT_EQ(found->attributes.size_bytes, 1U);
  EXPECT_EQ(fs_.attributes(written)->size_bytes, 1U) << "for fstat(2) of who still has it open";
  EXPECT_EQ(open_error("file"), "");
}

TEST_F(FileSystemWrite, KeepsTheOldVersionForItsReadersAndForTheBucketUntilSync) {
  store_.put("file", "old");
  const Ino old = bucket_.lookup(kRootIno, "file")->attributes.ino;
  const auto handle = open_truncated("file");
  bucket_.write(handle, 0, "newer").value();
  EXPECT_EQ(store_.object("file"), "old");
  EXPECT_EQ(fs_.attributes(old)->size_bytes, 3U);
  EXPECT_EQ(size_of("file"), 5U);
  bucket_.sync(handle).value();
  EXPECT_EQ(store_.object("file"), "newer");
}

TEST_F(FileSystemWrite, LetsOneHandleWriteAFileAndNoneReadItMeanwhile) {
  const auto handle = open_truncated("file");
  EXPECT_EQ(error_of(bucket_.open_truncated(kRootIno, "file")), "Busy");
  EXPECT_EQ(error_of(bucket_.create(kRootIno, "file")), "Busy");
  EXPECT_EQ(open_error("file"), "Busy");
  fs_.release(handle);
  EXPECT_EQ(error_of(bucket_.open_truncated(kRootIno, "file")), "");
}

TEST_F(FileSystemWrite, DropsAReservationThatIsNotClaimed) {
  store_.put("file", "old");
  const Ino old = bucket_.lookup(kRootIno, "file")->attributes.ino;
  EXPECT_EQ(error_of(bucket_.open_to_write(old, true)), "Stale");
  EXPECT_EQ(size_of("file"), 0U) << "the control: it is there";
  bucket_.clock.advance(std::chrono::seconds(6));
  EXPECT_EQ(size_of("file"), 3U);
}

TEST_F(FileSystemWrite, OpensForWritingWithoutTruncatingOnlyEmptyFiles) {
  store_.put("file", "old");
  store_.put("empty", "");
  const Ino file = bucket_.lookup(kRootIno, "file")->attributes.ino;
  const Ino empty = bucket_.lookup(kRootIno, "empty")->attributes.ino;
  EXPECT_EQ(error_of(bucket_.open_to_write(file, false)), "SequentialOnly");
  EXPECT_EQ(error_of(bucket_.open_to_write(empty, false)), "Stale") << "to be looked up again";
}

TEST_F(FileSystemWrite, CreatesExclusivelyByAskingTheStore) {
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
  store_.put("file", "theirs");
  EXPECT_EQ(error_of(bucket_.create(kRootIno, "file", {.is_exclusive = true})), "Exists");
  EXPECT_EQ(size_of("file"), 6U);
}

TEST_F(FileSystemWrite, ReportsTheErrorAtSyncAndShowsTheStoresVersion) {
  store_.put("file", "old");
  const auto handle = open_truncated("file");
  bucket_.write(handle, 0, "newer").value();
  store_.fail_next(fakes::FakeObjectStore::Operation::kPut, 1, ErrorCode::kUnreachable);
  EXPECT_EQ(error_of(bucket_.sync(handle)), "Unreachable");
  EXPECT_EQ(size_of("file"), 3U);
  fs_.release(handle);
  EXPECT_EQ(store_.object("file"), "old");
}

TEST_F(FileSystemWrite, StoresAtReleaseBytesThatWereNotSynced) {
  const auto handle = open_truncated("file");
  bucket_.write(handle, 0, "x").value();
  fs_.release(handle);
  EXPECT_EQ(store_.object("file"), "x");
}

TEST_F(FileSystemWrite, StoresNothingTwice) {
  const auto handle = open_truncated("file");
  bucket_.write(handle, 0, "x").value();
  bucket_.sync(handle).value();
  fs_.release(handle);
  EXPECT_EQ(store_.count(fakes::FakeObjectStore::Operation::kPut), 1U);
}

TEST_F(FileSystemWrite, LeavesTheNameToTheVersionWhenALargeFileIsWrittenOnAfterSync) {
  const std::string large(2 * WritableBucket::kPart, 'x');
  const auto handle = open_truncated("file");
  bucket_.write(handle, 0, large).value();
  bucket_.sync(handle).value();
  EXPECT_EQ(error_of(bucket_.write(handle, large.size(), "more")), "SequentialOnly");
  EXPECT_EQ(open_error("file"), "") << "not busy";
  fs_.release(handle);
  EXPECT_EQ(store_.object("file"), large);
}

TEST_F(FileSystemWrite, CutsAFileToNothingAndToNothingElse) {
  store_.put("file", "old");
  const Ino ino = bucket_.lookup(kRootIno, "file")->attributes.ino;
  EXPECT_EQ(error_of(bucket_.truncate(ino, 3)), "");
  EXPECT_EQ(error_of(bucket_.truncate(ino, 2)), "SequentialOnly");
  EXPECT_EQ(store_.object("file"), "old");
  EXPECT_EQ(error_of(bucket_.truncate(ino, 0)), "Stale") << "done, and the kernel looks again";
  EXPECT_EQ(store_.object("file"), "");
  EXPECT_EQ(error_of(bucket_.truncate(bucket_.lookup(kRootIno, "file")->attributes.ino, 0)), "");
}

TEST_F(FileSystemWrite, RemovesAFileThatIsBeingWrittenForGood) {
  store_.put("file", "old");
  const auto handle = open_truncated("file");
  bucket_.write(handle, 0, std::string(3 * WritableBucket::kPart, 'x')).value();
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "file")), "");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
  EXPECT_EQ(error_of(bucket_.write(handle, 3 * WritableBucket::kPart, "x")), "");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
  fs_.release(handle);
  EXPECT_FALSE(store_.object("file"));
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(FileSystemWrite, MakesAndRemovesDirectories) {
  const auto made = bucket_.mkdir(kRootIno, "d");
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->attributes.is_directory);
  EXPECT_EQ(store_.object("d/"), "");
  EXPECT_EQ(error_of(bucket_.mkdir(kRootIno, "d")), "Exists");
  const auto handle = bucket_.open_truncated(made->attributes.ino, "file").value();
  EXPECT_EQ(error_of(bucket_.rmdir(kRootIno, "d")), "NotEmpty") << "a file is being written there";
  fs_.release(handle);
  EXPECT_EQ(error_of(bucket_.rmdir(kRootIno, "d")), "NotEmpty");
  EXPECT_EQ(error_of(bucket_.unlink(made->attributes.ino, "file")), "");
  EXPECT_EQ(error_of(bucket_.rmdir(kRootIno, "d")), "");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "d")), "NotFound");
}

TEST_F(FileSystemWrite, AnOpenOfADirectoryAfterAChangeSeesItAlthoughAnotherHandleIsOpen) {
  const auto names = [&](std::uint64_t handle) {
    return bucket_.read_directory(handle, 0, 100).value().size();
  };
  const std::uint64_t open = fs_.open_directory(kRootIno).value();
  EXPECT_EQ(names(open), 2U);
  const auto file = open_truncated("file");
  bucket_.sync(file).value();
  const std::uint64_t after_file = fs_.open_directory(kRootIno).value();
  EXPECT_EQ(names(after_file), 3U);
  bucket_.mkdir(kRootIno, "d").value();
  EXPECT_EQ(names(after_file), 4U) << "rewound";
  bucket_.unlink(kRootIno, "file").value();
  EXPECT_EQ(names(open), 3U) << "rewound";
  for (const std::uint64_t handle : {open, after_file}) fs_.release_directory(handle);
  fs_.release(file);
}

// The time-out of a request says nothing about what the server did.
TEST_F(FileSystemWrite, BelievesNothingOfAFileWhoseTruncationTimedOut) {
  store_.put("file", "old");
  const Ino version = bucket_.ino_of("file");
  store_.fail_next(Operation::kPut, 1, ErrorCode::kTimedOut);
  EXPECT_EQ(error_of(bucket_.truncate(version, 0)), "TimedOut");
  store_.put("file", "");
  bucket_.clock.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(bucket_.lookup(kRootIno, "file")->attributes.size_bytes, 0U);
}

TEST_F(FileSystemWrite, BelievesNoAbsenceOfADirectoryThatItCouldNotMake) {
  ASSERT_EQ(error_of(bucket_.lookup(kRootIno, "d")), "NotFound");
  store_.put("d/", "");  // by another mount
  EXPECT_EQ(error_of(bucket_.mkdir(kRootIno, "d")), "Exists");
  bucket_.clock.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "d")), "");
}

TEST_F(FileSystemWrite, BelievesNoAnswerThatWasAskedForBeforeAChange) {
  store_.hold();
  Answer<Entry> early;
  fs_.lookup(kRootIno, "d", {}, early.done());
  ASSERT_EQ(store_.held().size(), 2U);
  store_.release(0);
  store_.release(0);  // it is not there
  Answer<Entry> asked_before;
  fs_.lookup(kRootIno, "e", {}, asked_before.done());
  const std::size_t questions = store_.held().size();
  Answer<Entry> made;
  fs_.make_directory(kRootIno, "d", {}, made.done());
  bucket_.clock.advance(std::chrono::milliseconds(1));
  store_.release_all();
  EXPECT_EQ(questions, 2U);
  EXPECT_EQ(made.error(), "");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "d")), "");
}

TEST_F(FileSystemWrite, GivesUpOpenFilesWhenTheMountEnds) {
  const auto closed = open_truncated("closed");
  bucket_.write(closed, 0, "x").value();
  fs_.release(closed);
  const auto open = open_truncated("open");
  bucket_.write(open, 0, std::string(3 * WritableBucket::kPart, 'x')).value();
  fs_.end_writes(std::chrono::steady_clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(error_of(bucket_.sync(open)), "Cancelled");
  EXPECT_EQ(store_.object("closed"), "x");
  EXPECT_FALSE(store_.object("open"));
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST(ReadOnlyFileSystem, RefusesEveryChange) {
  MountedBucket bucket;
  bucket.store.put("file", "x");
  const Ino file = bucket.lookup(kRootIno, "file")->attributes.ino;
  Answer<CreatedFile> created;
  bucket.fs.create(kRootIno, "new", {}, 1, {}, created.done());
  EXPECT_EQ(created.error(), "ReadOnly");
  Answer<OpenFile> opened;
  bucket.fs.open_to_write(file, {.truncates = true}, 1, {}, opened.done());
  EXPECT_EQ(opened.error(), "ReadOnly");
  Answer<void> done;
  bucket.fs.truncate(file, 0, true, {}, done.done());
  EXPECT_EQ(done.error(), "ReadOnly");
  Answer<void> removed;
  bucket.fs.unlink(kRootIno, "file", {}, removed.done());
  EXPECT_EQ(removed.error(), "ReadOnly");
  Answer<Entry> made;
  bucket.fs.make_directory(kRootIno, "d", {}, made.done());
  EXPECT_EQ(made.error(), "ReadOnly");
  Answer<void> gone;
  bucket.fs.remove_directory(kRootIno, "d", {}, gone.done());
  EXPECT_EQ(gone.error(), "ReadOnly");
}

}  // namespace
}  // namespace s3rdmafs::vfs
