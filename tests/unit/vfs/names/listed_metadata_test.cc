// SPDX-License-Identifier: Apache-2.0
// Attributes that come from user metadata (metadata.posix = "read"): by lookups, and of what a
// listing shows.
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../mounted_bucket.h"

namespace s3rdmafs::vfs {
namespace {

using std::chrono::hours;
using Time = PosixAttributes::Time;

class ListedMetadata : public testing::Test {
 protected:
  static FileSystem::Options options() {
    return {.prefix = "",
            .ttl = MountedBucket::kTtl,
            .negative_ttl = MountedBucket::kNegativeTtl,
            .posix = PosixMetadata::kRead};
  }
  void put(const std::string& name, std::uint32_t mode = 0640) {
    store_.put(name, "bytes", {{"mode", std::to_string(0100000 | mode)}, {"mtime", "100.25"}});
  }
  /// One call of a directory's reader, as readdirplus makes it.
  std::vector<DirectoryEntry> read_plus(std::uint64_t handle, std::uint64_t offset,
                                        std::size_t entries_max) {
    const auto entries = answer_of<std::vector<DirectoryEntry>>([&](auto done) {
      fs_.read_directory_plus(handle, offset, entries_max, bucket_.clock.now() + seconds(10),
                              std::move(done));
    });
    return entries.value_or(std::vector<DirectoryEntry>());
  }
  /// All of the root, `ls -l`: with an inode for each entry.
  std::vector<Entry> list_long(std::size_t entries_max = 20) {
    const std::uint64_t handle = fs_.open_directory(kRootIno).value();
    std::vector<Entry> found;
    for (std::uint64_t offset = 0;;) {
      const auto some = read_plus(handle, offset, entries_max);
      if (some.empty()) break;
      offset = some.back().next_offset;
      for (const DirectoryEntry& entry : some) {
        if (!entry.name.starts_with('.')) found.push_back(fs_.add_lookup(handle, entry));
      }
    }
    fs_.release_directory(handle);
    return found;
  }
  std::size_t heads() const { return store_.count(Operation::kHead); }

