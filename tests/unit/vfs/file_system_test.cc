// SPDX-License-Identifier: Apache-2.0
#include "vfs/file_system.h"

#include <gtest/gtest.h>

#include "mounted_bucket.h"

namespace s3rdmafs::vfs {
namespace {

using FileSystemTest = MountedBucketTest;

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

TEST_F(FileSystemTest, AMountOfAPrefixShowsOnlyTheKeysBelowIt) {
  MountedBucket mount({.prefix = "p/q/", .ttl = seconds(1), .negative_ttl = seconds(1)});
  for (const char* key : {"p/q/x", "p/other", "y"}) mount.store.put(key, "");
  EXPECT_TRUE(mount.lookup(kRootIno, "x"));
  EXPECT_FALSE(mount.lookup(kRootIno, "y"));
  EXPECT_FALSE(mount.lookup(kRootIno, "other"));
  const auto entries = mount.list(kRootIno);
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front().name, "x");
}

TEST_F(FileSystemTest, AnInvalidNameIsNotFoundWithoutAsking) {
  for (const std::string& name : {std::string(), std::string("."), std::string(".."),
                                  std::string("a/b"), std::string(256, 'n')}) {
    EXPECT_EQ(error_of(bucket_.lookup(kRootIno, name)), "NotFound") << name;
  }
  EXPECT_EQ(requests(), 0U);
}

TEST_F(FileSystemTest, APathLongerThanAnyKeyIsRefusedWithoutAsking) {
  const std::string name(255, 'n');
  store_.put(name + "/" + name + "/" + name + "/" + name + "/x", "");
  Ino ino = kRootIno;
  for (int depth = 0; depth < 4; ++depth) ino = ino_of(name, ino);
  store_.forget_calls();
  EXPECT_EQ(error_of(bucket_.lookup(ino, "too-long")), "NameTooLong");
  EXPECT_EQ(requests(), 0U);
}

TEST_F(FileSystemTest, AFileIsNotAParentAndAnUnknownNumberIsNotAnInode) {
  store_.put("a", "");
  const Ino a = ino_of("a");
  EXPECT_EQ(error_of(bucket_.lookup(a, "x")), "NotDirectory");
  EXPECT_EQ(error_of(fs_.open_directory(a)), "NotDirectory");
  EXPECT_EQ(error_of(bucket_.lookup(12345, "x")), "NotFound");
  EXPECT_EQ(error_of(fs_.attributes(12345)), "NotFound");
  EXPECT_EQ(error_of(fs_.open_directory(12345)), "NotFound");
}

TEST_F(FileSystemTest, ANameIsValidForTheRestOfItsTtl) {
  store_.put("a", "");
  EXPECT_EQ(bucket_.lookup(kRootIno, "a")->valid_for, seconds(30));
  bucket_.clock.advance(seconds(12));
  EXPECT_EQ(bucket_.lookup(kRootIno, "a")->valid_for, seconds(18));
}

TEST_F(FileSystemTest, AStoreThatFailsDoesNotProveThatANameIsAbsent) {
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

TEST_F(FileSystemTest, AnOpenAsksAgainOnlyWhenTheKnownAnswerIsOld) {
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

// Read-ahead depends on how far the server is.
TEST_F(FileSystemTest, ALookupThatAsksTheStoreTellsTheCacheHowLongItsAnswerTook) {
  store_.put("a", "");
  store_.hold();
  Answer<Entry> answer;
  bucket_.fs.lookup(kRootIno, "a", {}, answer.done());
  bucket_.clock.advance(milliseconds(20));
  store_.release_all();
  ASSERT_TRUE(answer.get());
  EXPECT_EQ(bucket_.cache.newest_answer(), milliseconds(20));
  bucket_.clock.advance(milliseconds(5));
  ASSERT_NE(ino_of("a"), 0U);
  EXPECT_EQ(bucket_.cache.newest_answer(), milliseconds(20)) << "the control: it is known";
}

TEST_F(FileSystemTest, OpensInTheOrderOfAListingFetchTheNextFilesAhead) {
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

}  // namespace
}  // namespace s3rdmafs::vfs
