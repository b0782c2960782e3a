// SPDX-License-Identifier: Apache-2.0
// Changes of attributes beside other clients, other processes and readers, and those that fail.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "staged_posix_rig.h"

namespace s3rdmafs::vfs {
namespace {

TEST_F(StagedPosix, ChangesKeepTheTypeOfTheContentAndItsLike) {
  const s3::StoredHeaders headers = {{"content-type", "text/html"},
                                     {"content-encoding", "gzip"},
                                     {"x-amz-storage-class", "STANDARD_IA"}};
  store_.put("file", "bytes");
  store_.set_headers("file", headers);
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  EXPECT_EQ(store_.headers("file"), headers);
  const auto reader = open_to_read("file");
  EXPECT_EQ(set("file", {.mode = 0644}), "");
  EXPECT_EQ(set("file", {.uid = 3}), "") << "by the same staged file";
  EXPECT_EQ(store_.headers("file"), headers);
  fs_.release(reader);
  EXPECT_EQ(error_of(bucket_.rename("file", "other")), "");
  store_.fail_next(Operation::kCopy, 1, ErrorCode::kUnsupported);
  EXPECT_EQ(set("other", {.uid = 4}), "");
  EXPECT_EQ(store_.headers("other"), headers) << "also where the bytes are sent again";
  const auto handle = open("other");
  write(handle, 0, "other");
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.headers("other").empty()) << "other bytes are another content";
}

// So that a file which `recover` sends does not look older than its bytes.
TEST_F(StagedPosix, ATimeThatIsSetIsNotLeftToRecover) {
  const auto handle = make("file");
  EXPECT_EQ(set("file", {.modified = Time(seconds(5))}), "");
  write(handle, 0, "bytes");
  store_.fail_next(Operation::kPut, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(close(handle), "AccessDenied");
  std::string sidecar;
  for (const auto& entry : std::filesystem::directory_iterator(bucket_.staging->path())) {
    if (entry.path().extension() != ".meta") continue;
    std::ifstream file(entry.path());
    sidecar.assign(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_TRUE(sidecar.contains("mode")) << "the control";
  EXPECT_FALSE(sidecar.contains("mtime")) << sidecar;
}

TEST_F(StagedPosix, AChangeThatTheLocalDiskDoesNotTakeIsNotShown) {
  store_.put("file", "bytes", {{"mode", "33188"}});
  const auto handle = open("file");
  std::filesystem::remove_all(bucket_.staging->path());
  EXPECT_EQ(set("file", {.mode = 0600, .modified = Time(seconds(5))}), "System");
  EXPECT_EQ(of("file").posix.mode, 0644U);
  EXPECT_NE(of("file").modified, Time(seconds(5)));
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(stored("file").mode, 0644U);
  EXPECT_EQ(store_.count(Operation::kCopy), 0U);
}

// S3 takes 2 KiB.
TEST_F(StagedPosix, AFileWhoseMetadataHasNoRoomIsStoredWithoutItsTimes) {
  const s3::UserMetadata metadata = {{"mode", "33188"}, {"other", std::string(2030, 'y')}};
  store_.put("file", "bytes", metadata);
  const auto handle = open("file");
  write(handle, 0, "other");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), "other");
  EXPECT_EQ(store_.metadata("file"), metadata);
  EXPECT_EQ(set("file", {.uid = 3, .gid = 4}), "NoSpace");
  EXPECT_EQ(set("file", {.modified = Time(seconds(1'600'000'000))}), "NoSpace");
  EXPECT_EQ(store_.metadata("file"), metadata);
  EXPECT_TRUE(has_nothing_staged());
  EXPECT_EQ(set("file", {.mode = 0600}), "") << "it is as long as the former";
  EXPECT_EQ(stored("file").mode, 0600U);
}

// close(2) returns before the handle is released, and the next program changes the mode then.
TEST_F(StagedPosix, AChangeAfterAFlushIsStoredAtOnce) {
  const auto handle = make("file");
  write(handle, 0, "bytes");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  EXPECT_EQ(stored("file").mode, 0600U);
  store_.fail_next(Operation::kCopy, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(set("file", {.mode = 0644}), "AccessDenied");
  fs_.release(handle);
}

TEST_F(StagedPosix, AChangeByAnotherProcessThanTheWriterIsStoredAtOnce) {
  const auto handle = make("file");
  write(handle, 0, "bytes");
  const Ino ino = bucket_.ino_of("file");
  EXPECT_EQ(error_of(bucket_.set_attributes(ino, {.mode = 0600})), "");
  EXPECT_FALSE(store_.object("file")) << "the control: its close will";
  EXPECT_EQ(error_of(bucket_.set_attributes(ino, {.mode = 0604}, WritableBucket::kProcess + 1)),
            "");
  EXPECT_EQ(store_.object("file"), "bytes");
  EXPECT_EQ(stored("file").mode, 0604U);
  EXPECT_EQ(close(handle), "");
}

// A writer cannot share the inode of a reader that the kernel serves by itself (passthrough), also
// where the file of a change is still attached to it.
TEST_F(StagedPosix, AWriterGetsAnotherInodeThanTheReaderByTheKernelWhoseModeWasChanged) {
  store_.put("file", "bytes");
  const auto reader = open_to_read("file");
  const Ino read_by_kernel = bucket_.ino_of("file");
  const auto cut = [&](Ino ino) {
    return error_of(answer_of<void>([&](auto done) {
      fs_.truncate(ino, 2, /*shares_inode=*/ino != read_by_kernel, {}, std::move(done));
    }));
  };
  const auto open_not_shared = [&] {
    return answer_of<OpenFile>([&](auto done) {
      fs_.open_to_write(read_by_kernel, {.shares_inode = false}, WritableBucket::kProcess, {},
                        std::move(done));
    });
  };
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  EXPECT_EQ(bucket_.ino_of("file"), read_by_kernel) << "the control";
  EXPECT_EQ(error_of(open_not_shared()), "Stale");
  EXPECT_EQ(cut(read_by_kernel), "Stale");
  EXPECT_EQ(store_.object("file"), "bytes");
  const Ino written = bucket_.ino_of("file");
  EXPECT_NE(written, read_by_kernel);
  EXPECT_EQ(cut(written), "");
  EXPECT_EQ(store_.object("file"), "by");
  EXPECT_EQ(stored("file").mode, 0600U);
  EXPECT_EQ(fs_.attributes(read_by_kernel)->posix.mode, 0600U);
  EXPECT_EQ(fs_.attributes(read_by_kernel)->size_bytes, 5U);
  fs_.release(reader);
  EXPECT_TRUE(has_nothing_staged());
}

TEST_F(StagedPosix, AFileThatIsReadKeepsItsMetadataAfterARemovalThatFails) {
  const s3::UserMetadata metadata = {{"mode", "33188"}, {"uid", "3"}, {"other", "y"}};
  store_.put("file", "bytes", metadata);
  const auto reader = open_to_read("file");
  const Ino ino = bucket_.ino_of("file");
  store_.fail_next(Operation::kRemove, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "file")), "AccessDenied");
  EXPECT_EQ(store_.metadata("file"), metadata);
  EXPECT_TRUE(has_nothing_staged());
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  EXPECT_EQ(stored("file").uid, 3U);
  EXPECT_EQ(store_.metadata("file")[2], metadata[2]);
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "file")), "");
  EXPECT_EQ(fs_.attributes(ino)->posix.mode, 0600U) << "as fstat(2) shows it";
  EXPECT_EQ(read(reader), "bytes");
}

TEST_F(StagedPosix, AFileThatIsReadShowsItsAttributesAfterItsRemoval) {
  store_.put("file", "bytes", {{"mode", "33152"}, {"uid", "3"}, {"mtime", "100"}});
  const auto reader = open_to_read("file");
  const Ino ino = bucket_.ino_of("file");
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "file")), "");
  EXPECT_EQ(fs_.attributes(ino)->posix.mode, 0600U);
  EXPECT_EQ(fs_.attributes(ino)->posix.uid, 3U);
  EXPECT_EQ(fs_.attributes(ino)->modified, Time(seconds(100)));
  EXPECT_EQ(read(reader), "bytes");
}

