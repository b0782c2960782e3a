// SPDX-License-Identifier: Apache-2.0
#include "vfs/file_system.h"

#include <gtest/gtest.h>

#include "mounted_bucket.h"

namespace s3rdmafs::vfs {
namespace {

using std::chrono::seconds;
using Operation = fakes::FakeObjectStore::Operation;

class FileSystemTest : public testing::Test {
 protected:
  Ino ino_of(std::string_view name, Ino parent = kRootIno) {
    const Result<Entry> entry = bucket_.lookup(parent, name);
    EXPECT_TRUE(entry) << name << ": " << error_of(entry);
    return entry ? entry->attributes.ino : 0;
  }
  std::size_t requests() const { return bucket_.store.calls().size(); }

  MountedBucket bucket_;
  fakes::FakeObjectStore& store_ = bucket_.store;
  FileSystem& fs_ = bucket_.fs;
};

// Names

TEST_F(FileSystemTest, FindsFilesThroughDirectories) {
  store_.put("a/b/c", "hello");
  const Ino c = ino_of("c", ino_of("b", ino_of("a")));
  const Result<Attributes> attributes = fs_.attributes(c);
  ASSERT_TRUE(attributes);
  EXPECT_FALSE(attributes->is_directory);
  EXPECT_EQ(attributes->size_bytes, 5U);
  EXPECT_EQ(attributes->modified, bucket_.clock.wall_now());
}

TEST_F(FileSystemTest, TheRootOfAnEmptyBucketIsADirectory) {
  const Result<Attributes> root = fs_.attributes(kRootIno);
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->is_directory);
  EXPECT_EQ(bucket_.list(kRootIno)->size(), 0U);
  EXPECT_EQ(requests(), 1U) << "only the listing";
}

TEST_F(FileSystemTest, ADirectoryIsAsOldAsTheMount) {
  const auto mounted_at = bucket_.clock.wall_now();
  bucket_.clock.advance(seconds(100));
  store_.put("d/x", "");
  EXPECT_EQ(fs_.attributes(ino_of("d"))->modified, mounted_at);
}

TEST_F(FileSystemTest, AMountOfAPrefixShowsOnlyWhatIsBelowIt) {
  MountedBucket mount({.prefix = "p/q/", .ttl = seconds(1), .negative_ttl = seconds(1)});
  for (const char* key : {"p/q/x", "p/other", "y"}) mount.store.put(key, "");
  EXPECT_TRUE(mount.lookup(kRootIno, "x"));
  EXPECT_FALSE(mount.lookup(kRootIno, "y"));
  EXPECT_FALSE(mount.lookup(kRootIno, "other"));
  const auto entries = mount.list(kRootIno);
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front().name, "x");
}

TEST_F(FileSystemTest, WhatCannotBeANameIsNotFoundWithoutAsking) {
  for (const std::string& name : {std::string(), std::string("."), std::string(".."),
                                  std::string("a/b"), std::string(256, 'n')}) {
    EXPECT_EQ(error_of(bucket_.lookup(kRootIno, name)), "NotFound") << name;
  }
  EXPECT_EQ(requests(), 0U);
}

TEST_F(FileSystemTest, APathLongerThanAnyKeyIsNotFoundWithoutAsking) {
  const std::string name(255, 'n');
  store_.put(name + "/" + name + "/" + name + "/" + name + "/x", "");
  Ino ino = kRootIno;
  for (int depth = 0; depth < 4; ++depth) ino = ino_of(name, ino);
  store_.forget_calls();
  EXPECT_EQ(error_of(bucket_.lookup(ino, "too-long")), "NotFound");
  EXPECT_EQ(requests(), 0U);
}

TEST_F(FileSystemTest, AFileIsNoParentAndAnUnknownNumberNoInode) {
  store_.put("a", "");
  const Ino a = ino_of("a");
  EXPECT_EQ(error_of(bucket_.lookup(a, "x")), "NotDirectory");
  EXPECT_EQ(error_of(fs_.open_directory(a)), "NotDirectory");
  EXPECT_EQ(error_of(bucket_.lookup(12345, "x")), "NotFound");
  EXPECT_EQ(error_of(fs_.attributes(12345)), "NotFound");
  EXPECT_EQ(error_of(fs_.open_directory(12345)), "NotFound");
}

