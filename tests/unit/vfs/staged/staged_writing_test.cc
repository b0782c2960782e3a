// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "staged_rig.h"

namespace s3rdmafs::vfs {
namespace {

class StagedWriting : public StagedRig {
 protected:
  using StagedRig::StagedRig;
};

// The straight case

TEST_F(StagedWriting, StoresANewFileAtCloseAndReadsItBefore) {
  const auto handle = open("file");
  write(handle, 4, "bytes");
  write(handle, 0, "some");
  EXPECT_EQ(read(handle), "somebytes");
  EXPECT_EQ(size_of("file"), 9U);
  EXPECT_FALSE(store_.object("file"));
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), "somebytes");
  EXPECT_TRUE(has_nothing_staged());
  EXPECT_EQ(read(open_to_read("file")), "somebytes");
}

TEST_F(StagedWriting, ChangesBytesOfAnObjectAndReadsTheOthersFromIt) {
  store_.put("file", "0123456789");
  const auto handle = open("file");
  write(handle, 3, "abc");
  EXPECT_EQ(read(handle), "012abc6789");
  EXPECT_EQ(read(handle, 6, 2), "67");
  EXPECT_EQ(read(handle, 9, 5), "9");
  EXPECT_EQ(store_.object("file"), "0123456789");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), "012abc6789");
}

TEST_F(StagedWriting, FillsAGapWithZeros) {
  store_.put("file", "01");
  const auto handle = open("file");
  write(handle, 4, "x");
  EXPECT_EQ(read(handle), std::string("01\0\0x", 5));
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), std::string("01\0\0x", 5));
}

TEST_F(StagedWriting, KeepsTheInodeNumberOverWritesAndStores) {
  store_.put("old", "x");
  for (const char* name : {"old", "new"}) {
    const auto handle = open(name);
    const Ino ino = bucket_.ino_of(name);
    write(handle, 0, "one");
    EXPECT_EQ(bucket_.ino_of(name), ino);
    EXPECT_EQ(error_of(bucket_.sync(handle)), "");
    EXPECT_EQ(bucket_.ino_of(name), ino);
    write(handle, 0, "two");
    EXPECT_EQ(close(handle), "");
    EXPECT_TRUE(has_nothing_staged());
    EXPECT_EQ(fs_.attributes(ino)->size_bytes, 3U) << "also before the next lookup";
    EXPECT_EQ(bucket_.ino_of(name), ino);
    EXPECT_FALSE(fs_.attributes(ino)->is_being_written);
  }
  store_.put("old", "by another client");
  bucket_.clock.advance(std::chrono::hours(1));
  EXPECT_NE(bucket_.ino_of("old"), bucket_.ino_of("new"));
}

TEST_F(StagedWriting, StoresAnEmptyFileAtClose) {
  const auto handle = open("file");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), "");
}

TEST_F(StagedWriting, StoresNothingThatDidNotChange) {
  store_.put("file", "bytes");
  const auto handle = open("file");
  store_.forget_calls();
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.count(StoreOperation::kPut), 0U);
}

TEST_F(StagedWriting, StoresAtTheLastReleaseWhatWasNotSynced) {
  const auto handle = open("file");
  write(handle, 0, "bytes");
  fs_.release(handle);
  EXPECT_TRUE(has_nothing_staged());
  EXPECT_EQ(store_.object("file"), "bytes");
}

// Truncation

TEST_F(StagedWriting, TruncatesToAnySizeByDescriptorAndByPath) {
  store_.put("file", "0123456789");
  const auto handle = open("file");
  const Ino ino = bucket_.ino_of("file");
  EXPECT_EQ(error_of(bucket_.truncate(ino, 4)), "");
  EXPECT_EQ(store_.object("file"), "0123456789") << "a descriptor will be closed";
  EXPECT_EQ(error_of(bucket_.truncate(ino, 6)), "");
  EXPECT_EQ(read(handle), std::string("0123\0\0", 6));
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), std::string("0123\0\0", 6));
  EXPECT_EQ(error_of(bucket_.truncate(ino, 2)), "");
  EXPECT_EQ(store_.object("file"), "01") << "no descriptor will be closed";
  EXPECT_TRUE(has_nothing_staged());
}