// A copy onto itself keeps the ETag at most servers, so no condition sees it.
TEST_F(StagedPosix, AnOpenTakesTheAttributesThatAnotherClientHasSetMeanwhile) {
  store_.keep_etags_of_copies();
  const std::string etag = store_.put("file", "bytes", {{"mode", "33188"}, {"other", "old"}});
  const auto first = open("file");
  const auto copied = answer_of<std::string>([&](auto done) {
    store_.copy({.key = "file", .etag = etag, .size_bytes = 5}, "file",
                {.metadata = s3::UserMetadata{{"mode", "33152"}, {"other", "new"}}}, {},
                std::move(done));
  });
  ASSERT_EQ(copied.value_or(""), etag);
  const auto second = open("file");
  write(second, 0, "other");
  EXPECT_EQ(close(second), "");
  EXPECT_EQ(stored("file").mode, 0600U);
  EXPECT_EQ(store_.metadata("file")[1].second, "new");
  EXPECT_EQ(set("file", {.uid = 3}), "");
  EXPECT_EQ(close(first), "");
  EXPECT_EQ(stored("file").mode, 0600U);
  EXPECT_EQ(stored("file").uid, 3U);
}

TEST_F(StagedPosix, AVersionOfAnotherClientIsNotReplacedByItsOldBytes) {
  store_.put("file", "old");
  const Ino ino = bucket_.ino_of("file");
  store_.put("file", "by another client", {{"mode", "33188"}});
  EXPECT_EQ(error_of(bucket_.set_attributes(ino, {.mode = 0600})), "Stale");
  EXPECT_EQ(store_.object("file"), "by another client");
  EXPECT_EQ(set("file", {.mode = 0600}), "") << "the kernel's second attempt";
  EXPECT_EQ(store_.object("file"), "by another client");
  EXPECT_EQ(stored("file").mode, 0600U);
}

