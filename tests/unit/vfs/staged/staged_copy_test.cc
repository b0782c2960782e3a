// SPDX-License-Identifier: Apache-2.0
// Copies that the server makes of whole versions, and those that it is not asked for.
#include <string>

#include <gtest/gtest.h>

#include "staged_posix_rig.h"

namespace s3rdmafs::vfs {
namespace {

class StagedCopy : public StagedRig {
 protected:
  static constexpr std::uint64_t kAll = UINT64_MAX / 2;  // as cp(1) asks

  /// How many bytes the server copied; the error's name otherwise.
  std::string copy(const CopyRange& range) {
    const auto copied =
        answer_of<std::uint64_t>([&](auto done) { fs_.copy(range, std::move(done)); });
    return copied ? std::to_string(*copied) : std::string(error_of(copied));
  }
  std::string copy(std::uint64_t from, std::uint64_t to) {
    return copy({.from = from, .to = to, .length_bytes = kAll});
  }
  std::size_t copies() const { return store_.count(StoreOperation::kCopy); }
  std::size_t transfers() const {
    return store_.count(StoreOperation::kGet) + store_.count(StoreOperation::kPut);
  }
};

TEST_F(StagedCopy, OfAWholeVersionIsOneRequestWithoutBytes) {
  store_.put("from", "0123456789");
  const auto from = open_to_read("from");
  const auto to = open("to");
  store_.forget_calls();
  EXPECT_EQ(copy(from, to), "10");
  EXPECT_EQ(store_.object("to"), "0123456789") << "stored now, as by fsync(2)";
  EXPECT_EQ(size_of("to"), 10U);
  EXPECT_EQ(close(to), "");
  EXPECT_EQ(copies(), 1U);
  EXPECT_EQ(transfers(), 0U) << "the close has nothing to store";
  EXPECT_EQ(read(open_to_read("to")), "0123456789");
  EXPECT_TRUE(has_nothing_staged());
}

TEST_F(StagedCopy, GoesOnAsAFileLikeAnyOther) {
  store_.put("from", "0123456789");
  const auto to = open("to");
  EXPECT_EQ(copy(open_to_read("from"), to), "10");
  EXPECT_EQ(read(to), "0123456789");
  write(to, 8, "ab++");
  EXPECT_EQ(read(to), "01234567ab++");
  EXPECT_EQ(close(to), "");
  EXPECT_EQ(store_.object("to"), "01234567ab++");
  EXPECT_EQ(store_.object("from"), "0123456789");
}

TEST_F(StagedCopy, ReplacesAFileThatIsOpenedWithTruncation) {
  store_.put("from", "new");
  store_.put("to", "what was there");
  const auto to = open("to", /*truncate=*/true);
  EXPECT_EQ(copy(open_to_read("from"), to), "3");
  EXPECT_EQ(close(to), "");
  EXPECT_EQ(store_.object("to"), "new");
}

TEST_F(StagedCopy, OfAFileThatWasStoredThroughAHandleHasItsBytes) {
  const auto from = open("from");
  write(from, 0, "staged");
  const auto to = open("to");
  EXPECT_EQ(copy(from, to), "Unsupported") << "the server does not have them yet";
  ASSERT_TRUE(bucket_.sync(from));
  EXPECT_EQ(copy(from, to), "6");
  EXPECT_EQ(store_.object("to"), "staged");
  EXPECT_EQ(copies(), 1U);
}

TEST_F(StagedCopy, IsAnsweredInPiecesOfWhichTheFirstMakesIt) {
  store_.put("from", "0123456789");
  const auto from = open_to_read("from");
  const auto to = open("to");
  EXPECT_EQ(copy(from, to), "10");
  const CopyRange rest{
      .from = from, .from_offset_bytes = 4, .to = to, .to_offset_bytes = 4, .length_bytes = kAll};
  EXPECT_EQ(copy(rest), "6");
  EXPECT_EQ(copies(), 1U);
  write(to, 0, "x");
  EXPECT_EQ(copy(rest), "Unsupported") << "it is no longer that copy";
}

TEST_F(StagedCopy, IsNotMadeWhereTheServerCannotMakeAllOfIt) {
  store_.put("from", "0123456789");
  store_.put("whole", "another");
  const auto from = open_to_read("from");
  const auto to = open("to");
  const auto of = [&](std::uint64_t from_offset, std::uint64_t to_offset, std::uint64_t length) {
    return copy({.from = from,
                 .from_offset_bytes = from_offset,
                 .to = to,
                 .to_offset_bytes = to_offset,
                 .length_bytes = length});
  };
  EXPECT_EQ(of(0, 0, 9), "Unsupported") << "a part of the source";
  EXPECT_EQ(of(1, 1, kAll), "Unsupported");
  EXPECT_EQ(of(0, 1, kAll), "Unsupported") << "another place";
  EXPECT_EQ(of(10, 10, kAll), "Unsupported") << "no bytes";
  EXPECT_EQ(copy(from, open("whole")), "Unsupported") << "the destination has bytes";
  write(to, 0, "x");
  EXPECT_EQ(copy(from, to), "Unsupported") << "written by now";
  ASSERT_TRUE(bucket_.unlink(kRootIno, "to"));
  EXPECT_EQ(copy(from, to), "Unsupported") << "nothing of a removed file is stored";
  EXPECT_EQ(copy(from, from), "InvalidArgument") << "not open to write";
  EXPECT_EQ(copies(), 0U);
  EXPECT_FALSE(store_.object("to"));
}

TEST_F(StagedCopy, OfAVersionThatIsGoneIsLeftToTheReader) {
  store_.put("from", "old");
  const auto from = open_to_read("from");
  store_.put("from", "newer");
  const auto to = open("to");
  EXPECT_EQ(copy(from, to), "Unsupported");
  write(to, 0, "old");
  EXPECT_EQ(close(to), "");
  EXPECT_EQ(store_.object("to"), "old");
}

TEST_F(StagedCopy, DoesNotReplaceWhatAnotherClientStoredMeanwhile) {
  store_.put("from", "ours");
  const auto to = open("to");
  store_.put("to", "theirs");
  EXPECT_EQ(copy(open_to_read("from"), to), "Unsupported");
  EXPECT_EQ(store_.object("to"), "theirs");
  write(to, 0, "ours");
  EXPECT_EQ(close(to), "Stale") << "as without the copy";
  EXPECT_EQ(store_.object("to"), "theirs");
}

TEST_F(StagedCopy, FailsWhereItIsNotKnownWhetherItWasMade) {
  store_.put("from", "bytes");
  const auto to = open("to");
  store_.fail_next(StoreOperation::kCopy, 1, ErrorCode::kTimedOut);
  EXPECT_EQ(copy(open_to_read("from"), to), "TimedOut");
  write(to, 0, "written");
  EXPECT_EQ(close(to), "") << "nothing of the file was lost";
  EXPECT_EQ(store_.object("to"), "written");
}

TEST_F(StagedCopy, IsNotTriedAgainAtAServerThatCopiesNoObjects) {
  store_.put("from", "bytes");
  store_.fail_if([](const fakes::FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != StoreOperation::kCopy) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kUnsupported, "no CopyObject"}};
  });
  const auto from = open_to_read("from");
  for (const char* name : {"one", "two"}) {
    const auto to = open(name);
    EXPECT_EQ(copy(from, to), "Unsupported");
    write(to, 0, "bytes");
    EXPECT_EQ(close(to), "");
    EXPECT_EQ(store_.object(name), "bytes");
  }
  EXPECT_EQ(copies(), 1U);
}