TEST_F(FileSystemTest, ANameIsValidForWhatIsLeftOfItsTtl) {
  store_.put("a", "");
  EXPECT_EQ(bucket_.lookup(kRootIno, "a")->valid_for, seconds(30));
  bucket_.clock.advance(seconds(12));
  EXPECT_EQ(bucket_.lookup(kRootIno, "a")->valid_for, seconds(18));
}

TEST_F(FileSystemTest, AStoreThatFailsIsNoProofThatANameIsAbsent) {
  store_.put("a", "");
  store_.fail_next(Operation::kHead, 1, ErrorCode::kUnreachable);
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "a")), "Unreachable");
  EXPECT_TRUE(bucket_.lookup(kRootIno, "a"));
}

// Inodes

TEST_F(FileSystemTest, ForgettingDownToZeroErasesAndTheNumberComesBack) {
  store_.put("a", "");
  const Ino a = ino_of("a");
  EXPECT_EQ(ino_of("a"), a);
  fs_.forget(a, 1);
  EXPECT_TRUE(fs_.attributes(a));
  fs_.forget(a, 1);
  EXPECT_FALSE(fs_.attributes(a));
  EXPECT_EQ(bucket_.gauge("vfs_inodes"), 1);
  EXPECT_EQ(ino_of("a"), a);
}

TEST_F(FileSystemTest, AForgetWhileALookupIsUnderWayLeavesTheLookupsReference) {
  store_.put("a", "");
  const Ino a = ino_of("a");
  bucket_.clock.advance(MountedBucket::kTtl);
  store_.hold();
  Answer<Entry> answer;
  fs_.lookup(kRootIno, "a", {}, answer.done());
  fs_.forget(a, 1);
  EXPECT_FALSE(fs_.attributes(a));
  store_.release_all();
  EXPECT_EQ(answer.get()->attributes.ino, a);
  EXPECT_TRUE(fs_.attributes(a));
}

TEST_F(FileSystemTest, AForgottenParentDoesNotDisturbALookupUnderWay) {
  store_.put("d/a", "");
  const Ino d = ino_of("d");
  store_.hold();
  Answer<Entry> answer;
  fs_.lookup(d, "a", {}, answer.done());
  fs_.forget(d, 1);
  store_.release_all();
  EXPECT_EQ(answer.error(), "");
}

TEST_F(FileSystemTest, AnOverwrittenObjectIsAnotherInode) {
  store_.put("a", "1");
  const Ino old_ino = ino_of("a");
  store_.put("a", "22");
  bucket_.clock.advance(MountedBucket::kTtl);
  const Ino new_ino = ino_of("a");
  EXPECT_NE(new_ino, old_ino);
  EXPECT_EQ(fs_.attributes(old_ino)->size_bytes, 1U);
  EXPECT_EQ(fs_.attributes(new_ino)->size_bytes, 2U);
}

TEST_F(FileSystemTest, GoesAwayWhileALookupIsUnderWay) {
  fakes::FakeClock clock;
  metrics::Registry metrics;
  fakes::FakeObjectStore store(clock);
  fakes::FakeReadCache cache(store);
  Answer<Entry> answer;
  store.hold();
  {
    const auto fs = FileSystem::create(store, cache, clock, metrics, {});
    fs->lookup(kRootIno, "a", {}, answer.done());
  }
  store.shut_down();
  EXPECT_EQ(answer.error(), "Cancelled");
}

// Directories

TEST_F(FileSystemTest, ADirectoryListsWithDotsFirstAndTheNumbersThatLookupsGive) {
  store_.put("d/f", "123");
  store_.put("d/sub/x", "");
  const Ino d = ino_of("d");
  const std::uint64_t handle = fs_.open_directory(d).value();
  const auto entries = bucket_.read_directory(handle, 0, 100);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 4U);
  EXPECT_EQ((*entries)[0].name, ".");
  EXPECT_EQ((*entries)[0].attributes.ino, d);
  EXPECT_EQ((*entries)[1].name, "..");
  EXPECT_EQ((*entries)[1].attributes.ino, kRootIno);
  EXPECT_EQ((*entries)[2].name, "f");
  EXPECT_EQ((*entries)[2].attributes.size_bytes, 3U);
  EXPECT_EQ((*entries)[2].attributes.ino, ino_of("f", d));
  EXPECT_EQ((*entries)[3].attributes.ino, ino_of("sub", d));
  EXPECT_TRUE((*entries)[3].attributes.is_directory);
  EXPECT_EQ(bucket_.read_directory(handle, (*entries)[3].next_offset, 100)->size(), 0U);
}