  MountedBucket bucket_{options()};
  fakes::FakeObjectStore& store_ = bucket_.store;
  FileSystem& fs_ = bucket_.fs;
};

TEST_F(ListedMetadata, IsShownByALookup) {
  store_.put("file", "12345",
             {{"mode", "33152"}, {"uid", "3"}, {"gid", "4"}, {"mtime", "100.25"}, {"atime", "1"}});
  const Attributes file = bucket_.lookup(kRootIno, "file")->attributes;
  EXPECT_EQ(file.posix.mode, 0600U);
  EXPECT_EQ(file.posix.uid, 3U);
  EXPECT_EQ(file.posix.gid, 4U);
  EXPECT_EQ(file.modified, Time(std::chrono::milliseconds(100'250)));
  EXPECT_EQ(file.posix.accessed, Time(seconds(1)));
  EXPECT_EQ(file.posix.changed, bucket_.clock.wall_now()) << "there is none: when it was stored";
  EXPECT_EQ(fs_.attributes(file.ino)->posix.mode, 0600U);
  MountedBucket off;
  off.store.put("file", "12345", {{"mode", "33152"}, {"mtime", "100"}});
  const Attributes plain = off.lookup(kRootIno, "file")->attributes;
  EXPECT_FALSE(plain.posix.mode) << "the control";
  EXPECT_EQ(plain.modified, off.clock.wall_now());
}

TEST_F(ListedMetadata, CostsOneRequestForEachFileAndNoneForDirectories) {
  for (const char* name : {"a", "b", "c"}) put(name);
  store_.put("d/file", "x");
  const auto listed = list_long();
  ASSERT_EQ(listed.size(), 4U);
  for (const Entry& entry : listed) {
    EXPECT_NE(entry.attributes.ino, 0U);
    EXPECT_EQ(entry.attributes.posix.mode == 0640U, !entry.attributes.is_directory);
  }
  EXPECT_EQ(heads(), 3U);
  store_.forget_calls();
  EXPECT_EQ(list_long().size(), 4U);
  EXPECT_EQ(bucket_.lookup(kRootIno, "b")->attributes.posix.mode, 0640U);
  EXPECT_EQ(heads(), 0U) << "all is known by now";
}

TEST_F(ListedMetadata, OfAPlainListingCostsNothingAndLeavesTheTypeOpen) {
  put("file");
  store_.put("empty", "");
  store_.put("large", std::string(5000, 'x'));
  const auto entries = bucket_.list(kRootIno).value();
  EXPECT_EQ(entries.size(), 3U);
  for (const DirectoryEntry& entry : entries) {
    EXPECT_EQ(entry.attributes.is_type_known, entry.name != "file") << entry.name;
  }
  EXPECT_EQ(heads(), 0U);
  store_.forget_calls();
  EXPECT_EQ(bucket_.lookup(kRootIno, "file")->attributes.posix.mode, 0640U);
  EXPECT_EQ(store_.calls().size(), 1U) << "one request, not the two of an unknown name";
}

// The server holds all requests back: those that are there came side by side.
TEST_F(ListedMetadata, IsAskedForSideBySideAheadOfTheReaderAndBounded) {
  for (int i = 0; i < 400; ++i) put("f" + std::to_string(1000 + i));
  const std::uint64_t handle = fs_.open_directory(kRootIno).value();
  store_.hold();
  std::size_t listed = 0;
  fs_.read_directory_plus(handle, 0, 20, bucket_.clock.now() + seconds(10),
                          [&](auto entries) { listed = entries->size(); });
  ASSERT_TRUE(store_.release());  // the page of the listing
  EXPECT_EQ(store_.held().size(), 64U);
  EXPECT_EQ(listed, 0U);
  for (int i = 0; i < 18; ++i) store_.release();
  EXPECT_EQ(listed, 20U) << "two of them are dots";
  EXPECT_EQ(store_.held().size(), 64U) << "the next ones follow";
  store_.release_all();
  EXPECT_EQ(heads(), 254U) << "two runs of 128 entries, without the dots";
  store_.forget_calls();
  EXPECT_EQ(read_plus(handle, 20, 20).size(), 20U);
  EXPECT_EQ(heads(), 0U);
  fs_.release_directory(handle);
}

TEST_F(ListedMetadata, ThatCannotBeHadLeavesTheNameForALookup) {
  put("a");
  put("b");
  store_.fail_if([](const fakes::FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kHead || call.key != "a") return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kServerError, "failed by the test"}};
  });
  const auto listed = list_long();
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0].attributes.ino, 0U);
  EXPECT_NE(listed[1].attributes.ino, 0U) << "the control";
  EXPECT_FALSE(bucket_.lookup(kRootIno, "a"));
  store_.fail_if({});
  EXPECT_EQ(bucket_.lookup(kRootIno, "a")->attributes.posix.mode, 0640U);
}

TEST_F(ListedMetadata, OfAFileThatWentOrChangedSinceIsThatOfNow) {
  put("changed");
  put("gone");
  ASSERT_EQ(bucket_.list(kRootIno)->size(), 2U);
  put("changed", 0600);
  store_.remove("gone");
  EXPECT_EQ(bucket_.lookup(kRootIno, "changed")->attributes.posix.mode, 0600U);
  EXPECT_EQ(bucket_.lookup(kRootIno, "gone").error().code, ErrorCode::kNotFound);
}

// Another client's chmod keeps the ETag at most servers.
TEST_F(ListedMetadata, ThatAnotherClientChangesShowsAfterTheTtl) {
  store_.keep_etags_of_copies();
  put("file");
  EXPECT_EQ(list_long().front().attributes.posix.mode, 0640U);
  bucket_.clock.advance(hours(1));
  EXPECT_EQ(list_long().front().attributes.posix.mode, 0640U);
  EXPECT_EQ(heads(), 1U) << "the control: the same version, stored at the same time";
  const auto etag =
      answer_of<s3::ObjectInfo>([&](auto done) { store_.head("file", {}, std::move(done)); })->etag;
  store_.copy({"file", etag, 5}, "file",
              {.when = {}, .metadata = s3::UserMetadata{{"mode", "33152"}}}, {},
              [](const auto& copied) { ASSERT_TRUE(copied); });
  bucket_.clock.advance(hours(1));
  const Entry changed = list_long().front();
  EXPECT_EQ(changed.attributes.posix.mode, 0600U);
  EXPECT_EQ(fs_.attributes(changed.attributes.ino)->posix.mode, 0600U) << "the same inode";
}

