// SPDX-License-Identifier: Apache-2.0
// Files that are written in order: their parts are sent before the close, and dropped where there
// is no room.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "staged_rig.h"
#include "vfs/metadata/posix_metadata.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::size_t kPart = WritableBucket::kPart;

class StagedEarly : public StagedRig {
 protected:
  explicit StagedEarly(std::uint64_t room_bytes = kMiB, PosixMetadata posix = PosixMetadata::kOff)
      : StagedRig(room_bytes, posix) {}

  static std::string text(std::size_t bytes, unsigned first = 0) {
    std::string made(bytes, 'a');
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<char>('a' + (first + i / 7) % 26);
    return made;
  }
  /// In order, in pieces that no part is a multiple of.
  void write_in_order(std::uint64_t handle, const std::string& all, std::size_t from = 0) {
    constexpr std::size_t kPiece = 5000;
    for (std::size_t at = from; at < all.size(); at += kPiece) {
      write(handle, at, std::string_view(all).substr(at, kPiece));
    }
  }
  bool comes_to_parts(std::size_t count) {
    return fakes::eventually([&] { return store_.count(Operation::kUploadPart) >= count; });
  }
  /// Makes a call that waits for the clock, while time passes.
  template <class Call>
  auto while_time_passes(Call call) {
    const std::jthread time([this](const std::stop_token& end) {
      while (!end.stop_requested()) {
        bucket_.clock.advance(std::chrono::seconds(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    return call();
  }
  /// The next requests of these kinds fail, as those of an overloaded server do.
  void overload(std::size_t part_failures, std::size_t complete_failures) {
    store_.fail_next(Operation::kUploadPart, part_failures, ErrorCode::kThrottled);
    store_.fail_next(Operation::kCompleteUpload, complete_failures, ErrorCode::kTimedOut);
  }
  bool comes_to_no_upload() {
    return fakes::eventually([&] { return store_.open_uploads() == 0; });
  }
};

TEST_F(StagedEarly, SendsFullPartsBeforeTheCloseAndNoneOfThemAgain) {
  const std::string all = text(5 * kPart);
  const auto handle = open("file");
  write_in_order(handle, all);
  EXPECT_TRUE(comes_to_parts(4));  // no byte follows the fifth
  EXPECT_EQ(store_.object("file"), std::nullopt);
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
  EXPECT_EQ(store_.count(Operation::kUploadPart), 5U);
  EXPECT_EQ(store_.count(Operation::kCreateUpload), 1U);
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(StagedEarly, StoresAFileOfOnePartByOneRequest) {
  const auto handle = open("file");
  write(handle, 0, text(kPart));
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.count(Operation::kCreateUpload), 0U);
}

TEST_F(StagedEarly, SendsNothingOfAFileThatIsNotWrittenInOrder) {
  const auto handle = open("file");
  write(handle, 2 * kPart, text(8 * kPart));
  write(handle, 0, text(2 * kPart));
  write(handle, 10 * kPart, text(kPart));
  EXPECT_EQ(store_.count(Operation::kCreateUpload), 0U);
  EXPECT_EQ(close(handle), "");
}

TEST_F(StagedEarly, SendsAPartAgainThatWasChangedSince) {
  std::string all = text(5 * kPart);
  const auto handle = open("file");
  write_in_order(handle, all);
  EXPECT_TRUE(comes_to_parts(4));
  write(handle, kPart + 5, "changed");
  all.replace(kPart + 5, 7, "changed");
  EXPECT_TRUE(read(handle) == all);
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
  EXPECT_EQ(store_.count(Operation::kUploadPart), 6U);
}

TEST_F(StagedEarly, SendsAPartAgainThatWasCut) {
  std::string all = text(5 * kPart);
  const auto handle = open("file");
  write_in_order(handle, all);
  EXPECT_TRUE(comes_to_parts(4));
  all.resize(2 * kPart + 100);
  EXPECT_EQ(error_of(bucket_.truncate(bucket_.ino_of("file"), all.size())), "");
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
}

TEST_F(StagedEarly, ReplacesAnObjectThatWasTruncated) {
  store_.put("file", text(3 * kPart, 9));
  const std::string all = text(6 * kPart);
  const auto handle = open("file", /*truncate=*/true);
  write_in_order(handle, all);
  EXPECT_TRUE(comes_to_parts(5));
  EXPECT_TRUE(store_.object("file") == text(3 * kPart, 9));
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
}

TEST_F(StagedEarly, StoresEverythingAtTheCloseWherePartsCouldNotBeSentBefore) {
  const std::string all = text(5 * kPart);
  store_.fail_next(Operation::kUploadPart, 1, ErrorCode::kServerError);
  const auto handle = open("file");
  write_in_order(handle, all);
  EXPECT_TRUE(comes_to_parts(1));
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
  EXPECT_TRUE(comes_to_no_upload());
}

TEST_F(StagedEarly, AsksForAnotherUploadWhereTheServerHasEndedTheFirst) {
  const std::string all = text(5 * kPart);
  const auto handle = open("file");
  write_in_order(handle, all);
  EXPECT_TRUE(comes_to_parts(4));
  store_.fail_next(Operation::kCompleteUpload, 1, ErrorCode::kNotFound);
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
}

TEST_F(StagedEarly, LeavesNothingAtTheServerOfAFileThatIsRemoved) {
  const auto handle = open("file");
  write_in_order(handle, text(5 * kPart));
  EXPECT_TRUE(comes_to_parts(4));
  EXPECT_EQ(error_of(bucket_.unlink(kRootIno, "file")), "");
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.object("file"), std::nullopt);
  EXPECT_TRUE(comes_to_no_upload());
}

TEST_F(StagedEarly, DoesNotReplaceWhatAnotherClientStoredMeanwhile) {
  const auto handle = open("file");
  write_in_order(handle, text(5 * kPart));
  EXPECT_TRUE(comes_to_parts(4));
  store_.put("file", "theirs");
  EXPECT_EQ(close(handle), "Stale");
  EXPECT_EQ(store_.object("file"), "theirs");
  EXPECT_TRUE(comes_to_no_upload());
  EXPECT_GT(staged_bytes(), 5 * kPart);  // for `recover`
}

TEST_F(StagedEarly, GoesOnAfterASyncWithoutTheFormerParts) {
  const std::string all = text(9 * kPart);
  const auto handle = open("file");
  write_in_order(handle, all.substr(0, 5 * kPart));
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  EXPECT_TRUE(store_.object("file") == all.substr(0, 5 * kPart));
  write_in_order(handle, all, 5 * kPart);
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
}

/// An eighth of the room is the largest part, so these have 4 KiB.
class LargerThanTheRoom : public StagedEarly {
 protected:
  static constexpr std::uint64_t kRoom = 64 * 1024;
  static constexpr std::size_t kLarge = 4 * kRoom + 123;
  explicit LargerThanTheRoom(PosixMetadata posix = PosixMetadata::kOff)
      : StagedEarly(kRoom, posix) {}
};

TEST_F(LargerThanTheRoom, AFileIsWrittenInOrderAndSeenWholeOrNotAtAll) {
  const std::string all = text(kLarge);
  const auto handle = open("file");
  constexpr std::size_t kPiece = 5000;
  for (std::size_t at = 0; at < all.size(); at += kPiece) {
    write(handle, at, std::string_view(all).substr(at, kPiece));
    EXPECT_LE(staged_bytes(), kRoom);
    EXPECT_EQ(store_.object("file"), std::nullopt);
  }
  EXPECT_EQ(size_of("file"), kLarge);
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
  EXPECT_EQ(store_.count(Operation::kUploadPart), (kLarge + kPart - 1) / kPart);
  EXPECT_TRUE(has_nothing_staged());
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(LargerThanTheRoom, TwoFilesAreWrittenSideBySide) {
  const std::string all = text(kLarge);
  const auto one = open("one");
  const auto other = open("other");
  constexpr std::size_t kPiece = 5000;
  for (std::size_t at = 0; at < all.size(); at += kPiece) {
    write(one, at, std::string_view(all).substr(at, kPiece));
    write(other, at, std::string_view(all).substr(at, kPiece));
  }
  EXPECT_EQ(close(one), "");
  EXPECT_EQ(close(other), "");
  EXPECT_TRUE(store_.object("one") == all);
  EXPECT_TRUE(store_.object("other") == all);
}

TEST_F(LargerThanTheRoom, ARefusedChangeSpoilsNothing) {
  std::string all = text(kLarge);
  const auto handle = open("file");
  write_in_order(handle, all);
  EXPECT_EQ(error_of(bucket_.read(handle, 2 * kPart, 10)), "SequentialOnly");
  EXPECT_EQ(error_of(bucket_.write(handle, 2 * kPart, "late")), "SequentialOnly");
  EXPECT_EQ(error_of(bucket_.truncate(bucket_.ino_of("file"), 3 * kPart)), "SequentialOnly");
  // As many formats do at the end: a header, and the last bytes.
  write(handle, 0, "header");
  all.replace(0, 6, "header");
  write(handle, kLarge - 4, "tail");
  all.replace(kLarge - 4, 4, "tail");
  EXPECT_TRUE(read(handle, 0, 100) == all.substr(0, 100));
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
}

TEST_F(LargerThanTheRoom, IsReadableOnceItIsStored) {
  const std::string all = text(kLarge);
  const auto handle = open("file");
  write_in_order(handle, all);
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  EXPECT_TRUE(read(handle, 2 * kPart, 5000) == all.substr(2 * kPart, 5000));
  write(handle, 3 * kPart, "changed");
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == std::string(all).replace(3 * kPart, 7, "changed"));
}

TEST_F(LargerThanTheRoom, BeginsAgainWhereItIsTruncated) {
  const auto handle = open("file");
  write_in_order(handle, text(kLarge));
  EXPECT_EQ(error_of(bucket_.truncate(bucket_.ino_of("file"), 0)), "");
  const std::string all = text(kLarge, 11);
  write_in_order(handle, all);
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
  EXPECT_TRUE(comes_to_no_upload());
}

TEST_F(LargerThanTheRoom, FailsWithTheErrorForWhichPartsAreNotTaken) {
  store_.fail_if([](const fakes::FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kUploadPart) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kAccessDenied, "planned"}};
  });
  const std::string all = text(kLarge);
  const auto handle = open("file");
  Result<void> written;
  std::size_t at = 0;
  for (; written && at < all.size(); at += kPart) {
    written = bucket_.write(handle, at, std::string_view(all).substr(at, kPart));
  }
  EXPECT_EQ(error_of(written), "AccessDenied");
  store_.fail_if({});
  EXPECT_EQ(close(handle), "");  // what it took is stored
  EXPECT_TRUE(store_.object("file") == all.substr(0, at - kPart));
}

TEST_F(LargerThanTheRoom, WaitsForAServerThatIsOverloadedWhileItIsWritten) {
  const std::string all = text(kLarge);
  const auto handle = open("file");
  overload(/*part_failures=*/20, /*complete_failures=*/0);
  while_time_passes([&] {
    write_in_order(handle, all);
    return 0;
  });
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all);
}

