// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "mounted_bucket.h"
#include "vfs/file_system.h"

namespace s3rdmafs::vfs {
namespace {

using FileSystemDirectories = MountedBucketTest;

TEST_F(FileSystemDirectories, ADirectoryListsWithDotsFirstAndTheNumbersThatLookupsGive) {
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

TEST_F(FileSystemDirectories, LookupsAfterAListingNeedNoRequests) {
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

TEST_F(FileSystemDirectories, AddLookupGivesTheKernelTheEntryOfALookup) {
  store_.put("a", "123");
  const std::uint64_t handle = fs_.open_directory(kRootIno).value();
  const auto entries = bucket_.read_directory(handle, 2, 100);
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_FALSE(fs_.attributes(entries->front().attributes.ino)) << "listing alone gives no inode";
  bucket_.clock.advance(seconds(10));
  const Entry entry = fs_.add_lookup(entries->front());
  EXPECT_EQ(entry.attributes.ino, entries->front().attributes.ino);
  EXPECT_EQ(entry.valid_for, seconds(20));
  EXPECT_EQ(fs_.attributes(entry.attributes.ino)->size_bytes, 3U);
  fs_.forget(entry.attributes.ino, 1);
  EXPECT_FALSE(fs_.attributes(entry.attributes.ino));
}

TEST_F(FileSystemDirectories, HiddenKeysAreCountedAndNeverShown) {
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

TEST_F(FileSystemDirectories, AReleasedOrUnknownHandleIsRefused) {
  const std::uint64_t handle = fs_.open_directory(kRootIno).value();
  fs_.release_directory(handle);
  EXPECT_EQ(error_of(bucket_.read_directory(handle, 0, 1)), "InvalidArgument");
  EXPECT_EQ(error_of(bucket_.read(99, 0, 1)), "InvalidArgument");
}

TEST_F(FileSystemDirectories, OpenHandlesOfOneDirectoryShareItsListing) {
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

TEST_F(FileSystemDirectories, ADirectoryThatIsRewoundIsListedAgain) {
  bucket_.store.put("d/a", "");
  const std::uint64_t handle = bucket_.fs.open_directory(ino_of("d")).value();
  EXPECT_EQ(bucket_.read_directory(handle, 0, 100)->size(), 3U);
  bucket_.store.put("d/b", "");
  EXPECT_EQ(bucket_.read_directory(handle, 3, 100)->size(), 0U) << "the control: it goes on";
  const auto again = bucket_.read_directory(handle, 0, 100);
  ASSERT_EQ(again->size(), 4U);
  EXPECT_EQ(again->back().name, "b");
  EXPECT_EQ(bucket_.fs.add_lookup(again->back()).attributes.ino, again->back().attributes.ino);
  bucket_.fs.release_directory(handle);
}

TEST_F(FileSystemDirectories, ListingsBeyondTheirMemoryFailUntilDirectoriesAreClosed) {
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