TEST_F(FileSystemTest, LookupsBehindAListingNeedNoRequests) {
  for (const char* key : {"a", "d/x", "z"}) store_.put(key, "");
  (void)bucket_.list(kRootIno);
  store_.forget_calls();
  for (const char* name : {"a", "d", "z"}) ino_of(name);
  EXPECT_EQ(requests(), 0U);
  EXPECT_EQ(bucket_.counter("vfs_lookups_total", R"(source="cache")"), 3U);
  bucket_.clock.advance(MountedBucket::kTtl);
  ino_of("a");
  EXPECT_EQ(requests(), 2U) << "the control: not for longer than the ttl";
}

TEST_F(FileSystemTest, RememberGivesTheKernelWhatALookupWould) {
  store_.put("a", "123");
  const std::uint64_t handle = fs_.open_directory(kRootIno).value();
  const auto entries = bucket_.read_directory(handle, 2, 100);
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_FALSE(fs_.attributes(entries->front().attributes.ino)) << "listing alone gives no inode";
  bucket_.clock.advance(seconds(10));
  const Entry entry = fs_.add_lookup(handle, entries->front());
  EXPECT_EQ(entry.attributes.ino, entries->front().attributes.ino);
  EXPECT_EQ(entry.valid_for, seconds(20));
  EXPECT_EQ(fs_.attributes(entry.attributes.ino)->size_bytes, 3U);
  fs_.forget(entry.attributes.ino, 1);
  EXPECT_FALSE(fs_.attributes(entry.attributes.ino));
}

TEST_F(FileSystemTest, HiddenKeysAreCountedAndNeverShown) {
  const std::string long_name(256, 'n');
  for (const std::string& key :
       {std::string("a//b"), std::string("../x"), std::string("./x"), std::string("t/"), long_name,
        std::string("f"), std::string("f-g"), std::string("f/h")}) {
    store_.put(key, "");
  }
  store_.set_page_keys_max(1);
  std::string names;
  const auto entries = bucket_.list(kRootIno);
  for (const DirectoryEntry& entry : *entries) {
    names += entry.name + (entry.attributes.is_directory ? "/ " : " ");
  }
  EXPECT_EQ(names, "a/ f-g f/ t/ ");
  EXPECT_EQ(bucket_.counter("vfs_hidden_keys_total"), 4U) << "../ ./ nnn... and the file f";
  EXPECT_EQ(bucket_.list(ino_of("a"))->size(), 0U);
  EXPECT_EQ(bucket_.counter("vfs_hidden_keys_total"), 5U) << "a//";
  EXPECT_EQ(bucket_.list(ino_of("t"))->size(), 0U);
  EXPECT_EQ(bucket_.counter("vfs_hidden_keys_total"), 5U) << "t/ only makes its directory exist";
}

TEST_F(FileSystemTest, AReleasedOrUnknownHandleIsRefused) {
  const std::uint64_t handle = fs_.open_directory(kRootIno).value();
  fs_.release_directory(handle);
  EXPECT_EQ(error_of(bucket_.read_directory(handle, 0, 1)), "InvalidArgument");
  EXPECT_EQ(error_of(bucket_.read(99, 0, 1)), "InvalidArgument");
}

// Files

