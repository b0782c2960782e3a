// SPDX-License-Identifier: Apache-2.0
// Renames of files: what POSIX says of names, and what no failure may do.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "rename_rig.h"

namespace s3rdmafs::vfs {
namespace {

using Operation = fakes::FakeObjectStore::Operation;

using Rename = RenameRig;

TEST_F(Rename, GivesTheObjectAnotherKeyAndKeepsNothingUnderTheOldOne) {
  store_.put("a", "bytes", {{"mode", "420"}});
  EXPECT_EQ(rename("a", "b"), "");
  EXPECT_FALSE(store_.object("a"));
  EXPECT_EQ(store_.object("b"), "bytes");
  EXPECT_EQ(store_.metadata("b"), (s3::UserMetadata{{"mode", "420"}}));
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "a")), "NotFound");
  EXPECT_EQ(read_all("b"), "bytes");
}

TEST_F(Rename, KeepsTheInodeWhichTheKernelMovesToTheNewName) {
  store_.put("a", "bytes");
  const Ino ino = bucket_.ino_of("a");
  ASSERT_EQ(rename("a", "b"), "");
  EXPECT_EQ(read_all(ino), "bytes");
  EXPECT_EQ(fs_.attributes(ino)->size_bytes, 5U);
  EXPECT_EQ(bucket_.ino_of("b"), ino);
}

TEST_F(Rename, ReplacesAFileAndLeavesItsVersionToItsReaders) {
  store_.put("a", "new");
  store_.put("b", "old");
  const Ino old = bucket_.ino_of("b");
  ASSERT_EQ(rename("a", "b"), "");
  EXPECT_EQ(store_.object("b"), "new");
  EXPECT_NE(bucket_.ino_of("b"), old);
  EXPECT_EQ(read_all("b"), "new");
}

TEST_F(Rename, ReplacesNothingWhereThatIsForbidden) {
  store_.put("a", "new");
  store_.put("b", "old");
  EXPECT_EQ(rename("a", "b", /*must_be_new=*/true), "Exists");
  EXPECT_EQ(store_.object("b"), "old");
  EXPECT_EQ(store_.object("a"), "new");
  EXPECT_EQ(rename("a", "c", /*must_be_new=*/true), "");
}

TEST_F(Rename, LeavesItToTheServerWhetherTheNameIsNew) {
  store_.put("a", "ours");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "b")), "NotFound");
  store_.put("b", "another client's");  // after this mount has looked
  EXPECT_EQ(rename("a", "b", /*must_be_new=*/true), "Exists");
  EXPECT_EQ(store_.object("b"), "another client's");
  EXPECT_EQ(store_.object("a"), "ours");
}

TEST_F(Rename, RefusesWhatPosixRefuses) {
  store_.put("file", "x");
  store_.put("directory/", "");
  store_.put("full/file", "x");
  EXPECT_EQ(rename("absent", "b"), "NotFound");
  EXPECT_EQ(rename("file", "directory"), "IsDirectory");
  EXPECT_EQ(rename("directory", "file"), "NotDirectory");
  EXPECT_EQ(rename("directory", "full"), "NotEmpty");
  EXPECT_EQ(error_of(bucket_.rename_in(kRootIno, "full", bucket_.ino_of("full"), "below")),
            "InvalidArgument");
  EXPECT_EQ(rename("file", "file"), "") << "one name: nothing to do";
  EXPECT_EQ(store_.count(Operation::kCopy) + store_.count(Operation::kRemove), 0U);
}

TEST_F(Rename, RefusesKeysThatAreTooLong) {
  const std::string name(250, 'n');
  store_.put(name + "/" + name + "/" + name + "/" + name + "/file", "x");
  store_.put("longer-by-far" + std::string(240, 'd') + "/", "");
  const Ino longer = bucket_.ino_of("longer-by-far" + std::string(240, 'd'));
  EXPECT_EQ(error_of(bucket_.rename_in(kRootIno, name, longer, name)), "NameTooLong");
  EXPECT_EQ(store_.count(Operation::kCopy), 0U);
}

TEST_F(Rename, StoresFirstWhatIsPendingOfTheSource) {
  const auto handle = bucket_.open_truncated(kRootIno, "a").value();
  const Ino written = bucket_.ino_of("a");
  bucket_.write(handle, 0, "so far").value();
  ASSERT_EQ(rename("a", "b"), "");
  EXPECT_EQ(store_.object("b"), "so far");
  EXPECT_FALSE(store_.object("a"));
  EXPECT_EQ(fs_.attributes(written)->size_bytes, 6U);
  EXPECT_EQ(error_of(bucket_.write(handle, 6, "more")), "Stale") << "it cannot follow";
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  fs_.release(handle);
  EXPECT_EQ(store_.object("b"), "so far");
  EXPECT_FALSE(store_.object("a"));
}

TEST_F(Rename, IsNotOverwrittenByAFileThatWasWrittenUnderTheNewName) {
  store_.put("a", "renamed");
  const auto handle = bucket_.open_truncated(kRootIno, "b").value();
  bucket_.write(handle, 0, "written").value();
  ASSERT_EQ(rename("a", "b"), "");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "") << "as after unlink(2)";
  fs_.release(handle);
  EXPECT_EQ(store_.object("b"), "renamed");
}