TEST_F(StagedWriting, EmptiesAFileThatIsOpenedWithTruncation) {
  store_.put("file", "0123456789");
  const auto handle = open("file", /*truncate=*/true);
  EXPECT_EQ(size_of("file"), 0U);
  write(handle, 1, "x");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), std::string("\0x", 2));
}

// Several handles

TEST_F(StagedWriting, ShowsWritesToHandlesThatWereOpenBefore) {
  store_.put("file", "0123456789");
  const auto before = open_to_read("file");
  EXPECT_EQ(read(before), "0123456789");
  const auto writer = open("file");
  write(writer, 0, "ab");
  const auto during = open_to_read("file");
  EXPECT_EQ(read(before), "ab23456789");
  EXPECT_EQ(read(during), "ab23456789");
  EXPECT_EQ(close(writer), "");
  const auto after = open_to_read("file");
  for (const auto handle : {before, during, after}) EXPECT_EQ(read(handle), "ab23456789");
  for (const auto handle : {before, during, after}) fs_.release(handle);
  EXPECT_TRUE(has_nothing_staged());
}

TEST_F(StagedWriting, LetsTwoHandlesWriteOneFile) {
  const auto one = open("file");
  write(one, 0, "aaaa");
  const auto two = open("file");
  write(two, 2, "bb");
  EXPECT_EQ(close(one), "");
  EXPECT_EQ(store_.object("file"), "aabb");
  write(two, 0, "c");
  EXPECT_EQ(read(two), "cabb");
  EXPECT_EQ(close(two), "");
  EXPECT_EQ(store_.object("file"), "cabb");
}

// A store under way

TEST_F(StagedWriting, LetsAWriteWaitForTheStoreAndStoresItNext) {
  const auto handle = open("file");
  write(handle, 0, "one");
  store_.hold();
  Later<void> synced;
  fs_.sync(handle, synced.done());
  Later<void> written;
  fs_.write(handle, 0, std::as_bytes(std::span("two", 3)), {}, written.done());
  EXPECT_FALSE(written.has_come());
  EXPECT_EQ(read(handle), "one") << "reads do not wait";
  store_.release_all();
  EXPECT_EQ(error_of(synced.get()), "");
  EXPECT_EQ(error_of(written.get()), "");
  EXPECT_EQ(store_.object("file"), "one");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), "two");
}

// Errors

TEST_F(StagedWriting, SticksToTheFirstErrorAndKeepsTheBytes) {
  const auto handle = open("file");
  const Ino ino = bucket_.ino_of("file");
  write(handle, 0, "bytes");
  store_.fail_next(StoreOperation::kPut, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(error_of(bucket_.sync(handle)), "AccessDenied");
  EXPECT_EQ(error_of(bucket_.write(handle, 0, "x")), "AccessDenied");
  EXPECT_EQ(error_of(bucket_.truncate(ino, 1)), "AccessDenied");
  EXPECT_EQ(read(handle), "bytes");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound") << "as the server says";
  EXPECT_EQ(close(handle), "AccessDenied");
  EXPECT_FALSE(store_.object("file"));
  EXPECT_GT(staged_bytes(), 0U) << "for s3rdmafs recover";
}

// Names

TEST_F(StagedWriting, GoesOnWithAFileWhoseNameWasRemovedAndNeverStoresIt) {
  const auto handle = open("file");
  write(handle, 0, "bytes");
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "file")), "");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
  write(handle, 5, "!");
  EXPECT_EQ(read(handle), "bytes!");
  EXPECT_EQ(close(handle), "");
  EXPECT_FALSE(store_.object("file"));
  EXPECT_TRUE(has_nothing_staged());
}