TEST_F(FileSystemTest, ReadsAreClippedToTheEndOfTheFile) {
  store_.put("a", "hello");
  const Result<OpenFile> file = bucket_.open(ino_of("a"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size_bytes, 5U);
  EXPECT_EQ(bucket_.read(file->handle, 0, 5).value(), "hello");
  EXPECT_EQ(bucket_.read(file->handle, 3, 100).value(), "lo");
  EXPECT_EQ(bucket_.read(file->handle, 5, 100).value(), "");
  EXPECT_EQ(bucket_.read(file->handle, 0, 0).value(), "");
}

TEST_F(FileSystemTest, ADirectoryIsNotOpenedAsAFile) {
  store_.put("d/x", "");
  EXPECT_EQ(error_of(bucket_.open(ino_of("d"))), "IsDirectory");
  EXPECT_EQ(error_of(bucket_.open(777)), "NotFound");
}

TEST_F(FileSystemTest, AnOpenAsksAgainOnlyWhenWhatIsKnownIsOld) {
  store_.put("a", "");
  const Ino a = ino_of("a");
  store_.forget_calls();
  EXPECT_TRUE(bucket_.open(a));
  EXPECT_EQ(requests(), 0U);
  bucket_.clock.advance(MountedBucket::kTtl);
  EXPECT_TRUE(bucket_.open(a));
  EXPECT_EQ(requests(), 1U);
  EXPECT_TRUE(bucket_.open(a));
  EXPECT_EQ(requests(), 1U) << "the answer counts for another ttl";
}

TEST_F(FileSystemTest, WhoOpensFilesInTheirOrderFindsTheNextOnesOnTheirWay) {
  std::vector<std::string> names;
  for (char c = 'a'; c <= 'z'; ++c) store_.put(names.emplace_back(1, c), "bytes");
  ASSERT_TRUE(bucket_.list(kRootIno));
  for (const char* name : {"a", "b"}) ASSERT_TRUE(bucket_.open(ino_of(name)));
  EXPECT_TRUE(bucket_.cache.prefetched().empty());
  ASSERT_TRUE(bucket_.open(ino_of("c")));
  ASSERT_FALSE(bucket_.cache.prefetched().empty());
  EXPECT_EQ(bucket_.cache.prefetched().front(), "d");
}

TEST_F(FileSystemTest, AnOldVersionIsStaleToOpenAndTheNextLookupFindsTheNewOne) {
  store_.put("a", "1");
  const Ino old_ino = ino_of("a");
  bucket_.clock.advance(MountedBucket::kTtl / 2);
  (void)bucket_.list(kRootIno);  // younger news of the name than of the inode
  store_.put("a", "2");
  bucket_.clock.advance(MountedBucket::kTtl / 2);
  EXPECT_EQ(error_of(bucket_.open(old_ino)), "Stale");
  const Ino new_ino = ino_of("a");
  EXPECT_NE(new_ino, old_ino);
  EXPECT_EQ(bucket_.read(bucket_.open(new_ino).value().handle, 0, 1).value(), "2");
}

TEST_F(FileSystemTest, ADeletedFileIsStaleToOpenAndThenNotFound) {
  store_.put("a", "1");
  const Ino a = ino_of("a");
  store_.remove("a");
  bucket_.clock.advance(MountedBucket::kTtl);
  EXPECT_EQ(error_of(bucket_.open(a)), "Stale");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "a")), "NotFound");
}

TEST_F(FileSystemTest, AnOpenThatCannotAskFailsAsTheStoreDoes) {
  store_.put("a", "1");
  const Ino a = ino_of("a");
  bucket_.clock.advance(MountedBucket::kTtl);
  store_.fail_next(Operation::kHead, 1, ErrorCode::kTimedOut);
  EXPECT_EQ(error_of(bucket_.open(a)), "TimedOut");
  EXPECT_TRUE(bucket_.open(a));
}

TEST_F(FileSystemTest, AnOpenFileIsOneVersionAndStaleOnceThatIsGone) {
  store_.put("a", "old");
  const Ino old_ino = ino_of("a");
  const std::uint64_t handle = bucket_.open(old_ino).value().handle;
  EXPECT_EQ(bucket_.read(handle, 0, 3).value(), "old");
  store_.put("a", "new");
  EXPECT_EQ(error_of(bucket_.read(handle, 0, 3)), "Stale");
  EXPECT_EQ(error_of(bucket_.open(old_ino)), "Stale") << "although the ttl has not passed";
  EXPECT_EQ(bucket_.read(bucket_.open(ino_of("a")).value().handle, 0, 3).value(), "new");
}

TEST_F(FileSystemTest, AnOpenFileOutlivesItsInode) {
  store_.put("a", "hello");
  const Ino a = ino_of("a");
  const std::uint64_t handle = bucket_.open(a).value().handle;
  fs_.forget(a, 1);
  EXPECT_EQ(bucket_.read(handle, 0, 5).value(), "hello");
}

