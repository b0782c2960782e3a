// SPDX-License-Identifier: Apache-2.0
// Renames at a server that has RenameObject: one request for a file, and nothing that readers,
// writers or failures meet differs from a copy and a removal.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fakes/log_capture.h"
#include "rename_rig.h"

namespace s3rdmafs::vfs {
namespace {

using Operation = fakes::FakeObjectStore::Operation;

class RenameAtOnce : public RenameRig {
 protected:
  RenameAtOnce() { store_.know_renames(); }
};

TEST_F(RenameAtOnce, IsOneRequestAndKeepsInodeAndMetadata) {
  store_.put("a", "bytes", {{"mode", "420"}});
  const Ino ino = bucket_.ino_of("a");
  ASSERT_EQ(rename("a", "b"), "");
  EXPECT_EQ(store_.count(Operation::kRename), 1U);
  EXPECT_EQ(store_.count(Operation::kCopy) + store_.count(Operation::kRemove), 0U);
  EXPECT_FALSE(store_.object("a"));
  EXPECT_EQ(store_.object("b"), "bytes");
  EXPECT_EQ(store_.metadata("b"), (s3::UserMetadata{{"mode", "420"}}));
  EXPECT_EQ(bucket_.ino_of("b"), ino);
  EXPECT_EQ(read_all(ino), "bytes");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "a")), "NotFound");
}

TEST_F(RenameAtOnce, ThereAndBackAgainGivesTheSameFile) {
  store_.put("a", "bytes");
  const Ino ino = bucket_.ino_of("a");
  ASSERT_EQ(rename("a", "b"), "");
  ASSERT_EQ(rename("b", "a"), "");
  EXPECT_EQ(bucket_.ino_of("a"), ino);
  EXPECT_EQ(read_all(ino), "bytes");
}

TEST_F(RenameAtOnce, ReplacesAFileAndLeavesItsVersionToItsReaders) {
  store_.put("a", "new");
  store_.put("b", "old");
  const Ino old = bucket_.ino_of("b");
  ASSERT_EQ(rename("a", "b"), "");
  EXPECT_NE(bucket_.ino_of("b"), old);
  EXPECT_EQ(read_all("b"), "new");
}

TEST_F(RenameAtOnce, LeavesItToTheServerWhetherTheNameIsNew) {
  store_.put("a", "ours");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "b")), "NotFound");
  store_.put("b", "another client's");  // after this mount has looked
  EXPECT_EQ(rename("a", "b", /*must_be_new=*/true), "Exists");
  EXPECT_EQ(store_.object("b"), "another client's");
  EXPECT_EQ(store_.object("a"), "ours");
}

// The server has moved it, and the answer is not yet here.
TEST_F(RenameAtOnce, AReaderFindsTheVersionBeforeTheAnswerIsHere) {
  store_.put("a", "bytes");
  const auto opened = bucket_.open(bucket_.ino_of("a")).value();
  std::string read;
  store_.run_before_answers_of_renames([&] {
    const auto text = bucket_.read(opened.handle, 0, 10);
    read += text ? *text : std::string(error_code_name(text.error().code));
  });
  ASSERT_EQ(rename("a", "b"), "");
  EXPECT_EQ(read, "bytes");
  ASSERT_EQ(rename("b", "c"), "");
  EXPECT_EQ(read, "bytesbytes") << "also of one that has moved before";
  fs_.release(opened.handle);
}

TEST_F(RenameAtOnce, ThatFailsLeavesReadersWhereTheyWere) {
  store_.put("a", "bytes");
  const auto opened = bucket_.open(bucket_.ino_of("a")).value();
  ASSERT_EQ(rename("a", "b"), "");
  store_.fail_next(Operation::kRename, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(rename("b", "c"), "AccessDenied");
  EXPECT_EQ(bucket_.read(opened.handle, 0, 10), "bytes");
  fs_.release(opened.handle);
}

TEST_F(RenameAtOnce, WhoseAnswerIsLostIsSeenByTheNextLookup) {
  store_.put("a", "bytes");
  store_.lose_answers_of_stores(true);
  EXPECT_EQ(rename("a", "b"), "TimedOut");
  EXPECT_EQ(read_all("b"), "bytes");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "a")), "NotFound");
}

