// SPDX-License-Identifier: Apache-2.0
// Close-to-open: what another client had stored before an open is what the open finds, although
// this mount knew an older answer, which stat(2) may still believe.
#include <gtest/gtest.h>

#include "mounted_bucket.h"

namespace s3rdmafs::vfs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Operation = fakes::FakeObjectStore::Operation;

FileSystem::Options options_with(bool confirms_opens) {
  return {.prefix = "",
          .ttl = MountedBucket::kTtl,
          .negative_ttl = confirms_opens ? seconds(0) : MountedBucket::kNegativeTtl,
          .confirms_opens = confirms_opens};
}

class CloseToOpen : public testing::Test {
 protected:
  /// As open(2): after ESTALE the kernel looks the name up again, whatever it keeps.
  static std::string open_by_name(MountedBucket& bucket, std::string_view name) {
    for (int attempt = 0;; ++attempt) {
      const auto found = bucket.lookup(kRootIno, name);
      if (!found) return std::string(error_of(found));
      const std::string text = open_known(bucket, found->attributes.ino);
      if (text != "Stale" || attempt == 1) return text;
    }
  }
  /// As open(2) of a name that the kernel keeps: its bytes, or the error.
  static std::string open_known(MountedBucket& bucket, Ino ino) {
    const auto opened = bucket.open(ino);
    if (!opened) return std::string(error_of(opened));
    const auto text = bucket.read(opened->handle, 0, 100);
    bucket.fs.release(opened->handle);
    return text ? *text : std::string(error_of(text));
  }
  std::size_t heads() const { return store_.count(Operation::kHead); }

  MountedBucket bucket_{options_with(/*confirms_opens=*/true)};
  MountedBucket by_ttl_{options_with(/*confirms_opens=*/false)};
  fakes::FakeObjectStore& store_ = bucket_.store;
};

TEST_F(CloseToOpen, AnOpenOfAKnownNameFindsTheVersionThatIsThereNow) {
  Ino known = 0;  // the same number in both
  for (MountedBucket* bucket : {&bucket_, &by_ttl_}) {
    bucket->store.put("file", "old");
    known = bucket->ino_of("file");
    bucket->store.put("file", "new");
    bucket->clock.advance(milliseconds(3));
  }
  EXPECT_EQ(error_of(by_ttl_.open(known)), "") << "the control: by the ttl";
  EXPECT_EQ(error_of(bucket_.open(known)), "Stale") << "so that the kernel looks it up again";
  EXPECT_EQ(open_by_name(bucket_, "file"), "new");
}

TEST_F(CloseToOpen, OneOpenAloneRestsOnTheAnswerOfItsLookup) {
  store_.put("file", "old");
  const Ino known = bucket_.ino_of("file");
  store_.forget_calls();
  EXPECT_EQ(open_known(bucket_, known), "old");
  EXPECT_EQ(heads(), 0U) << "the lookup has just asked";
  store_.put("file", "new");
  EXPECT_EQ(open_known(bucket_, known), "Stale") << "although no time has passed";
}

TEST_F(CloseToOpen, AnOpenOfANameThatWasAbsentFindsTheNewFile) {
  for (MountedBucket* bucket : {&bucket_, &by_ttl_}) {
    ASSERT_EQ(open_by_name(*bucket, "file"), "NotFound");
    bucket->store.put("file", "new");
  }
  EXPECT_EQ(open_by_name(bucket_, "file"), "new");
  EXPECT_EQ(open_by_name(by_ttl_, "file"), "NotFound") << "the control";
}

TEST_F(CloseToOpen, AnOpenOfANameThatIsGoneFailsAtOnce) {
  store_.put("file", "old");
  const Ino ino = bucket_.ino_of("file");
  store_.remove("file");
  bucket_.clock.advance(milliseconds(3));
  EXPECT_EQ(open_known(bucket_, ino), "Stale") << "so that the kernel looks it up again";
  EXPECT_EQ(open_by_name(bucket_, "file"), "NotFound");
}

TEST_F(CloseToOpen, TheLookupOfTheSameOpenIsConfirmationEnough) {
  store_.put("file", "x");
  const Ino ino = bucket_.ino_of("file");
  store_.forget_calls();
  bucket_.clock.advance(milliseconds(1));
  EXPECT_EQ(open_known(bucket_, ino), "x");
  EXPECT_EQ(heads(), 0U);
  bucket_.clock.advance(milliseconds(3));
  EXPECT_EQ(open_known(bucket_, ino), "x");
  EXPECT_EQ(heads(), 1U) << "a later open is another one";
}

TEST_F(CloseToOpen, AnOlderListingDoesNotConfirm) {
  store_.put("file", "x");
  ASSERT_TRUE(bucket_.list(kRootIno));
  bucket_.clock.advance(milliseconds(3));
  const Ino ino = bucket_.ino_of("file");  // from the name cache
  store_.forget_calls();
  EXPECT_EQ(open_known(bucket_, ino), "x");
  EXPECT_EQ(heads(), 1U);
}

// The kernel looks a name up once more only.
TEST_F(CloseToOpen, AfterAStaleOpenNoListingThatWasUnderWayIsBelieved) {
  store_.put("file", "old");
  const Ino ino = bucket_.ino_of("file");
  bucket_.clock.advance(milliseconds(3));
  store_.hold();
  const std::uint64_t directory = bucket_.fs.open_directory(kRootIno).value();
  Answer<std::vector<DirectoryEntry>> listed;
  bucket_.fs.read_directory(directory, 0, 100, {}, listed.done());
  Answer<OpenFile> opened;
  bucket_.clock.advance(milliseconds(3));
  bucket_.fs.open(ino, {}, opened.done());
  ASSERT_EQ(store_.held().size(), 2U);
  store_.put("file", "newer");
  ASSERT_TRUE(store_.release(1));
  EXPECT_EQ(opened.error(), "Stale");
  ASSERT_TRUE(store_.release(0));
  EXPECT_EQ(listed.error(), "") << "it shows a version that the kernel has not heard of";
  store_.release_all();
  store_.remove("file");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "file")), "NotFound");
  bucket_.fs.release_directory(directory);
}

// O_EXCL, and the target of a rename: the kernel asks although it keeps the name.
TEST_F(CloseToOpen, ALookupOfAFileThatTheKernelHasAsksTheStore) {
  store_.put("file", "x");
  store_.put("listed", "x");
  ASSERT_TRUE(bucket_.list(kRootIno));
  store_.forget_calls();
  ASSERT_TRUE(bucket_.lookup(kRootIno, "listed"));
  EXPECT_EQ(heads(), 0U) << "the control: the kernel did not have it";
  ASSERT_TRUE(bucket_.lookup(kRootIno, "listed"));
  EXPECT_EQ(heads(), 1U);
  store_.remove("listed");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "listed")), "NotFound");
}

TEST_F(CloseToOpen, ALookupOfADirectoryThatTheKernelHasDoesNot) {
  store_.put("d/file", "x");
  bucket_.ino_of("d");
  store_.forget_calls();
  bucket_.ino_of("d");
  EXPECT_TRUE(store_.calls().empty()) << "an open that is repeated looks up its whole path";
}

}  // namespace
}  // namespace s3rdmafs::vfs