TEST_F(StagedCopy, WaitsForAStoreThatIsUnderWay) {
  store_.put("from", "bytes");
  const auto from = open_to_read("from");
  const auto to = open("to");
  store_.hold();
  Later<void> synced;
  fs_.sync(to, synced.done());  // the empty file
  Later<std::uint64_t> copied;
  fs_.copy({.from = from, .to = to, .length_bytes = kAll}, copied.done());
  const auto waits = [this] { return !store_.held().empty(); };
  ASSERT_TRUE(fakes::eventually(waits));
  EXPECT_EQ(store_.held().size(), 1U) << "the store alone";
  store_.release_all();
  EXPECT_EQ(error_of(synced.get()), "");
  EXPECT_EQ(copied.get().value_or(0), 5U);
  EXPECT_EQ(store_.object("to"), "bytes");
}

class PosixCopy : public StagedPosix {};

TEST_F(PosixCopy, HasTheAttributesOfTheNewFile) {
  store_.put("from", "bytes", {{"mode", "33188"}, {"uid", "7"}, {"other", "of the source"}});
  const auto from = open_to_read("from");
  const auto to = make("to");
  later();
  const auto copied = answer_of<std::uint64_t>(
      [&](auto done) { fs_.copy({.from = from, .to = to, .length_bytes = 100}, std::move(done)); });
  EXPECT_EQ(copied.value_or(0), 5U);
  EXPECT_EQ(stored("to").mode, 0640U);
  EXPECT_EQ(stored("to").uid, 3U);
  EXPECT_EQ(stored("to").modified, now()) << "it was written then";
  EXPECT_EQ(of("to").modified, now());
  EXPECT_EQ(close(to), "");
}

}  // namespace
}  // namespace s3rdmafs::vfs