TEST_F(LargerThanTheRoom, WaitsForAServerThatFailsWhileItIsStored) {
  const std::string all = text(kLarge);
  const auto handle = open("file");
  write_in_order(handle, all);
  overload(/*part_failures=*/3, /*complete_failures=*/2);
  EXPECT_EQ(while_time_passes([&] { return close(handle); }), "");
  EXPECT_TRUE(store_.object("file") == all);
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(LargerThanTheRoom, IsLostWhereTheServerFailsForTooLongAndTheRoomIsFreeAgain) {
  const auto handle = open("file");
  write_in_order(handle, text(kLarge));
  overload(/*part_failures=*/0, /*complete_failures=*/1'000'000);
  EXPECT_EQ(while_time_passes([&] { return close(handle); }), "TimedOut");
  EXPECT_TRUE(comes_to_no_upload());
  EXPECT_EQ(store_.object("file"), std::nullopt);
  EXPECT_TRUE(fakes::eventually([&] { return staged_bytes() < kRoom / 4; }));
  // The control: another file has all of the room.
  store_.fail_if({});
  store_.fail_next(Operation::kCompleteUpload, 0, ErrorCode::kTimedOut);
  const auto other = open("other");
  write(other, 0, text(kRoom / 2));
}

TEST_F(LargerThanTheRoom, FailsAtTheCloseWhereAnotherClientWasFirst) {
  const auto handle = open("file");
  write_in_order(handle, text(kLarge));
  store_.put("file", "theirs");
  EXPECT_EQ(close(handle), "Stale");
  EXPECT_EQ(store_.object("file"), "theirs");
  EXPECT_TRUE(comes_to_no_upload());
}

class LargeWithTimes : public LargerThanTheRoom {
 protected:
  LargeWithTimes() : LargerThanTheRoom(PosixMetadata::kWrite) {}
};

TEST_F(LargeWithTimes, IsStoredWithTheAttributesOfItsEnd) {
  const std::string all = text(kLarge);
  const auto handle = open("file");
  write_in_order(handle, all);
  const auto later = bucket_.clock.wall_now() + seconds(100);
  bucket_.clock.advance(seconds(100));
  write(handle, kLarge, "end");
  EXPECT_EQ(close(handle), "");
  EXPECT_TRUE(store_.object("file") == all + "end");
  EXPECT_EQ(posix_attributes(store_.metadata("file")).modified, later);
  EXPECT_EQ(store_.count(Operation::kCopy), 1U);
}

TEST_F(LargeWithTimes, IsSentAtItsCloseAloneWhereThereIsRoom) {
  const auto handle = open("file");
  write_in_order(handle, text(8 * kPart));
  EXPECT_EQ(store_.count(Operation::kCreateUpload), 0U);
  EXPECT_EQ(close(handle), "");
  EXPECT_EQ(store_.count(Operation::kCopy), 0U);
}

}  // namespace
}  // namespace s3rdmafs::vfs
