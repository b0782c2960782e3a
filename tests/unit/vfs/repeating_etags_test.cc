// SPDX-License-Identifier: Apache-2.0
// A server whose ETags repeat: each object that this mount stores is another version all the same.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "vfs/file_system.h"
#include "vfs/names/inode_table.h"
#include "writable_bucket.h"

namespace s3rdmafs::vfs {
namespace {

class RepeatingETags : public testing::Test {
 protected:
  RepeatingETags() { bucket_.store.repeat_etags(); }

  void store(std::string_view text) {
    const auto handle = bucket_.open_truncated(kRootIno, "file");
    ASSERT_TRUE(handle) << handle.error().detail;
    EXPECT_EQ(error_of(bucket_.write(*handle, 0, text)), "");
    EXPECT_EQ(error_of(bucket_.sync(*handle)), "");
    bucket_.fs.release(*handle);
  }
  Ino number() { return bucket_.lookup(kRootIno, "file")->attributes.ino; }
  std::string etag() {
    return answer_of<s3::ObjectInfo>(
               [&](auto done) { bucket_.store.head("file", {}, std::move(done)); })
        .value()
        .etag;
  }
  Result<OpenFile> open(Ino ino) { return bucket_.open(ino); }

  WritableBucket bucket_;
};

TEST_F(RepeatingETags, AnOverwriteIsAnotherInodeAndIsReadAgain) {
  store("old!");
  const Ino old = number();
  const std::string old_etag = etag();
  const auto reader = open(old);
  ASSERT_TRUE(reader);
  const int opens = bucket_.cache.opens();
  store("new!");
  ASSERT_EQ(etag(), old_etag) << "the control: the server tells no difference";
  EXPECT_EQ(bucket_.repeated, std::vector<std::string>{"file"}) << "for the tier on a disk";
  EXPECT_NE(number(), old);
  EXPECT_EQ(error_of(open(old)), "Stale") << "so that the kernel looks again";
  EXPECT_EQ(error_of(open(number())), "");
  EXPECT_EQ(bucket_.cache.opens(), opens + 1) << "not through what the old version's readers share";
}

TEST_F(RepeatingETags, AFileThatOthersStoredAndThisMountReplacedIsAnotherInode) {
  bucket_.store.put("file", "old!");
  const Ino old = number();
  store("new!");
  EXPECT_NE(number(), old);
}

TEST_F(RepeatingETags, AFileIsTheSameInodeUntilItIsStoredAgain) {
  store("old!");
  const Ino first = number();
  EXPECT_EQ(number(), first);
  EXPECT_EQ(first, hash_node(Node::file({"file", etag(), 4, {}}))) << "the same in every mount";
  store("new!");
  const Ino second = number();
  EXPECT_EQ(number(), second);
  bucket_.clock.advance(std::chrono::hours(1));
  EXPECT_EQ(number(), second);
  EXPECT_EQ(error_of(open(second)), "");
}

TEST_F(RepeatingETags, AListingTellsTheSameInodeAsALookup) {
  store("old!");
  number();
  store("new!");
  const auto handle = bucket_.fs.open_directory(kRootIno);
  ASSERT_TRUE(handle);
  const auto entries = bucket_.read_directory(*handle, 0, 10);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3U) << "with . and ..";
  EXPECT_EQ(entries->back().attributes.ino, number());
  bucket_.fs.release_directory(*handle);
}

TEST_F(RepeatingETags, TruncatingThroughTheOldInodeIsLookedUpAgain) {
  store("old!");
  const Ino old = number();
  store("new!");
  EXPECT_EQ(error_of(bucket_.truncate(old, 4)), "Stale");
  EXPECT_EQ(error_of(bucket_.truncate(number(), 4)), "");
}

}  // namespace
}  // namespace s3rdmafs::vfs