TEST_F(FileSystemTest, AReadUnderWayOutlivesItsRelease) {
  store_.put("a", "hello");
  const std::uint64_t handle = bucket_.open(ino_of("a")).value().handle;
  store_.hold();
  Answer<cache::PinnedBytes> answer;
  fs_.read(handle, 0, 5, {}, answer.done());
  fs_.release(handle);
  EXPECT_EQ(bucket_.cache.readers(), 1);
  store_.release_all();
  EXPECT_EQ(text_of(*answer.get()), "hello");
  EXPECT_EQ(bucket_.cache.readers(), 0);
}

TEST_F(FileSystemTest, OpenHandlesOfOneDirectoryShareItsListing) {
  for (int i = 0; i < 100; ++i) bucket_.store.put("d/" + std::to_string(i), "");
  const Ino directory = ino_of("d");
  const std::int64_t bytes_before = bucket_.gauge("vfs_listings_bytes");
  bucket_.store.forget_calls();
  std::vector<std::uint64_t> handles;
  std::int64_t bytes_of_one = 0;
  for (int i = 0; i < 30; ++i) {
    handles.push_back(bucket_.fs.open_directory(directory).value());
    EXPECT_EQ(bucket_.read_directory(handles.back(), 0, 1000)->size(), 102U);
    if (i == 0) bytes_of_one = bucket_.gauge("vfs_listings_bytes");
  }
  EXPECT_EQ(bucket_.store.count(Operation::kList), 1U);
  EXPECT_EQ(bucket_.gauge("vfs_listings_bytes"), bytes_of_one);
  bucket_.clock.advance(MountedBucket::kTtl);
  const std::uint64_t later = bucket_.fs.open_directory(directory).value();
  EXPECT_EQ(bucket_.read_directory(later, 0, 1000)->size(), 102U);
  EXPECT_EQ(bucket_.store.count(Operation::kList), 2U) << "the control: what is old is not shared";
  for (const std::uint64_t handle : handles) bucket_.fs.release_directory(handle);
  bucket_.fs.release_directory(later);
  EXPECT_EQ(bucket_.gauge("vfs_listings_bytes"), bytes_before) << "all memory was given back";
}

TEST_F(FileSystemTest, ADirectoryThatIsRewoundIsListedAgain) {
  bucket_.store.put("d/a", "");
  const std::uint64_t handle = bucket_.fs.open_directory(ino_of("d")).value();
  EXPECT_EQ(bucket_.read_directory(handle, 0, 100)->size(), 3U);
  bucket_.store.put("d/b", "");
  EXPECT_EQ(bucket_.read_directory(handle, 3, 100)->size(), 0U) << "the control: it goes on";
  const auto again = bucket_.read_directory(handle, 0, 100);
  ASSERT_EQ(again->size(), 4U);
  EXPECT_EQ(again->back().name, "b");
  EXPECT_EQ(bucket_.fs.add_lookup(handle, again->back()).attributes.ino,
            again->back().attributes.ino);
  bucket_.fs.release_directory(handle);
}

TEST_F(FileSystemTest, ListingsBeyondTheirMemoryFailUntilDirectoriesAreClosed) {
  MountedBucket bucket({.prefix = "",
                        .ttl = MountedBucket::kTtl,
                        .negative_ttl = MountedBucket::kNegativeTtl,
                        .listing_bytes_max = 2000});
  for (int i = 0; i < 100; ++i) bucket.store.put("d/" + std::to_string(i), "");
  bucket.store.put("e/x", "");
  const std::uint64_t large =
      bucket.fs.open_directory(bucket.lookup(kRootIno, "d")->attributes.ino).value();
  const std::uint64_t small =
      bucket.fs.open_directory(bucket.lookup(kRootIno, "e")->attributes.ino).value();
  EXPECT_EQ(bucket.read_directory(large, 0, 1000)->size(), 102U) << "a page may exceed it";
  EXPECT_EQ(error_of(bucket.read_directory(small, 0, 1000)), "NoMemory");
  bucket.fs.release_directory(large);
  EXPECT_EQ(bucket.read_directory(small, 0, 1000)->size(), 3U);
  bucket.fs.release_directory(small);
}

}  // namespace
}  // namespace s3rdmafs::vfs