TEST_F(StagedWriting, KeepsTheBytesOfARemovedVersionForItsOpenHandles) {
  store_.put("read", "bytes of a version");
  store_.put("changed", "bytes of a version");
  const std::uint64_t reader = open_to_read("read");
  const std::uint64_t writer = open("changed");
  write(writer, 0, "BYTES");
  for (const char* const name : {"read", "changed"}) {
    EXPECT_EQ(error_of(bucket_.unlink(kRootIno, name)), "");
    EXPECT_FALSE(store_.object(name));
  }
  EXPECT_EQ(read(reader), "bytes of a version");
  EXPECT_EQ(read(writer), "BYTES of a version");
  fs_.release(reader);
  EXPECT_EQ(close(writer), "");
  EXPECT_TRUE(has_nothing_staged());
  EXPECT_FALSE(store_.object("changed"));
}

TEST_F(StagedWriting, KeepsTheBytesOfAVersionThatARenameReplaces) {
  store_.put("file", "bytes of a version");
  store_.put("other", "other");
  const std::uint64_t reader = open_to_read("file");
  EXPECT_EQ(error_of(bucket_.rename("other", "file")), "");
  EXPECT_EQ(read(reader), "bytes of a version");
  EXPECT_EQ(read(open_to_read("file")), "other");
}

TEST_F(StagedWriting, LosesNothingByARemovalThatFails) {
  store_.put("file", "bytes of a version");
  const std::uint64_t handle = open("file");
  write(handle, 0, "BYTES");
  store_.fail_next(StoreOperation::kRemove, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "file")), "AccessDenied");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), "BYTES of a version");
}

TEST_F(StagedWriting, LeavesNothingOfARemovedFileToRecover) {
  const auto sidecars = [this] {
    return std::ranges::count_if(
        std::filesystem::directory_iterator(bucket_.staging->path()),
        [](const auto& entry) { return entry.path().extension() == ".meta"; });
  };
  const std::uint64_t handle = open("file");
  write(handle, 0, "bytes");
  EXPECT_EQ(sidecars(), 1);
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "file")), "");
  EXPECT_EQ(sidecars(), 0);
  EXPECT_EQ(read(handle), "bytes");
}

TEST_F(StagedWriting, RefusesToCreateExclusivelyWhatIsThere) {
  store_.put("stored", "x");
  const auto handle = open("staged");
  for (const char* name : {"stored", "staged"}) {
    EXPECT_EQ(error_of(bucket_.create(kRootIno, name, {.is_exclusive = true})), "Exists") << name;
    EXPECT_EQ(error_of(bucket_.create(kRootIno, name)), "Stale") << "to be looked up again";
  }
  EXPECT_EQ(close(handle), "");
}

TEST_F(StagedWriting, GivesTheNameAnotherInodeWhereTheKernelReadsTheFirstByItself) {
  store_.put("file", "0123");
  const Ino read_by_kernel = bucket_.ino_of("file");
  const auto refused = answer_of<OpenFile>([&](auto done) {
    fs_.open_to_write(read_by_kernel, {.shares_inode = false}, WritableBucket::kProcess, {},
                      std::move(done));
  });
  EXPECT_EQ(error_of(refused), "Stale");
  const auto handle = open("file");
  write(handle, 0, "a");
  const Ino written = bucket_.ino_of("file");
  EXPECT_NE(written, read_by_kernel);
  EXPECT_EQ(read(handle), "a123");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), "a123");
  EXPECT_EQ(bucket_.ino_of("file"), written);
}

TEST_F(StagedWriting, LetsGoOfAFileWhoseOpenNeverCameBack) {
  store_.put("file", "0123");
  const auto refused = answer_of<OpenFile>([&](auto done) {
    fs_.open_to_write(bucket_.ino_of("file"), {.shares_inode = false}, WritableBucket::kProcess, {},
                      std::move(done));
  });
  EXPECT_EQ(error_of(refused), "Stale");
  EXPECT_NE(bucket_.ino_of("file"), 0U);  // the name's other inode
  EXPECT_GT(staged_bytes(), 0U);
  bucket_.clock.advance(std::chrono::seconds(6));
  store_.put("other", "x");
  EXPECT_EQ(close(open("other")), "");
  EXPECT_TRUE(has_nothing_staged());
  EXPECT_EQ(read(open_to_read("file")), "0123");
}

