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
  /// All of the root, `ls -l`: with an inode for each entry. As the kernel does, looks up what
  /// comes without one.
  std::vector<Entry> list_long(std::size_t entries_max = 20) {
    const std::uint64_t handle = fs_.open_directory(kRootIno).value();
    std::vector<Entry> found;
    for (std::uint64_t offset = 0;;) {
      const auto some = read_plus(handle, offset, entries_max);
      if (some.empty()) break;
      offset = some.back().next_offset;
      for (const DirectoryEntry& entry : some) {
        if (entry.name.starts_with('.')) continue;
        const Entry given = fs_.add_lookup(entry);
        const bool has_inode = given.attributes.ino != 0;
        found.push_back(has_inode ? given : bucket_.lookup(kRootIno, entry.name).value_or(Entry()));
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
  bucket_.clock.advance(seconds(1));
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

TEST_F(ListedMetadata, OfADirectorysFirstEntriesIsAskedForByLookupsAlone) {
  for (int i = 0; i < 40; ++i) put("f" + std::to_string(1000 + i));
  const std::uint64_t handle = fs_.open_directory(kRootIno).value();
  const auto first = read_plus(handle, 0, 20);
  EXPECT_EQ(first.size(), 20U);
  EXPECT_EQ(fs_.add_lookup(first.back()).attributes.ino, 0U) << "the name alone";
  EXPECT_EQ(heads(), 0U) << "an `ls` without -l ends here";
  EXPECT_EQ(read_plus(handle, 20, 20).size(), 20U);
  EXPECT_EQ(heads(), 20U) << "the control";
  fs_.release_directory(handle);
}

TEST_F(ListedMetadata, OfNamesLookedUpInOrderIsAskedForAhead) {
  for (int i = 0; i < 100; ++i) put("f" + std::to_string(1000 + i));
  ASSERT_EQ(bucket_.list(kRootIno)->size(), 100U);
  EXPECT_TRUE(bucket_.lookup(kRootIno, "f1000"));
  EXPECT_EQ(heads(), 1U) << "one name may be all that is wanted";
  EXPECT_TRUE(bucket_.lookup(kRootIno, "f1001"));
  EXPECT_EQ(heads(), 10U);
  for (int i = 2; i < 100; ++i)
    EXPECT_TRUE(bucket_.lookup(kRootIno, "f" + std::to_string(1000 + i)));
  EXPECT_EQ(heads(), 100U) << "each once";
}

// The server holds all requests back: those that are there came side by side.
TEST_F(ListedMetadata, IsAskedForSideBySideAheadOfTheReaderAndBounded) {
  for (int i = 0; i < 400; ++i) put("f" + std::to_string(1000 + i));
  const std::uint64_t handle = fs_.open_directory(kRootIno).value();
  ASSERT_EQ(read_plus(handle, 0, 20).size(), 20U);
  store_.hold();
  std::size_t listed = 0;
  fs_.read_directory_plus(handle, 20, 60, bucket_.clock.now() + seconds(10),
                          [&](auto entries) { listed = entries->size(); });
  EXPECT_EQ(store_.held().size(), options().metadata_requests_max);
  for (int i = 0; i < 59; ++i) store_.release();
  EXPECT_EQ(listed, 0U);
  store_.release();
  EXPECT_EQ(listed, 60U);
  EXPECT_EQ(store_.held().size(), options().metadata_requests_max) << "the next ones follow";
  fs_.lookup(kRootIno, "f1399", bucket_.clock.now() + seconds(10), [](const auto&) {});
  store_.release();
  EXPECT_EQ(store_.calls().back().key, "f1399") << "a lookup is not made to wait for guesses";
  store_.release_all();
  EXPECT_EQ(heads(), 60U + 240U + 1U) << "from the 64th entry on 256, of which some were read";
  store_.forget_calls();
  EXPECT_EQ(read_plus(handle, 80, 20).size(), 20U);
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
class ChangedMetadata : public ListedMetadata {
 protected:
  ChangedMetadata() {
    store_.keep_etags_of_copies();
    put("file");
  }
  void change(const std::string& mode) {
    const auto etag = answer_of<s3::ObjectInfo>([&](auto done) {
                        store_.head("file", {}, std::move(done));
                      })->etag;
    store_.copy({"file", etag, 5}, "file",
                {.when = {}, .metadata = s3::UserMetadata{{"mode", mode}}}, {},
                [](const auto& copied) { ASSERT_TRUE(copied); });
    store_.forget_calls();
  }
};

TEST_F(ChangedMetadata, ShowsAfterTheTtl) {
  bucket_.clock.advance(seconds(1));
  EXPECT_EQ(list_long().front().attributes.posix.mode, 0640U);
  bucket_.clock.advance(hours(1));
  EXPECT_EQ(list_long().front().attributes.posix.mode, 0640U);
  EXPECT_EQ(heads(), 1U) << "the control: the same version, stored at the same time";
  change("33152");
  bucket_.clock.advance(hours(1));
  const Entry changed = list_long().front();
  EXPECT_EQ(changed.attributes.posix.mode, 0600U);
  EXPECT_EQ(fs_.attributes(changed.attributes.ino)->posix.mode, 0600U) << "the same inode";
}

TEST_F(ChangedMetadata, ShowsAlsoWhereItChangedInTheSecondOfTheStore) {
  EXPECT_EQ(list_long().front().attributes.posix.mode, 0640U);
  change("33152");
  bucket_.clock.advance(hours(1));
  EXPECT_EQ(list_long().front().attributes.posix.mode, 0600U);
}

TEST_F(ChangedMetadata, IsKnownFromAnOpenOnAndNoListingBringsBackTheOld) {
  bucket_.clock.advance(seconds(1));
  const Ino ino = list_long().front().attributes.ino;
  bucket_.clock.advance(hours(1));
  change("33152");
  bucket_.clock.advance(seconds(1));
  EXPECT_TRUE(bucket_.open(ino));
  EXPECT_EQ(fs_.attributes(ino)->posix.mode, 0600U);
  bucket_.clock.advance(hours(1));
  EXPECT_EQ(list_long().front().attributes.posix.mode, 0600U);
  EXPECT_EQ(heads(), 1U) << "that of the open";
}

TEST_F(ChangedMetadata, ThatMakesALinkOfAFileMakesAnotherInode) {
  const Ino ino = list_long().front().attributes.ino;
  EXPECT_TRUE(bucket_.open(ino)) << "the control";
  change("41471");
  bucket_.clock.advance(hours(1));
  EXPECT_EQ(error_of(bucket_.open(ino)), "Stale") << "not a link's target as a file's bytes";
  const Entry link = *bucket_.lookup(kRootIno, "file");
  EXPECT_TRUE(link.attributes.posix.is_symlink);
  EXPECT_NE(link.attributes.ino, ino);
  EXPECT_EQ(bucket_.read_link(link.attributes.ino), "bytes");
  MountedBucket off;
  off.store.put("file", "bytes", {{"mode", "41471"}});
  EXPECT_FALSE(off.lookup(kRootIno, "file")->attributes.posix.is_symlink);
}

// The kernel looks the name up twice in one call.
TEST_F(ListedMetadata, OfASilentServerIsWaitedForOnce) {
  put("file");
  ASSERT_EQ(bucket_.list(kRootIno)->size(), 1U);
  store_.fail_if([this](const fakes::FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kHead) return std::nullopt;
    bucket_.clock.advance(seconds(20));
    return s3::GetFailure{.error = {ErrorCode::kTimedOut, "silent"}};
  });
  const auto look_up = [this] {
    return answer_of<Entry>([this](auto done) {
      fs_.lookup(kRootIno, "file", bucket_.clock.now() + seconds(10), std::move(done));
    });
  };
  EXPECT_EQ(error_of(look_up()), "TimedOut");
  EXPECT_EQ(heads(), 1U);
  bucket_.clock.advance(hours(1));
  store_.fail_if({});
  EXPECT_TRUE(look_up()) << "the control";
}

TEST_F(ListedMetadata, ThatMayNotBeReadLeavesTheFilesToTheMountsOwner) {
  put("file");
  ASSERT_EQ(bucket_.list(kRootIno)->size(), 1U);
  store_.fail_if([](const fakes::FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kHead) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kAccessDenied, "may only list"}};
  });
  const auto shown = bucket_.lookup(kRootIno, "file");
  ASSERT_TRUE(shown);
  EXPECT_FALSE(shown->attributes.posix.mode);
  EXPECT_EQ(shown->attributes.size_bytes, 5U);
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
  ASSERT_EQ(read_plus(handle, 0, 20).size(), 20U);
  store_.hold();
  std::size_t listed = 0;
  fs_.read_directory_plus(handle, 20, 200, bucket_.clock.now() + seconds(10),
                          [&](auto entries) { listed = entries->size(); });
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
  bucket.fs.read_directory_plus(handle, 2, 20, bucket.clock.now() + seconds(10),
                                [&](auto entries) { listed = entries->size(); });
  EXPECT_EQ(listed, 1U);
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
  for (const char* name : {"empty", "long"}) {
    EXPECT_FALSE(bucket_.lookup(kRootIno, name)->attributes.posix.is_symlink) << "has no target";
    EXPECT_EQ(error_of(bucket_.read_link(bucket_.ino_of(name))), "InvalidArgument");
  }
  EXPECT_EQ(error_of(bucket_.read_link(bucket_.ino_of("binary"))), "Corrupt");
  EXPECT_EQ(error_of(bucket_.read_link(bucket_.ino_of("file"))), "InvalidArgument");
  EXPECT_EQ(bucket_.gauge("vfs_open_files"), 0);
}

}  // namespace
}  // namespace s3rdmafs::vfs
