// SPDX-License-Identifier: Apache-2.0
// Other clients, and other handles of this mount, change what this mount has seen or stored: their
// bytes stay, and what they removed stays away.
#include <string>

#include <gtest/gtest.h>

#include "vfs/file_system.h"
#include "writable_bucket.h"

namespace s3rdmafs::vfs {
namespace {

class OtherClients : public testing::Test {
 protected:
  std::uint64_t must(const Result<std::uint64_t>& opened) {
    EXPECT_TRUE(opened) << opened.error().detail;
    return opened.value_or(0);
  }
  /// A handle whose file "file" has the bytes "some", which the store has.
  std::uint64_t synced_file() {
    const auto handle = must(bucket_.open_truncated(kRootIno, "file"));
    bucket_.write(handle, 0, "some").value();
    bucket_.sync(handle).value();
    return handle;
  }
  Ino known(std::string_view name) { return bucket_.lookup(kRootIno, name)->attributes.ino; }

  WritableBucket bucket_;
  fakes::FakeObjectStore& store_ = bucket_.store;
  FileSystem& fs_ = bucket_.fs;
};

// --- An open that relies on an old answer ---

TEST_F(OtherClients, AppendingToAFileKnownAsEmptyAsksTheStoreFirst) {
  store_.put("file", "");
  known("file");
  store_.put("file", "theirs");
  EXPECT_EQ(error_of(bucket_.open_to_append(kRootIno, "file")), "SequentialOnly");
  EXPECT_EQ(store_.object("file"), "theirs");
  EXPECT_EQ(bucket_.lookup(kRootIno, "file")->attributes.size_bytes, 6U) << "and now it is known";
}

TEST_F(OtherClients, AppendingToAFileKnownAsAbsentAsksTheStoreFirst) {
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
  store_.put("file", "theirs");
  EXPECT_EQ(error_of(bucket_.open_to_append(kRootIno, "file")), "SequentialOnly");
  EXPECT_EQ(store_.object("file"), "theirs");
}

TEST_F(OtherClients, AppendingToAFileThatIsEmptyReplacesIt) {
  store_.put("file", "");
  const auto handle = must(bucket_.open_to_append(kRootIno, "file"));
  EXPECT_EQ(error_of(bucket_.write(handle, 0, "ours")), "");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  EXPECT_EQ(store_.object("file"), "ours");
}

TEST_F(OtherClients, AppendingToAFileThatWasRemovedCreatesItAgain) {
  store_.put("file", "");
  const Ino ino = known("file");
  store_.remove("file");
  EXPECT_EQ(error_of(bucket_.open_to_write(ino, /*truncate=*/false)), "Stale");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound") << "so the kernel creates it";
}

TEST_F(OtherClients, OpeningAnEmptyFileAndClosingItStoresNothing) {
  store_.put("file", "");
  const auto handle = must(bucket_.open_to_append(kRootIno, "file"));
  store_.put("file", "theirs");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  fs_.release(handle);
  EXPECT_EQ(store_.object("file"), "theirs");
  EXPECT_EQ(store_.count(Operation::kPut), 0U);
}

TEST_F(OtherClients, AWriteThatChangesNothingLeavesTheNameToTheFileItStandsFor) {
  store_.put("file", "");
  const auto handle = must(bucket_.open_to_append(kRootIno, "file"));
  bucket_.write(handle, 0, "").value();
  EXPECT_EQ(error_of(bucket_.write(handle, 7, "elsewhere")), "SequentialOnly");
  const auto other = bucket_.open_to_append(kRootIno, "file", WritableBucket::kProcess + 1);
  EXPECT_EQ(error_of(other), "Busy") << "the file is still open for writing";
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
}

TEST_F(OtherClients, BytesAppendedToAnEmptyFileDoNotReplaceALaterVersion) {
  store_.put("file", "");
  const auto handle = must(bucket_.open_to_append(kRootIno, "file"));
  bucket_.write(handle, 0, "ours").value();
  store_.put("file", "theirs");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "Stale");
  fs_.release(handle);
  EXPECT_EQ(store_.object("file"), "theirs");
}

TEST_F(OtherClients, ANewFileDoesNotReplaceALaterVersion) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, 3 * WritableBucket::kPart}) {
    const std::string name = "file" + std::to_string(size);
    const auto handle = must(bucket_.open_to_append(kRootIno, name));
    bucket_.write(handle, 0, std::string(size, 'x')).value();
    store_.put(name, "theirs");
    EXPECT_EQ(error_of(bucket_.sync(handle)), "Stale") << size;
    fs_.release(handle);
    EXPECT_EQ(store_.object(name), "theirs") << size;
  }
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(OtherClients, StoringAsksForNothingThatTheStoreAsksItself) {
  for (const std::string kind : {"new", "empty"}) {
    for (const std::size_t size : {std::size_t{10}, 3 * WritableBucket::kPart}) {
      const std::string name = kind + std::to_string(size);
      if (kind == "empty") store_.put(name, "");
      const auto handle = must(bucket_.open_to_append(kRootIno, name));
      bucket_.write(handle, 0, std::string(size, 'x')).value();
      store_.forget_calls();
      EXPECT_EQ(error_of(bucket_.sync(handle)), "") << name;
      EXPECT_EQ(store_.count(Operation::kHead), 0U) << name << ", " << size << " bytes";
      fs_.release(handle);
    }
  }
}

