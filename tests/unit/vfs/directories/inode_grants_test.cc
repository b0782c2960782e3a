// SPDX-License-Identifier: Apache-2.0
// Which names of a long listing come with an inode.
#include "vfs/directories/inodes/inode_grants.h"

#include <gtest/gtest.h>

#include "mounted_bucket.h"
#include "vfs/directories/inodes/lookup_counts.h"

namespace s3rdmafs::vfs {
namespace {

/// A program that reads a directory, and asks for the attributes of what it reads or does not.
struct Reader {
  static constexpr std::size_t kNamesACall = 200;

  void read(std::uint64_t names, bool asks) {
    for (const std::uint64_t end = offset + names; offset < end;) {
      const auto reply = grants.next(offset, kNamesACall, lookups);
      offset += reply.names_max;
      (reply.has_inodes ? with : without) += reply.names_max;
      if (asks && !reply.has_inodes) lookups += reply.names_max;
    }
  }

  InodeGrants grants;
  std::uint64_t offset = InodeGrants::kOnTrust;
  std::uint64_t lookups = 0;
  std::uint64_t with = 0;
  std::uint64_t without = 0;
};

TEST(InodeGrants, TheFirstNamesAreTrusted) {
  InodeGrants grants;
  EXPECT_TRUE(grants.next(0, 100, 0).has_inodes);
  EXPECT_TRUE(grants.next(InodeGrants::kOnTrust - 1, 100, 0).has_inodes);
  EXPECT_FALSE(grants.next(InodeGrants::kOnTrust, 100, 0).has_inodes) << "the control";
}

TEST(InodeGrants, AProgramThatAsksForAttributesLooksFewNamesUp) {
  Reader reader;
  reader.read(100'000, /*asks=*/true);
  EXPECT_LE(reader.lookups, 100'000 / InodeGrants::kForASample * InodeGrants::kSample + 64);
  EXPECT_EQ(reader.lookups, reader.without);
}

TEST(InodeGrants, AProgramThatAsksForNoneGetsNamesAloneInWholeReplies) {
  Reader reader;
  reader.read(100'000, /*asks=*/false);
  EXPECT_EQ(reader.with, 0U);
  EXPECT_EQ(reader.grants.next(reader.offset, 200, 0).names_max, 200U);
}

TEST(InodeGrants, AProgramThatStopsAskingGetsOneStretchMore) {
  Reader reader;
  reader.read(20'000, /*asks=*/true);
  const std::uint64_t before = reader.with;
  reader.read(50'000, /*asks=*/false);
  EXPECT_LE(reader.with - before, InodeGrants::kForASample + Reader::kNamesACall);
  reader.read(20'000, /*asks=*/true);
  EXPECT_GT(reader.with - before, 15'000U) << "the control: it asks again";
}

TEST(LookupCounts, CountOnlyWhatIsWatched) {
  LookupCounts counts;
  counts.on_lookup("d/before");
  auto count = counts.watch("d/");
  counts.on_lookup("d/a");
  counts.on_lookup("d/b/c");
  counts.on_lookup("e");
  EXPECT_EQ(*count, 1U);
  EXPECT_EQ(counts.watch("d/"), count) << "one for all that watch";
  count.reset();
  counts.on_lookup("d/a");
  EXPECT_EQ(*counts.watch("d/"), 0U) << "it ended with who watched";
}

// The whole path: a listing of more names than are trusted, of which `ls -l` asks for each.
TEST(ALongListing, GivesInodesForAsLongAsTheProgramAsks) {
  constexpr std::uint64_t kNames = InodeGrants::kOnTrust + 10'000;
  constexpr std::size_t kNamesACall = 1000;
  MountedBucket bucket;
  for (std::uint64_t i = 0; i < kNames; ++i) bucket.store.put("d/" + std::to_string(i), "");
  const Ino directory = bucket.ino_of("d");
  for (const bool asks : {true, false}) {
    const std::uint64_t handle = bucket.fs.open_directory(directory).value();
    std::uint64_t without = 0;
    std::uint64_t names = 0;
    for (std::uint64_t offset = 0;;) {
      const auto entries = answer_of<std::vector<DirectoryEntry>>([&](auto done) {
        bucket.fs.read_directory_plus(handle, offset, kNamesACall, {}, std::move(done));
      });
      if (entries->empty()) break;
      for (const DirectoryEntry& entry : *entries) {
        offset = entry.next_offset;
        if (entry.name.starts_with('.')) continue;
        ++names;
        if (bucket.fs.add_lookup(entry).attributes.ino != 0) continue;
        ++without;
        if (asks) bucket.lookup(directory, entry.name).value();
      }
    }
    EXPECT_EQ(names, kNames);
    if (asks) {
      EXPECT_LE(without, 4 * InodeGrants::kSample);
    } else {
      // The reply that passes the border has them.
      EXPECT_GE(without, kNames - InodeGrants::kOnTrust - kNamesACall);
    }
    bucket.fs.release_directory(handle);
  }
}

}  // namespace
}  // namespace s3rdmafs::vfs