TEST_F(ListedMetadata, OfManyLookupsOfOneNameIsAskedForOnce) {
  put("file");
  ASSERT_EQ(bucket_.list(kRootIno)->size(), 1U);
  store_.hold();
  int found = 0;
  for (int i = 0; i < 3; ++i) {
    fs_.lookup(kRootIno, "file", {}, [&](const Result<Entry>& entry) { found += entry ? 1 : 0; });
  }
  EXPECT_EQ(store_.held().size(), 1U);
  store_.release_all();
  EXPECT_EQ(found, 3);
}

TEST_F(ListedMetadata, WaitsForNothingWhenTheMountEnds) {
  for (int i = 0; i < 300; ++i) put("f" + std::to_string(1000 + i));
  const std::uint64_t handle = fs_.open_directory(kRootIno).value();
  store_.hold();
  std::size_t listed = 0;
  fs_.read_directory_plus(handle, 0, 200, bucket_.clock.now() + seconds(10),
                          [&](auto entries) { listed = entries->size(); });
  ASSERT_TRUE(store_.release());  // the page of the listing
  store_.shut_down();
  EXPECT_EQ(listed, 200U);
  EXPECT_TRUE(store_.held().empty());
}

TEST_F(ListedMetadata, IsAskedForByLookupsAloneWhereNoNameIsKept) {
  FileSystem::Options no_ttl = options();
  no_ttl.ttl = no_ttl.negative_ttl = seconds(0);
  MountedBucket bucket(no_ttl);
  bucket.store.put("file", "x", {{"mode", "33152"}});
  const std::uint64_t handle = bucket.fs.open_directory(kRootIno).value();
  std::size_t listed = 0;
  bucket.fs.read_directory_plus(handle, 0, 20, bucket.clock.now() + seconds(10),
                                [&](auto entries) { listed = entries->size(); });
  EXPECT_EQ(listed, 3U);
  EXPECT_EQ(bucket.store.count(Operation::kHead), 0U);
  EXPECT_EQ(bucket.lookup(kRootIno, "file")->attributes.posix.mode, 0600U);
  bucket.fs.release_directory(handle);
}

TEST_F(ListedMetadata, SaysThatAFileIsALinkAndItsTargetIsReadWithinABound) {
  const s3::UserMetadata link = {{"mode", "41471"}};
  store_.put("link", "../target", link);
  store_.put("empty", "", link);
  store_.put("long", std::string(kLinkBytesMax + 1, 'x'), link);
  store_.put("longest", std::string(kLinkBytesMax, 'x'), link);
  store_.put("binary", std::string("a\0b", 3), link);
  put("file");
  EXPECT_TRUE(bucket_.lookup(kRootIno, "link")->attributes.posix.is_symlink);
  EXPECT_EQ(bucket_.read_link(bucket_.ino_of("link")), "../target");
  EXPECT_EQ(bucket_.read_link(bucket_.ino_of("longest"))->size(), kLinkBytesMax);
  EXPECT_EQ(error_of(bucket_.read_link(bucket_.ino_of("empty"))), "InvalidArgument");
  EXPECT_EQ(error_of(bucket_.read_link(bucket_.ino_of("long"))), "NameTooLong");
  EXPECT_EQ(error_of(bucket_.read_link(bucket_.ino_of("binary"))), "Corrupt");
  EXPECT_EQ(error_of(bucket_.read_link(bucket_.ino_of("file"))), "InvalidArgument");
  EXPECT_EQ(bucket_.gauge("vfs_open_files"), 0);
}

}  // namespace
}  // namespace s3rdmafs::vfs