TEST_F(OtherClients, AFileOpenedWithTruncationReplacesAnyVersion) {
  for (const std::size_t size : {std::size_t{10}, 3 * WritableBucket::kPart}) {
    const auto handle = must(bucket_.open_truncated(kRootIno, "file"));
    bucket_.write(handle, 0, std::string(size, 'x')).value();
    store_.put("file", "theirs");
    EXPECT_EQ(error_of(bucket_.sync(handle)), "");
    fs_.release(handle);
    EXPECT_EQ(store_.object("file"), std::string(size, 'x'));
  }
}

TEST_F(OtherClients, AFileIsNotStoredWithoutItsConditionAfterAnError) {
  const auto handle = must(bucket_.open_to_append(kRootIno, "file"));
  bucket_.write(handle, 0, "ours").value();
  store_.fail_next(Operation::kPut, 1, ErrorCode::kUnsupported);
  EXPECT_EQ(error_of(bucket_.sync(handle)), "Unsupported");
  fs_.release(handle);
  EXPECT_FALSE(store_.object("file"));
}

// --- truncate(2) ---

TEST_F(OtherClients, TruncatingToAnOldSizeFails) {
  store_.put("file", "old");
  const Ino ino = known("file");
  store_.put("file", "longer");
  EXPECT_EQ(error_of(bucket_.truncate(ino, 3)), "SequentialOnly");
  EXPECT_EQ(store_.object("file"), "longer");
}

TEST_F(OtherClients, TruncatingToNothingEmptiesAFileThatWasKnownAsEmpty) {
  store_.put("file", "");
  const Ino ino = known("file");
  store_.put("file", "longer");
  EXPECT_EQ(error_of(bucket_.truncate(ino, 0)), "Stale") << "done, and the kernel looks again";
  EXPECT_EQ(store_.object("file"), "");
  EXPECT_EQ(error_of(bucket_.truncate(known("file"), 0)), "");
}

TEST_F(OtherClients, TruncatingToTheSizeThatTheFileHasByNowSucceedsWhenTheKernelLooksAgain) {
  store_.put("file", "old");
  const Ino ino = known("file");
  store_.put("file", "longer");
  EXPECT_EQ(error_of(bucket_.truncate(ino, 6)), "Stale");
  EXPECT_EQ(error_of(bucket_.truncate(known("file"), 6)), "");
  EXPECT_EQ(store_.object("file"), "longer");
}

TEST_F(OtherClients, TruncatingAFileThatIsGoneDoesNotBringItBack) {
  store_.put("file", "old");
  const Ino ino = known("file");
  store_.remove("file");
  EXPECT_EQ(error_of(bucket_.truncate(ino, 0)), "Stale");
  EXPECT_FALSE(store_.object("file"));
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
}