TEST_F(StagedPosix, AServerThatDoesNotCopyGetsTheBytesAgain) {
  store_.put("file", "bytes");
  store_.fail_next(Operation::kCopy, 1, ErrorCode::kUnsupported);
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  EXPECT_EQ(store_.object("file"), "bytes");
  EXPECT_EQ(stored("file").mode, 0600U);
}

TEST_F(StagedPosix, AChangeThatFailsSaysSoAndLeavesTheFile) {
  store_.put("file", "bytes", {{"mode", "33188"}});
  store_.fail_next(Operation::kCopy, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(set("file", {.mode = 0600}), "AccessDenied");
  EXPECT_EQ(store_.object("file"), "bytes");
  EXPECT_EQ(stored("file").mode, 0644U);
  EXPECT_EQ(of("file").posix.mode, 0644U);
  EXPECT_TRUE(has_nothing_staged()) << "no bytes are to be recovered";
  EXPECT_EQ(set("file", {.mode = 0600}), "") << "the control";
}

// Its bytes were never in doubt.
TEST_F(StagedPosix, AnOpenFileCanBeWrittenAfterItsAttributesWereNotStored) {
  store_.put("file", "bytes", {{"mode", "33188"}});
  const auto handle = open("file");
  EXPECT_EQ(set("file", {.mode = 0600}), "");
  store_.fail_next(Operation::kCopy, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(error_of(bucket_.sync(handle)), "AccessDenied");
  EXPECT_EQ(of("file").posix.mode, 0644U) << "it has its former mode";
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  write(handle, 0, "other");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), "other");
  EXPECT_EQ(stored("file").mode, 0644U);
}

// The store of the first takes the second's change too.
TEST_F(StagedPosix, EachChangeHearsOfTheStoreThatLostIt) {
  store_.put("file", "bytes", {{"mode", "33188"}});
  const auto handle = open("file");
  const Ino ino = bucket_.ino_of("file");
  write(handle, 0, "other");
  store_.fail_if([](const fakes::FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kCopy) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kAccessDenied, "no tags"}};
  });
  store_.hold();
  Answer<void> synced, mode_set, owner_set;
  fs_.sync(handle, synced.done());
  ASSERT_TRUE(fakes::eventually([&] { return store_.held().size() == 1; }));
  fs_.set_attributes(ino, {.mode = 0600}, WritableBucket::kProcess, {}, mode_set.done());
  fs_.set_attributes(ino, {.uid = 3}, WritableBucket::kProcess, {}, owner_set.done());
  store_.release_all();
  EXPECT_EQ(synced.error(), "");
  EXPECT_EQ(mode_set.error(), "AccessDenied");
  EXPECT_EQ(owner_set.error(), "AccessDenied");
  EXPECT_EQ(store_.count(Operation::kCopy), 1U) << "the control";
  EXPECT_EQ(stored("file").mode, 0644U);
  EXPECT_EQ(close(handle), "");
}

}  // namespace
}  // namespace s3rdmafs::vfs
