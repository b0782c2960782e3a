// SPDX-License-Identifier: Apache-2.0
// Attributes and symbolic links that are kept in user metadata (metadata.posix = "write").
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "staged_posix_rig.h"

namespace s3rdmafs::vfs {
namespace {

using Time = PosixAttributes::Time;

TEST_F(StagedPosix, ANewFileHasTheModeAndOwnerThatItWasMadeWith) {
  const auto handle = make("file");
  EXPECT_EQ(of("file").posix.mode, 0640U) << "before it is stored";
  later();
  write(handle, 0, "bytes");
  const Time written = now();
  later();
  EXPECT_EQ(close(handle), "");
  const PosixAttributes file = stored("file");
  EXPECT_EQ(file.mode, 0640U);
  EXPECT_EQ(file.uid, 3U);
  EXPECT_EQ(file.gid, 4U);
  EXPECT_EQ(file.modified, written);
  EXPECT_EQ(of("file").modified, written);
  EXPECT_EQ(store_.count(Operation::kPut), 1U);
}

TEST_F(StagedPosix, AChangeIsKeptWithoutTheBytesAndTheInodeStays) {
  store_.put("file", std::string(10'000, 'x'),
             {{"mode", "33188"}, {"mtime", "100"}, {"other", "y"}});
  const Ino ino = bucket_.ino_of("file");
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  EXPECT_EQ(stored("file").mode, 0600U);
  EXPECT_EQ(stored("file").modified, Time(seconds(100))) << "chmod(2) leaves it";
  EXPECT_EQ(stored("file").changed, now());
  EXPECT_EQ(set("file", {.uid = 7, .gid = 8}), "");
  EXPECT_EQ(set("file", {.modified = Time(seconds(5)), .accessed = Time(seconds(6))}), "");
  const PosixAttributes file = stored("file");
  EXPECT_EQ(file.mode, 0600U);
  EXPECT_EQ(file.uid, 7U);
  EXPECT_EQ(file.gid, 8U);
  EXPECT_EQ(file.modified, Time(seconds(5)));
  EXPECT_EQ(file.accessed, Time(seconds(6)));
  EXPECT_EQ(store_.metadata("file")[1], (std::pair<std::string, std::string>{"other", "y"}));
  EXPECT_EQ(store_.count(Operation::kCopy), 3U);
  EXPECT_EQ(store_.count(Operation::kPut) + store_.count(Operation::kUploadPart), 0U);
  EXPECT_EQ(fs_.attributes(ino)->posix.uid, 7U) << "also before the next lookup";
  EXPECT_EQ(bucket_.ino_of("file"), ino);
  EXPECT_EQ(of("file").modified, Time(seconds(5)));
  EXPECT_TRUE(has_nothing_staged());
  EXPECT_EQ(read(open_to_read("file")), std::string(10'000, 'x'));
}

TEST_F(StagedPosix, AChangeThatIsNoneCostsNoCopy) {
  store_.put("file", "x", {{"mode", "33188"}, {"uid", "3"}});
  EXPECT_EQ(set("file", {.mode = 0644, .uid = 3}), "");
  EXPECT_EQ(store_.count(Operation::kCopy), 0U);
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  EXPECT_EQ(store_.count(Operation::kCopy), 1U) << "the control";
}

// As cp -a and tar do before they close the file.
TEST_F(StagedPosix, AChangeOfAnOpenFileIsStoredWithItsBytes) {
  const auto handle = make("file");
  write(handle, 0, "bytes");
  EXPECT_EQ(set("file", {.mode = 0755, .modified = Time(seconds(5))}), "");
  EXPECT_EQ(of("file").posix.mode, 0755U);
  EXPECT_EQ(of("file").modified, Time(seconds(5)));
  EXPECT_FALSE(store_.object("file"));
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(stored("file").mode, 0755U);
  EXPECT_EQ(stored("file").modified, Time(seconds(5)));
  EXPECT_EQ(store_.calls().back().operation, Operation::kPut);
  EXPECT_EQ(store_.count(Operation::kCopy), 0U);
}

TEST_F(StagedPosix, AWriteMakesTheTimeThatOfTheWrite) {
  store_.put("file", "old", {{"mode", "33188"}, {"mtime", "100"}});
  const auto handle = open("file");
  EXPECT_EQ(of("file").modified, Time(seconds(100))) << "the control: it is only open";
  later();
  write(handle, 0, "new");
  EXPECT_EQ(of("file").modified, now());
  EXPECT_EQ(of("file").posix.changed, now()) << "as POSIX has it";
  const Time written = now();
  later();
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(stored("file").modified, written);
  EXPECT_EQ(stored("file").changed, written);
  EXPECT_EQ(stored("file").mode, 0644U);
  EXPECT_EQ(of("file").modified, written);
}

TEST_F(StagedPosix, ATruncationToTheSameSizeIsANewTime) {
  store_.put("stamp", "", {{"mode", "33188"}, {"mtime", "100"}});
  later();
  EXPECT_EQ(close(open("stamp", /*truncate=*/true)), "");
  EXPECT_EQ(stored("stamp").modified, now());
  later();
  EXPECT_EQ(error_of(bucket_.truncate(bucket_.ino_of("stamp"), 0)), "");
  EXPECT_EQ(stored("stamp").modified, now());
  EXPECT_EQ(of("stamp").modified, now());
  EXPECT_EQ(stored("stamp").mode, 0644U);
  EXPECT_EQ(store_.count(Operation::kCopy), 2U);
}

TEST_F(StagedPosix, ATimeThatIsSetTwiceWithAWriteBetweenIsKept) {
  store_.put("file", "old");
  const auto handle = open("file");
  EXPECT_EQ(set("file", {.modified = Time(seconds(5))}), "");
  later();
  write(handle, 0, "new");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  EXPECT_NE(stored("file").modified, Time(seconds(5)));
  later();
  EXPECT_EQ(set("file", {.modified = Time(seconds(5))}), "");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(stored("file").modified, Time(seconds(5)));
}

// Most servers make an ETag of the bytes, so that of the copy is the same.
TEST_F(StagedPosix, AChangeAtAServerThatKeepsTheETagLeavesWhatIsCached) {
  store_.keep_etags_of_copies();
  store_.put("file", "bytes");
  const Ino ino = bucket_.ino_of("file");
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  EXPECT_TRUE(bucket_.repeated.empty()) << "the bytes are the same";
  EXPECT_EQ(bucket_.ino_of("file"), ino);
  EXPECT_EQ(of("file").posix.mode, 0600U);
  EXPECT_EQ(read(open_to_read("file")), "bytes");
}

TEST_F(StagedPosix, ReadersOfAFileReadOnWhenItsAttributesChange) {
  store_.put("file", "bytes");
  const auto reader = open_to_read("file");
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  EXPECT_EQ(read(reader), "bytes");
  EXPECT_EQ(set("file", {.mode = 0644}), "");
  EXPECT_EQ(read(reader), "bytes");
  fs_.release(reader);
  EXPECT_TRUE(has_nothing_staged());
}

TEST_F(StagedPosix, ARenameKeepsAttributesAndLinks) {
  const auto handle = make("a");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(error_of(bucket_.make_symlink("l", "a")), "");
  const Ino file = bucket_.ino_of("a");
  const Ino link = bucket_.ino_of("l");
  EXPECT_EQ(error_of(bucket_.rename("a", "b")), "");
  EXPECT_EQ(error_of(bucket_.rename("l", "m")), "");
  EXPECT_EQ(stored("b").mode, 0640U);
  EXPECT_EQ(stored("b").uid, 3U);
  EXPECT_TRUE(stored("m").is_symlink);
  EXPECT_EQ(fs_.attributes(file)->posix.mode, 0640U) << "before the next lookup";
  EXPECT_EQ(fs_.attributes(link)->posix.is_symlink, true);
  EXPECT_EQ(bucket_.read_link(link), "a");
  EXPECT_EQ(of("b").posix.uid, 3U);
}

TEST_F(StagedPosix, ALinkIsAnObjectWithTheTargetAsItsBody) {
  const auto made = bucket_.make_symlink("link", "../somewhere else");
  ASSERT_TRUE(made) << error_of(made);
  EXPECT_TRUE(made->attributes.posix.is_symlink);
  EXPECT_EQ(made->attributes.size_bytes, 17U);
  EXPECT_EQ(store_.object("link"), "../somewhere else");
  EXPECT_TRUE(stored("link").is_symlink);
  EXPECT_EQ(stored("link").uid, 5U);
  EXPECT_EQ(bucket_.read_link(made->attributes.ino), "../somewhere else");
  EXPECT_EQ(error_of(bucket_.make_symlink("link", "x")), "Exists");
  EXPECT_EQ(error_of(bucket_.make_symlink("long", std::string(kLinkBytesMax + 1, 'x'))),
            "NameTooLong");
  EXPECT_EQ(set("link", {.uid = 9, .modified = Time(seconds(5))}), "");
  EXPECT_EQ(stored("link").uid, 9U);
  EXPECT_TRUE(stored("link").is_symlink);
  EXPECT_EQ(bucket_.read_link(bucket_.ino_of("link")), "../somewhere else");
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "link")), "");
  EXPECT_FALSE(store_.object("link"));
}

// The answer of the lookup before is old by then.
TEST_F(StagedPosix, ALinkDoesNotReplaceWhatAnotherClientStores) {
  EXPECT_FALSE(bucket_.lookup(kRootIno, "link"));
  store_.put("link", "by another client");
  const auto made = bucket_.make_symlink("link", "target");
  EXPECT_TRUE(error_of(made) == "Stale" || error_of(made) == "Exists") << error_of(made);
  EXPECT_EQ(store_.object("link"), "by another client");
}

class ReadPosix : public StagedRig {
 protected:
  ReadPosix() : StagedRig(kMiB, PosixMetadata::kRead) {}
};

TEST_F(ReadPosix, ChangesOfAttributesAreForgottenAndLinksRefused) {
  store_.put("file", "x", {{"mode", "33188"}});
  EXPECT_EQ(error_of(bucket_.set_attributes(bucket_.ino_of("file"), {.mode = 0600})), "");
  EXPECT_EQ(fs_.attributes(bucket_.ino_of("file"))->posix.mode, 0644U);
  EXPECT_EQ(store_.count(Operation::kCopy), 0U);
  EXPECT_EQ(error_of(bucket_.make_symlink("link", "x")), "SequentialOnly");
  EXPECT_FALSE(store_.object("link"));
}

TEST_F(ReadPosix, AFileThatIsWrittenKeepsItsModeAndLosesTheTimeOfItsOldBytes) {
  store_.put("file", "old", {{"mode", "33152"}, {"mtime", "100"}, {"other", "y"}});
  const auto handle = open("file");
  write(handle, 0, "new");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.metadata("file"), (s3::UserMetadata{{"mode", "33152"}, {"other", "y"}}));
  bucket_.clock.advance(std::chrono::hours(1));
  EXPECT_NE(bucket_.lookup(kRootIno, "file")->attributes.modified, Time(seconds(100)));
}

class OffPosix : public StagedRig {};

TEST_F(OffPosix, UserMetadataOfOthersIsKeptAndNotLookedAt) {
  const s3::UserMetadata metadata = {{"mode", "33152"}, {"mtime", "100"}};
  store_.put("file", "old", metadata);
  const auto handle = open("file");
  write(handle, 0, "new");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.metadata("file"), metadata);
  EXPECT_EQ(error_of(bucket_.set_attributes(bucket_.ino_of("file"), {.mode = 0600})), "");
  EXPECT_EQ(store_.metadata("file"), metadata);
  EXPECT_FALSE(fs_.attributes(bucket_.ino_of("file"))->posix.mode);
}

}  // namespace
}  // namespace s3rdmafs::vfs