TEST_F(OtherClients, TruncatingTellsThatTheStoreCouldNotBeAsked) {
  store_.put("file", "old");
  const Ino ino = known("file");
  store_.fail_next(Operation::kHead, 1, ErrorCode::kUnreachable);
  EXPECT_EQ(error_of(bucket_.truncate(ino, 3)), "Unreachable");
}

TEST_F(OtherClients, AFileThatIsNoLongerWrittenIsNotTruncatedThroughItsOldInode) {
  const auto handle = must(bucket_.open_truncated(kRootIno, "file"));
  const Ino written = known("file");
  bucket_.write(handle, 0, "some").value();
  bucket_.sync(handle).value();
  fs_.release(handle);
  EXPECT_EQ(error_of(bucket_.truncate(written, 4)), "Stale");
  EXPECT_EQ(error_of(bucket_.truncate(written, 0)), "Stale");
  EXPECT_EQ(store_.object("file"), "some");
}

// --- A handle that goes on after a sync ---

TEST_F(OtherClients, ARemovedFileStaysAwayThoughItsHandleGoesOn) {
  const auto handle = synced_file();
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "file")), "");
  EXPECT_EQ(error_of(bucket_.write(handle, 4, "more")), "");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  fs_.release(handle);
  EXPECT_FALSE(store_.object("file"));
}

TEST_F(OtherClients, ARemovedFileStaysAwayThoughItsHandleTruncatesIt) {
  const auto handle = must(bucket_.open_truncated(kRootIno, "file"));
  const Ino written = known("file");
  bucket_.write(handle, 0, "some").value();
  bucket_.sync(handle).value();
  bucket_.unlink(kRootIno, "file").value();
  EXPECT_EQ(error_of(bucket_.truncate(written, 0)), "");
  EXPECT_EQ(error_of(bucket_.write(handle, 0, "anew")), "");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  fs_.release(handle);
  EXPECT_FALSE(store_.object("file"));
}

TEST_F(OtherClients, AHandleThatGoesOnStoresItsOwnFileAgain) {
  const auto handle = must(bucket_.open_truncated(kRootIno, "file"));
  for (const std::string_view text : {"", "some", "more"}) {
    const std::uint64_t end = store_.object("file").value_or("").size();
    bucket_.write(handle, end, text).value();
    EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  }
  EXPECT_EQ(error_of(bucket_.truncate(known("file"), 8)), "");
  fs_.release(handle);
  EXPECT_EQ(store_.object("file"), "somemore");
}

TEST_F(OtherClients, AHandleThatGoesOnDoesNotReplaceAnotherClientsObject) {
  const auto handle = synced_file();
  store_.put("file", "theirs");
  EXPECT_EQ(error_of(bucket_.write(handle, 4, "more")), "");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "Stale");
  fs_.release(handle);
  EXPECT_EQ(store_.object("file"), "theirs");
}

TEST_F(OtherClients, AHandleThatGoesOnDoesNotBringBackARemovedObject) {
  const auto handle = synced_file();
  store_.remove("file");
  bucket_.write(handle, 4, "more").value();
  EXPECT_EQ(error_of(bucket_.sync(handle)), "Stale");
  fs_.release(handle);
  EXPECT_FALSE(store_.object("file"));
}

TEST_F(OtherClients, AHandleThatGoesOnDoesNotReplaceASecondWritersObject) {
  const auto first = synced_file();
  const auto second = must(bucket_.open_truncated(kRootIno, "file"));
  EXPECT_EQ(error_of(bucket_.write(first, 4, "more")), "Busy");
  bucket_.write(second, 0, "second").value();
  bucket_.sync(second).value();
  EXPECT_EQ(error_of(bucket_.write(first, 4, "more")), "Stale");
  EXPECT_EQ(error_of(bucket_.sync(first)), "") << "its own bytes were stored";
  EXPECT_EQ(error_of(bucket_.write(second, 6, " writer")), "");
  fs_.release(first);
  fs_.release(second);
  EXPECT_EQ(store_.object("file"), "second writer");
}