TEST_F(Rename, ThatFailsCostsAFileThatIsWrittenUnderTheNewNameNothing) {
  store_.put("a", "renamed");
  const auto handle = bucket_.open_truncated(kRootIno, "b").value();
  bucket_.write(handle, 0, "written").value();
  store_.fail_next(Operation::kCopy, 1, ErrorCode::kServerError);
  EXPECT_EQ(rename("a", "b"), "ServerError");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  EXPECT_EQ(store_.object("b"), "written");
  EXPECT_EQ(store_.object("a"), "renamed");
  fs_.release(handle);
}

TEST_F(Rename, OfAVersionThatAnotherClientReplacedIsTriedAgain) {
  store_.put("a", "old");
  bucket_.ino_of("a");
  store_.put("a", "newer");
  EXPECT_EQ(rename("a", "b"), "Stale") << "the kernel looks the name up again";
  EXPECT_FALSE(store_.object("b"));
  EXPECT_EQ(rename("a", "b"), "");
  EXPECT_EQ(store_.object("b"), "newer");
}

// As a listing of the directory leaves it.
TEST_F(Rename, OfAVersionThatTheKernelHasNeverHeardOfIsTriedAgain) {
  store_.put("a", "newer");
  const auto rename_at_once = [&] {
    return error_of(answer_of<void>(
        [&](auto done) { fs_.rename(kRootIno, "a", kRootIno, "b", false, std::move(done)); }));
  };
  EXPECT_EQ(rename_at_once(), "Stale") << "its name is of another inode there";
  EXPECT_FALSE(store_.object("b"));
  bucket_.ino_of("a");
  EXPECT_EQ(rename_at_once(), "");
  EXPECT_EQ(store_.object("b"), "newer");
}

TEST_F(Rename, KeepsTheSourceWhereItCannotBeRemoved) {
  store_.put("a", "bytes");
  store_.fail_next(Operation::kRemove, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(rename("a", "b"), "AccessDenied");
  EXPECT_EQ(read_all("a"), "bytes");
  EXPECT_EQ(read_all("b"), "bytes");
}

TEST_F(Rename, LeavesWhatAnotherClientStoredUnderTheOldNameMeanwhile) {
  store_.put("a", "ours");
  bucket_.ino_of("a");
  store_.hold();
  Answer<void> answer;
  fs_.rename(kRootIno, "a", kRootIno, "b", false, answer.done());
  while (!store_.held().empty() && store_.held().front().operation != Operation::kRemove) {
    ASSERT_TRUE(store_.release());
  }
  ASSERT_EQ(store_.held().size(), 1U) << "the removal waits";
  EXPECT_EQ(store_.object("a"), "ours") << "never without a name";
  EXPECT_EQ(store_.object("b"), "ours");
  store_.put("a", "theirs");
  store_.release_all();
  EXPECT_EQ(answer.error(), "");
  EXPECT_EQ(store_.object("a"), "theirs");
  EXPECT_EQ(store_.object("b"), "ours");
}

TEST_F(Rename, LetsOpenHandlesReadOnUnderTheNewKey) {
  store_.put("a", "bytes");
  const auto opened = bucket_.open(bucket_.ino_of("a")).value();
  ASSERT_EQ(rename("a", "b"), "");
  EXPECT_EQ(bucket_.read(opened.handle, 0, 100), "bytes");
  ASSERT_EQ(rename("b", "c"), "");
  EXPECT_EQ(bucket_.read(opened.handle, 0, 100), "bytes");
  store_.remove("c");
  EXPECT_EQ(error_of(bucket_.read(opened.handle, 0, 100)), "Stale") << "now it is gone";
  fs_.release(opened.handle);
}

TEST_F(Rename, TellsReadersOfTheCopyBeforeTheSourceGoes) {
  store_.put("a", "bytes");
  const auto opened = bucket_.open(bucket_.ino_of("a")).value();
  std::optional<Result<std::string>> read;
  store_.fail_if([&](const auto& call) -> std::optional<s3::GetFailure> {
    if (call.operation == Operation::kRemove) {
      store_.remove("a");  // it takes effect, and its answer is not yet here
      read = bucket_.read(opened.handle, 0, 10);
    }
    return std::nullopt;
  });
  ASSERT_EQ(rename("a", "b"), "");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->value_or("not read"), "bytes");
  fs_.release(opened.handle);
}

TEST_F(Rename, ThereAndBackAgainGivesTheSameFile) {
  store_.put("a", "bytes");
  const Ino ino = bucket_.ino_of("a");
  ASSERT_EQ(rename("a", "b"), "");
  ASSERT_EQ(rename("b", "a"), "");
  EXPECT_EQ(bucket_.ino_of("a"), ino);
  EXPECT_EQ(read_all(ino), "bytes");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "b")), "NotFound");
}

TEST_F(Rename, ChangesTheTimesOfBothDirectories) {
  store_.put("from/a", "bytes");
  store_.put("to/", "");
  const Ino from = bucket_.ino_of("from");
  const Ino to = bucket_.ino_of("to");
  const auto from_before = fs_.attributes(from)->modified;
  const auto to_before = fs_.attributes(to)->modified;
  ASSERT_EQ(error_of(bucket_.rename_in(from, "a", to, "a")), "");
  EXPECT_GT(fs_.attributes(from)->modified, from_before);
  EXPECT_GT(fs_.attributes(to)->modified, to_before);
}

TEST_F(Rename, IsRefusedWhereTheMountMayNotWrite) {
  MountedBucket read_only;
  read_only.store.put("a", "x");
  EXPECT_EQ(error_of(answer_of<void>([&](auto done) {
              read_only.fs.rename(kRootIno, "a", kRootIno, "b", false, std::move(done));
            })),
            "ReadOnly");
}

}  // namespace
}  // namespace s3rdmafs::vfs