TEST_F(RenameAtOnce, ThatFailsChangesNothing) {
  store_.put("a", "renamed");
  store_.put("b", "there");
  const auto opened = bucket_.open(bucket_.ino_of("a")).value();
  store_.fail_next(Operation::kRename, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(rename("a", "b"), "AccessDenied");
  EXPECT_EQ(store_.count(Operation::kCopy), 0U) << "an error is no lack of the operation";
  EXPECT_EQ(bucket_.read(opened.handle, 0, 10), "renamed");
  fs_.release(opened.handle);
  EXPECT_EQ(read_all("a") + " " + read_all("b"), "renamed there");
}

TEST_F(RenameAtOnce, IsACopyAndARemovalWhereTheServerSaysThatItCannot) {
  store_.put("a", "bytes");
  store_.fail_next(Operation::kRename, 1, ErrorCode::kUnsupported);
  EXPECT_EQ(rename("a", "b"), "");
  EXPECT_EQ(store_.count(Operation::kCopy), 1U);
  EXPECT_EQ(store_.count(Operation::kRemove), 1U);
  EXPECT_EQ(read_all("b"), "bytes");
  EXPECT_FALSE(store_.object("a"));
}

TEST_F(RenameAtOnce, OfADirectoryIsOneRequestForEachFile) {
  store_.put("from/", "");
  for (int i = 0; i < 100; ++i) store_.put("from/deep/" + std::to_string(i), "bytes");
  const Ino known = bucket_.ino_of("7", bucket_.ino_of("deep", bucket_.ino_of("from")));
  const auto opened = bucket_.open(known).value();
  ASSERT_EQ(rename("from", "to"), "");
  EXPECT_EQ(store_.count(Operation::kRename), 100U);
  EXPECT_EQ(store_.count(Operation::kCopy), 1U) << "of the marker, which has no rename";
  EXPECT_EQ(store_.count(Operation::kRemove), 1U);
  EXPECT_EQ(store_.object("to/"), "");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(store_.object("to/deep/" + std::to_string(i)), "bytes");
    EXPECT_FALSE(store_.object("from/deep/" + std::to_string(i)));
  }
  EXPECT_EQ(bucket_.read(opened.handle, 0, 10), "bytes");
  fs_.release(opened.handle);
  EXPECT_EQ(bucket_.ino_of("7", bucket_.ino_of("deep", bucket_.ino_of("to"))), known);
}

TEST_F(RenameAtOnce, OfADirectoryTakesAllBackWhereOneFails) {
  for (const char* const name : {"a", "b", "c", "d"}) {
    store_.put(std::string("from/") + name, name);
  }
  const auto opened = bucket_.open(bucket_.ino_of("a", bucket_.ino_of("from"))).value();
  store_.fail_if([](const auto& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kRename || call.key != "to/c") return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kAccessDenied, "not this one"}};
  });
  EXPECT_EQ(rename("from", "to"), "AccessDenied");
  for (const char* const name : {"a", "b", "c", "d"}) {
    EXPECT_EQ(store_.object(std::string("from/") + name), name);
    EXPECT_FALSE(store_.object(std::string("to/") + name));
  }
  EXPECT_EQ(bucket_.read(opened.handle, 0, 10), "a");
  fs_.release(opened.handle);
}

TEST_F(RenameAtOnce, OfADirectoryWarnsOfWhatCannotBeTakenBackAndLosesNothing) {
  const fakes::LogCapture log;
  for (const char* const name : {"a", "b"}) store_.put(std::string("from/") + name, name);
  store_.fail_if([](const auto& call) -> std::optional<s3::GetFailure> {
    const bool fails = call.key == "to/b" || call.key == "from/a";
    if (call.operation != Operation::kRename || !fails) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kAccessDenied, "not this one"}};
  });
  EXPECT_EQ(rename("from", "to"), "AccessDenied");
  EXPECT_EQ(store_.object("to/a"), "a") << "its only bytes";
  EXPECT_EQ(store_.object("from/b"), "b");
  EXPECT_EQ(log.lines_with("up to 1 files are left there").size(), 1U);
}

}  // namespace
}  // namespace s3rdmafs::vfs
