// SPDX-License-Identifier: Apache-2.0
// Extended attributes of files (metadata.posix), and the set-user-ID bit, which a write takes away.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "staged_posix_rig.h"
#include "vfs/metadata/extended_attributes.h"

namespace s3rdmafs::vfs {
namespace {

class StagedXattr : public StagedPosix {
 protected:
  std::string get(Ino ino, const std::string& name) {
    const auto value = answer_of<std::string>(
        [&](auto done) { fs_.get_extended_attribute(ino, name, {}, std::move(done)); });
    return value ? *value : std::string(error_of(value));
  }
  std::string get(std::string_view file, const std::string& name) {
    return get(bucket_.ino_of(file), name);
  }
  std::string_view set_extended(std::string_view file, ExtendedAttributeChange change) {
    const Ino ino = bucket_.ino_of(file);
    return error_of(answer_of<void>([&](auto done) {
      fs_.change_extended_attribute(ino, std::move(change), WritableBucket::kProcess, {},
                                    std::move(done));
    }));
  }
  void pass_a_second() { bucket_.clock.advance(std::chrono::milliseconds(1001)); }
};

TEST_F(StagedXattr, AnAttributeIsStoredWithoutTheBytesAndTheInodeStays) {
  store_.put("file", "bytes", {{"mode", "33188"}, {"other", "y"}});
  const Ino ino = bucket_.ino_of("file");
  EXPECT_EQ(set_extended("file", {.name = "user.one", .value = "1"}), "");
  EXPECT_EQ(extended_attributes(store_.metadata("file")), (ExtendedAttributes{{"user.one", "1"}}));
  EXPECT_EQ(store_.count(Operation::kCopy), 1U);
  EXPECT_EQ(store_.count(Operation::kPut), 0U);
  EXPECT_EQ(bucket_.ino_of("file"), ino);
  EXPECT_EQ(get("file", "user.one"), "1");
  EXPECT_EQ(stored("file").mode, 0644U);
  EXPECT_EQ(set_extended("file", {.name = "user.one", .value = "1"}), "");
  EXPECT_EQ(store_.count(Operation::kCopy), 1U) << "a change that is none";
}

TEST_F(StagedXattr, AnOpenFilesAreStoredWithItsBytes) {
  const auto handle = make("file");
  write(handle, 0, "bytes");
  EXPECT_EQ(set_extended("file", {.name = "user.one", .value = "1"}), "");
  EXPECT_EQ(get("file", "user.one"), "1");
  EXPECT_FALSE(store_.object("file"));
  EXPECT_EQ(get("file", "s3.etag"), "NoAttribute") << "the server has no version yet";
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(extended_attributes(store_.metadata("file")), (ExtendedAttributes{{"user.one", "1"}}));
  EXPECT_EQ(get("file", "user.one"), "1");
}

TEST_F(StagedXattr, ARenameKeepsThem) {
  store_.put("file", "bytes");
  EXPECT_EQ(set_extended("file", {.name = "user.one", .value = "1"}), "");
  EXPECT_EQ(error_of(bucket_.rename("file", "renamed")), "");
  EXPECT_EQ(get("renamed", "user.one"), "1");
}

TEST_F(StagedXattr, OneQuestionAnswersManyForASecond) {
  const std::string etag = store_.put("file", "bytes");
  const Ino ino = bucket_.ino_of("file");
  store_.forget_calls();
  EXPECT_EQ(get(ino, "s3.etag"), etag);
  EXPECT_EQ(get(ino, "user.one"), "NoAttribute");
  EXPECT_EQ(store_.count(Operation::kHead), 1U);
  pass_a_second();
  EXPECT_EQ(get(ino, "s3.etag"), etag);
  EXPECT_EQ(store_.count(Operation::kHead), 2U);
}

TEST_F(StagedXattr, AChangeOfThisMountShowsAtOnce) {
  store_.keep_etags_of_copies();
  store_.put("file", "bytes");
  EXPECT_EQ(get("file", "user.one"), "NoAttribute");
  EXPECT_EQ(set_extended("file", {.name = "user.one", .value = "1"}), "");
  EXPECT_EQ(get("file", "user.one"), "1");
}

TEST_F(StagedXattr, AVersionOfThisMountIsAskedForWithinTheSecondToo) {
  store_.put("file", "bytes", {{"xattr", "{\"user.one\":\"MQ==\"}"}});
  const std::string before = get("file", "s3.etag");
  const auto handle = open("file");
  write(handle, 0, "x");
  EXPECT_EQ(close(handle), "");
  EXPECT_NE(get("file", "s3.etag"), before);
  EXPECT_EQ(get("file", "user.one"), "1");
}

TEST_F(StagedXattr, OfAVersionThatIsGoneTheNameIsLookedUpAgain) {
  store_.put("file", "bytes");
  store_.put("removed", "bytes");
  const Ino ino = bucket_.ino_of("file");
  const Ino removed = bucket_.ino_of("removed");
  store_.put("file", "other");
  store_.remove("removed");
  EXPECT_EQ(get(ino, "s3.etag"), "Stale");
  EXPECT_EQ(get(removed, "s3.etag"), "Stale");
}

TEST_F(StagedXattr, AnAttributeThatTheServerDoesNotTellIsNotThere) {
  store_.put("file", "bytes");
  store_.set_headers("file", {{"x-amz-storage-class", "GLACIER"}});
  EXPECT_EQ(get("file", "s3.storage_class"), "GLACIER");
  for (const std::string name : {"s3.version", "s3.checksum", "s3.url", "s3.other"}) {
    EXPECT_EQ(get("file", name), "NoAttribute") << name;
  }
  EXPECT_EQ(get(kRootIno, "s3.etag"), "NoAttribute") << "a directory";
}

TEST_F(StagedXattr, MoreThanTheMetadataHasRoomForIsRefused) {
  store_.put("file", "bytes");
  EXPECT_EQ(set_extended("file", {.name = "user.one", .value = std::string(2048, 'x')}), "NoSpace");
  EXPECT_EQ(set_extended("file", {.name = "user.one", .value = std::string(1000, 'x')}), "");
}

TEST_F(StagedXattr, AWriteATruncationAndANewOwnerTakeTheSetUserIdBitAway) {
  for (const std::string change : {"write", "truncate", "chown"}) {
    store_.put(change, "bytes", {{"mode", "36333"}});  // 0106755
    ASSERT_EQ(of(change).posix.mode, 06755U);
    if (change == "write") {
      const auto handle = open(change);
      write(handle, 0, "x");
      EXPECT_EQ(of(change).posix.mode, 0755U) << "before it is stored";
      EXPECT_EQ(close(handle), "");
    } else if (change == "truncate") {
      EXPECT_EQ(error_of(bucket_.truncate(bucket_.ino_of(change), 1)), "");
    } else {
      EXPECT_EQ(set(change, {.uid = 5}), "");
    }
    EXPECT_EQ(stored(change).mode, 0755U) << change;
  }
  store_.put("locked", "bytes", {{"mode", "34212"}});  // 0102644: no program of its group
  EXPECT_EQ(set("locked", {.uid = 5}), "");
  EXPECT_EQ(stored("locked").mode, 02644U);
  EXPECT_EQ(set("locked", {.mode = 04755, .uid = 6}), "");
  EXPECT_EQ(stored("locked").mode, 04755U) << "the mode of the same call stands";
}

}  // namespace
}  // namespace s3rdmafs::vfs
