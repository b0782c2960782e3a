// SPDX-License-Identifier: Apache-2.0
// Staged files whose keys another client stores or removes meanwhile.
#include <chrono>
#include <string_view>

#include <gtest/gtest.h>

#include "staged_rig.h"

namespace s3rdmafs::vfs {
namespace {

class StagedBesideOthers : public StagedRig {
 protected:
  /// Another client stores the file meanwhile, so that its store fails. Returns the handle.
  std::uint64_t fail_a_store() {
    const auto handle = open("file");
    write(handle, 0, "x");
    store_.put("file", "Two");
    EXPECT_EQ(error_of(bucket_.sync(handle)), "Stale");
    return handle;
  }
};

TEST_F(StagedBesideOthers, DestroysNoVersionOfAnotherClient) {
  store_.put("file", "base");
  const auto handle = open("file");
  const auto created = open("new");
  write(handle, 0, "x");
  write(created, 0, "x");
  store_.put("file", "another's");
  store_.put("new", "another's");
  EXPECT_EQ(close(handle), "Stale");
  EXPECT_EQ(close(created), "Stale");
  EXPECT_EQ(store_.object("file"), "another's");
  EXPECT_EQ(store_.object("new"), "another's");
  EXPECT_EQ(read(open_to_read("file")), "another's");
}

TEST_F(StagedBesideOthers, OpensNoFileWhoseStoreFailedAlthoughAHandleIsLeft) {
  store_.put("file", "One");
  const Ino ino = bucket_.ino_of("file");
  const auto handle = fail_a_store();
  EXPECT_EQ(error_of(bucket_.open(ino)), "Stale") << "so that the kernel looks the name up";
  EXPECT_EQ(error_of(bucket_.open_to_write(ino, /*truncate=*/false)), "Stale");
  EXPECT_EQ(read(open_to_read("file")), "Two");
  EXPECT_EQ(close(handle), "Stale");
}

// The kernel looks a name up once more only.
TEST_F(StagedBesideOthers, BelievesNoListingAfterACallByTheNameOfAFileWhoseStoreFailed) {
  const auto call = [this](std::string_view what, Ino ino) {
    if (what == "open") return error_of(bucket_.open(ino));
    if (what == "open to write") return error_of(bucket_.open_to_write(ino, /*truncate=*/false));
    return error_of(bucket_.truncate(ino, 2));
  };
  for (const char* what : {"open", "open to write", "truncate"}) {
    SCOPED_TRACE(what);
    store_.put("file", "One");
    const Ino ino = bucket_.ino_of("file");
    const auto handle = fail_a_store();
    bucket_.clock.advance(std::chrono::milliseconds(1));
    ASSERT_TRUE(bucket_.list(kRootIno)) << "it shows the other client's version";
    store_.remove("file");
    bucket_.clock.advance(std::chrono::milliseconds(1));
    EXPECT_EQ(call(what, ino), "Stale");
    EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
    EXPECT_EQ(close(handle), "Stale");
    bucket_.clock.advance(MountedBucket::kTtl);
  }
}

TEST_F(StagedBesideOthers, ShowsNoAttributesOfAClosedFileWhoseStoreFailed) {
  const auto handle = open("file");
  const Ino ino = bucket_.ino_of("file");
  write(handle, 0, "staged");
  store_.put("file", "another's");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "Stale");
  EXPECT_EQ(fs_.attributes(ino)->size_bytes, 6U) << "its handle has its bytes";
  EXPECT_EQ(close(handle), "Stale");
  EXPECT_EQ(error_of(fs_.attributes(ino)), "Stale") << "so that the kernel looks the name up";
  EXPECT_EQ(size_of("file"), 9U);
}

TEST_F(StagedBesideOthers, BelievesNoListingAfterAStatByTheNameOfAClosedFileWhoseStoreFailed) {
  store_.put("file", "One");
  const Ino ino = bucket_.ino_of("file");
  EXPECT_EQ(close(fail_a_store()), "Stale");
  bucket_.clock.advance(std::chrono::milliseconds(1));
  ASSERT_TRUE(bucket_.list(kRootIno)) << "it shows the other client's version";
  store_.remove("file");
  EXPECT_EQ(size_of("file"), 3U) << "a name that was listed is believed until its ttl ends";
  bucket_.clock.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(error_of(fs_.attributes(ino)), "Stale");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
}

TEST_F(StagedBesideOthers, OpensWhatAnotherClientStoredThoughAnOlderVersionIsOpen) {
  store_.put("file", "one");
  const auto handle = open("file");
  store_.put("file", "three");
  bucket_.clock.advance(std::chrono::hours(1));
  const auto newer = open("file");
  EXPECT_EQ(read(newer), "three");
  write(newer, 0, "T");
  EXPECT_EQ(close(newer), "");
  EXPECT_EQ(store_.object("file"), "Three");
  write(handle, 0, "x");
  EXPECT_EQ(close(handle), "Stale");
  EXPECT_EQ(store_.object("file"), "Three");
}

}  // namespace
}  // namespace s3rdmafs::vfs