TEST_F(StagedWriting, RemovesAFileThatIsBeingStored) {
  const auto handle = open("file");
  write(handle, 0, "bytes");
  store_.hold();
  Later<void> synced;
  fs_.sync(handle, synced.done());
  Later<void> removed;
  fs_.unlink(kRootIno, "file", {}, removed.done());
  EXPECT_FALSE(removed.has_come()) << "a PUT after the DELETE would bring it back";
  store_.release_all();
  EXPECT_EQ(error_of(synced.get()), "");
  EXPECT_EQ(error_of(removed.get()), "");
  EXPECT_FALSE(store_.object("file"));
  EXPECT_EQ(close(handle), "");
  EXPECT_FALSE(store_.object("file"));
}

TEST_F(StagedWriting, ListsAFileThatIsNotStoredYetOnce) {
  store_.put("d/a", "x");
  store_.put("d/z", "x");
  const Ino directory = bucket_.ino_of("d");
  const auto created = bucket_.create(directory, "new");
  ASSERT_TRUE(created);
  write(created->file.handle, 0, "bytes");
  const auto changed = bucket_.open_by_name(directory, "a", false, WritableBucket::kProcess);
  write(changed.value(), 1, "yz");
  const auto sizes = [&](std::size_t at_once) {
    std::map<std::string, std::uint64_t> found;
    const auto listed = bucket_.list(directory, at_once).value();
    for (const DirectoryEntry& entry : listed) {
      EXPECT_TRUE(found.emplace(entry.name, entry.attributes.size_bytes).second) << entry.name;
    }
    return found;
  };
  const std::map<std::string, std::uint64_t> all{{"a", 3}, {"new", 5}, {"z", 1}};
  EXPECT_EQ(sizes(1), all);
  EXPECT_EQ(sizes(100), all);
  EXPECT_EQ(error_of(bucket_.rmdir(kRootIno, "d")), "NotEmpty");
  EXPECT_EQ(close(created->file.handle), "");
  EXPECT_EQ(sizes(1), all);
  fs_.release(changed.value());
}

// Whole objects, which the kernel reads by itself: it cannot follow what is written

TEST_F(StagedWriting, GivesNoWholeObjectOfAFileThatThisMountHasWritten) {
  store_.put("read only", "bytes");
  EXPECT_EQ(close(open("written")), "");
  EXPECT_EQ(close(open("renamed")), "");
  EXPECT_EQ(error_of(bucket_.rename("renamed", "new name")), "");
  for (const char* const name : {"written", "new name"}) {
    Answer<OpenFile> opened;
    fs_.open_whole(bucket_.ino_of(name), {}, opened.done());
    ASSERT_TRUE(opened.get()) << name;
    EXPECT_EQ(opened.get()->whole, nullptr) << name;
    fs_.release(opened.get()->handle);
  }
  EXPECT_TRUE(bucket_.whole.asked().empty());
  // The control.
  Answer<OpenFile> opened;
  fs_.open_whole(bucket_.ino_of("read only"), {}, opened.done());
  EXPECT_EQ(bucket_.whole.asked().size(), 1U);
  bucket_.whole.answer(std::make_shared<fakes::FakeResidentObject>(7));
  EXPECT_NE(opened.get()->whole, nullptr);
  fs_.release(opened.get()->handle);
}

// The end of the mount

TEST_F(StagedWriting, StoresOpenFilesWhenTheMountEnds) {
  const auto handle = open("file");
  write(handle, 0, "bytes");
  fs_.end_writes(bucket_.clock.now() + std::chrono::hours(1));
  EXPECT_EQ(store_.object("file"), "bytes");
  fs_.release(handle);
}

}  // namespace
}  // namespace s3rdmafs::vfs
