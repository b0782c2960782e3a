// SPDX-License-Identifier: Apache-2.0
// The names that the kernel may keep on a mount that writes: for as long as it keeps one, stat(2)
// does not come here, so none may be kept over a change that this mount makes without the kernel's
// own entry being replaced.
#include <gtest/gtest.h>

#include "vfs/names/name_cache.h"
#include "writable_bucket.h"

namespace s3rdmafs::vfs {
namespace {

using std::chrono::milliseconds;

class KeptNames : public testing::Test {
 protected:
  milliseconds kept(std::string_view name) { return bucket_.lookup(kRootIno, name)->valid_for; }

  /// Of a listing asked for now: gives the kernel the entry later, as a slow readdirplus does.
  struct Listed {
    std::uint64_t handle = 0;
    DirectoryEntry entry;
  };
  Listed list_first() {
    const std::uint64_t handle = fs_.open_directory(kRootIno).value();
    auto entries = bucket_.read_directory(handle, 0, 3).value();
    clock_.advance(milliseconds(1));
    return {handle, entries.back()};
  }

  void write_whole(std::string_view name, std::string_view text) {
    const auto handle = bucket_.open_truncated(kRootIno, name).value();
    bucket_.write(handle, 0, text).value();
    bucket_.sync(handle).value();
    fs_.release(handle);
  }

  WritableBucket bucket_;
  fakes::FakeObjectStore& store_ = bucket_.store;
  fakes::FakeClock& clock_ = bucket_.clock;
  FileSystem& fs_ = bucket_.fs;
};

TEST_F(KeptNames, AVersionIsKeptForItsTtl) {
  store_.put("file", "x");
  EXPECT_EQ(kept("file"), MountedBucket::kTtl);
}

TEST_F(KeptNames, AListingGivesVersionsToBeKept) {
  store_.put("file", "x");
  const Listed listed = list_first();
  const Entry given = fs_.add_lookup(listed.entry);
  EXPECT_EQ(given.valid_for, MountedBucket::kTtl - milliseconds(1));
}

TEST_F(KeptNames, EveryPageOfAListingGivesVersionsToBeKept) {
  for (int i = 0; i < 2500; ++i) store_.put("d/" + std::to_string(i), "x");
  const std::uint64_t handle = fs_.open_directory(bucket_.ino_of("d")).value();
  std::uint64_t offset = 0;
  std::size_t kept = 0;
  for (;;) {
    const auto entries = bucket_.read_directory(handle, offset, 100).value();
    if (entries.empty()) break;
    for (const DirectoryEntry& entry : entries) {
      if (entry.name.starts_with('.')) continue;
      kept += fs_.add_lookup(entry).valid_for > milliseconds(0) ? 1 : 0;
    }
    offset = entries.back().next_offset;
    clock_.advance(milliseconds(1));  // pages are asked for at different times
  }
  EXPECT_EQ(kept, 2500U);
}

TEST_F(KeptNames, AFileBeingWrittenIsNot) {
  const auto handle = bucket_.open_truncated(kRootIno, "file").value();
  EXPECT_EQ(kept("file").count(), 0);
  fs_.release(handle);
  clock_.advance(milliseconds(1));
  EXPECT_GT(kept("file").count(), 0) << "the control: it is closed";
}

// Its next commit makes the name stand for another version, and no open tells the kernel.
TEST_F(KeptNames, AFileThatWasSyncedAndIsStillOpenForWritingIsNot) {
  const auto handle = bucket_.open_truncated(kRootIno, "file").value();
  bucket_.write(handle, 0, "1").value();
  bucket_.sync(handle).value();
  clock_.advance(milliseconds(1));
  ASSERT_FALSE(bucket_.lookup(kRootIno, "file")->attributes.is_being_written);
  EXPECT_EQ(kept("file").count(), 0);
  const Listed listed = list_first();
  EXPECT_EQ(fs_.add_lookup(listed.entry).valid_for.count(), 0);
  fs_.release(handle);
  clock_.advance(milliseconds(1));
  EXPECT_GT(kept("file").count(), 0) << "the control: it is closed";
}

TEST_F(KeptNames, AListingFromBeforeAWriteGivesNoNameToBeKept) {
  store_.put("file", "old");
  const Listed listed = list_first();
  write_whole("file", "newer");
  EXPECT_EQ(fs_.add_lookup(listed.entry).valid_for.count(), 0);
  clock_.advance(milliseconds(1));
  const Listed after = list_first();
  EXPECT_GT(fs_.add_lookup(after.entry).valid_for.count(), 0) << "the control";
}

TEST_F(KeptNames, AListingGivesNoInodeOfAFileThatIsBeingWritten) {
  store_.put("file", "old");
  const Listed listed = list_first();
  const auto handle = bucket_.open_truncated(kRootIno, "file").value();
  EXPECT_EQ(fs_.add_lookup(listed.entry).attributes.ino, 0U);
  fs_.release(handle);
}

TEST_F(KeptNames, AListingFromBeforeADeletionGivesNoNameToBeKept) {
  store_.put("file", "x");
  store_.put("other", "x");
  const Listed listed = list_first();
  bucket_.unlink(kRootIno, "file").value();
  EXPECT_EQ(fs_.add_lookup(listed.entry).valid_for.count(), 0);
}

// The answer "absent" may not be kept, and leaves the time of the change all the same.
TEST_F(KeptNames, ALookupOfADeletedNameDoesNotMakeAnOlderListingBelieved) {
  NameCache names(clock_,
                  {.ttl = MountedBucket::kTtl, .negative_ttl = milliseconds(0), .entries_max = 4});
  const SeenAt before = clock_.now();
  clock_.advance(milliseconds(1));
  names.invalidate("file", clock_.now());
  names.insert("file", {.node = std::nullopt, .seen_at = clock_.now()});
  EXPECT_TRUE(names.is_superseded("file", before));
  EXPECT_FALSE(names.find("file"));
  names.insert("other", {.node = std::nullopt, .seen_at = clock_.now()});
  EXPECT_FALSE(names.is_superseded("other", before)) << "the control: it was not changed";
}

TEST_F(KeptNames, AListingFromBeforeATruncationGivesNoNameToBeKept) {
  store_.put("file", "old");
  const Listed listed = list_first();
  EXPECT_EQ(error_of(bucket_.truncate(bucket_.ino_of("file"), 0)), "Stale") << "looked up again";
  EXPECT_EQ(fs_.add_lookup(listed.entry).valid_for.count(), 0);
}

// A bounded memory of changes must doubt too much rather than too little.
TEST_F(KeptNames, AListingFromBeforeManyChangesIsDoubtedWhole) {
  NameCache names(
      clock_, {.ttl = MountedBucket::kTtl, .negative_ttl = MountedBucket::kTtl, .entries_max = 4});
  const SeenAt before = clock_.now();
  clock_.advance(milliseconds(1));
  names.invalidate("file", clock_.now());
  EXPECT_TRUE(names.is_superseded("file", before));
  EXPECT_FALSE(names.is_superseded("other", before)) << "the control";
  for (const char* key : {"1", "2", "3", "4", "5", "6"}) {
    names.insert(key, {Node::directory("d/"), clock_.now()});
  }
  EXPECT_TRUE(names.is_superseded("file", before));
  EXPECT_TRUE(names.is_superseded("other", before)) << "it may have been changed as well";
  EXPECT_FALSE(names.is_superseded("other", clock_.now())) << "seen since";
}

}  // namespace
}  // namespace s3rdmafs::vfs