TEST_F(OtherClients, AHandleThatGoesOnDoesNotUndoATruncation) {
  const auto handle = synced_file();
  EXPECT_EQ(error_of(bucket_.truncate(known("file"), 0)), "Stale");
  EXPECT_EQ(error_of(bucket_.write(handle, 4, "more")), "Stale");
  fs_.release(handle);
  EXPECT_EQ(store_.object("file"), "");
}

TEST_F(OtherClients, TwoSyncsAtOnceDoNotTakeEachOtherForAnotherClient) {
  const auto handle = synced_file();
  bucket_.write(handle, 4, "more").value();
  store_.hold();
  Answer<void> one;
  Answer<void> two;
  fs_.sync(handle, one.done());
  fs_.sync(handle, two.done());
  EXPECT_EQ(store_.held().size(), 1U) << "one stores, the other waits for its turn";
  store_.release_all();
  EXPECT_EQ(one.error(), "");
  EXPECT_EQ(two.error(), "");
  EXPECT_EQ(store_.object("file"), "somemore");
}

// --- Several processes that open one name ---

TEST_F(OtherClients, AReservationIsForTheProcessThatMadeIt) {
  store_.put("file", "old");
  const Ino old = known("file");
  constexpr ProcessId kOther = 7;
  EXPECT_EQ(error_of(bucket_.open_to_write(old, /*truncate=*/true)), "Stale");
  const Ino reserved = known("file");
  EXPECT_EQ(error_of(bucket_.open_to_write(reserved, /*truncate=*/true, kOther)), "Busy");
  EXPECT_EQ(error_of(bucket_.open_to_write(reserved, /*truncate=*/true)), "");
}

TEST_F(OtherClients, AnInodeThatIsNoLongerWrittenCostsOnlyOneSecondLookup) {
  constexpr ProcessId kOther = 7;
  const auto theirs = must(bucket_.open_truncated(kRootIno, "file", kOther));
  const Ino written = known("file");
  bucket_.sync(theirs).value();
  fs_.release(theirs);
  EXPECT_EQ(error_of(bucket_.open_to_write(written, /*truncate=*/true)), "Stale");
  EXPECT_EQ(error_of(bucket_.open_to_write(known("file"), /*truncate=*/true)), "");
}

TEST_F(OtherClients, ANameThatIsThereWhenItIsMadeCostsOneSecondLookOnly) {
  for (const bool truncates : {true, false}) {
    const std::string name = truncates ? "full" : "empty";
    store_.put(name, truncates ? "bytes" : "");
    EXPECT_EQ(error_of(bucket_.create(kRootIno, name, {.truncates = truncates})), "Stale");
    EXPECT_EQ(error_of(bucket_.open_to_write(known(name), truncates)), "") << name;
  }
}

TEST_F(OtherClients, ANameThatIsThereWhenItIsMadeForReadingCanBeRead) {
  store_.put("file", "");
  EXPECT_EQ(error_of(bucket_.create(kRootIno, "file", {.writes = false})), "Stale");
  Answer<OpenFile> opened;
  fs_.open(known("file"), {}, opened.done());
  EXPECT_EQ(opened.error(), "");
}

TEST_F(OtherClients, OfTwoMountsThatMakeADirectoryAtOnceOneHearsThatItExists) {
  store_.hold();
  Answer<Entry> made;
  fs_.make_directory(kRootIno, "d", {}, made.done());
  while (store_.held().front().operation != Operation::kPut) store_.release();
  store_.put("d/", "");  // the other mount's
  store_.release_all();
  EXPECT_EQ(made.error(), "Exists");
  EXPECT_EQ(error_of(bucket_.mkdir(kRootIno, "e")), "") << "the control";
}

// --- Servers ---

TEST_F(OtherClients, AServerWithoutNamesThatEndInASlashHasNoDirectoriesToMake) {
  store_.fail_next(Operation::kPut, 1, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of(bucket_.mkdir(kRootIno, "d")), "SequentialOnly") << "which is ENOTSUP";
  store_.fail_next(Operation::kPut, 1, ErrorCode::kUnreachable);
  EXPECT_EQ(error_of(bucket_.mkdir(kRootIno, "d")), "Unreachable");
}

}  // namespace
}  // namespace s3rdmafs::vfs
