// SPDX-License-Identifier: Apache-2.0
// Renames of directories: all keys below move, or none.
#include <atomic>
#include <cstddef>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "../writable_bucket.h"
#include "fakes/log_capture.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/worker_thread.h"
#include "vfs/file_system.h"
#include "vfs/renames/parallel_steps.h"

namespace s3rdmafs::vfs {
namespace {

using Operation = fakes::FakeObjectStore::Operation;

class RenameDirectory : public testing::Test {
 protected:
  std::string_view rename(std::string_view from, std::string_view to) {
    const auto renamed = bucket_.rename(from, to);
    return renamed ? "" : error_code_name(renamed.error().code);
  }

  WritableBucket bucket_;
  fakes::FakeObjectStore& store_ = bucket_.store;
  FileSystem& fs_ = bucket_.fs;
};

TEST_F(RenameDirectory, MovesEveryKeyBelowMarkersIncluded) {
  store_.set_page_keys_max(7);
  store_.put("from/", "");
  store_.put("from/empty/", "");
  for (int i = 0; i < 100; ++i) {
    store_.put("from/deep/" + std::to_string(i), "bytes of " + std::to_string(i));
  }
  store_.put("from-not", "stays");
  ASSERT_EQ(rename("from", "to"), "");
  EXPECT_EQ(store_.object("to/"), "");
  EXPECT_EQ(store_.object("to/empty/"), "");
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(store_.object("to/deep/" + std::to_string(i)), "bytes of " + std::to_string(i));
    EXPECT_FALSE(store_.object("from/deep/" + std::to_string(i)));
  }
  EXPECT_FALSE(store_.object("from/"));
  EXPECT_EQ(store_.object("from-not"), "stays");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "from")), "NotFound");
}

TEST_F(RenameDirectory, KeepsTheInodesByWhichTheKernelAsksOn) {
  store_.put("from/below/file", "bytes");
  const Ino from = bucket_.ino_of("from");
  const Ino below = bucket_.ino_of("below", from);
  const Ino known = bucket_.ino_of("file", below);
  ASSERT_EQ(rename("from", "to"), "");
  EXPECT_EQ(bucket_.ino_of("to"), from);
  EXPECT_EQ(bucket_.ino_of("below", from), below);
  const Ino file = bucket_.ino_of("file", below);
  EXPECT_EQ(file, known);
  const auto opened = bucket_.open(file).value();
  EXPECT_EQ(bucket_.read(opened.handle, 0, 10), "bytes");
  fs_.release(opened.handle);
  const auto names = bucket_.list(from).value();
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ(names[0].name, "below");
}

TEST_F(RenameDirectory, MayReplaceAnEmptyDirectory) {
  store_.put("from/file", "bytes");
  store_.put("to/", "");
  ASSERT_EQ(rename("from", "to"), "");
  EXPECT_EQ(store_.object("to/file"), "bytes");
}

TEST_F(RenameDirectory, StoresFirstWhatIsPendingBelow) {
  ASSERT_TRUE(bucket_.mkdir(kRootIno, "from"));
  const auto handle = bucket_.open_truncated(bucket_.ino_of("from"), "file").value();
  bucket_.write(handle, 0, "so far").value();
  ASSERT_EQ(rename("from", "to"), "");
  EXPECT_EQ(store_.object("to/file"), "so far");
  EXPECT_EQ(error_of(bucket_.write(handle, 6, "more")), "Stale");
  fs_.release(handle);
  EXPECT_FALSE(store_.object("from/file"));
}

TEST_F(RenameDirectory, LosesNothingOfAFileThatIsCreatedBelowWhileItRuns) {
  store_.put("from/moves", "x");
  const Ino from = bucket_.ino_of("from");
  std::uint64_t handle = 0;
  store_.fail_if([&](const auto& call) -> std::optional<s3::GetFailure> {
    if (call.operation == Operation::kCopy) {
      handle = bucket_.open_truncated(from, "new").value();
      bucket_.write(handle, 0, "so far").value();
    }
    return std::nullopt;
  });
  ASSERT_EQ(rename("from", "to"), "");
  ASSERT_NE(handle, 0U);
  EXPECT_EQ(error_of(bucket_.write(handle, 6, ", more")), "");
  EXPECT_EQ(error_of(bucket_.sync(handle)), "");
  fs_.release(handle);
  EXPECT_EQ(store_.object("from/new"), "so far, more");
  EXPECT_EQ(store_.object("to/moves"), "x");
}

TEST_F(RenameDirectory, LetsOpenHandlesReadOn) {
  store_.put("from/file", "bytes");
  const auto opened = bucket_.open(bucket_.ino_of("file", bucket_.ino_of("from"))).value();
  ASSERT_EQ(rename("from", "to"), "");
  EXPECT_EQ(bucket_.read(opened.handle, 0, 10), "bytes");
  fs_.release(opened.handle);
}

TEST_F(RenameDirectory, LetsOpenHandlesReadOnWhileItRuns) {
  store_.put("from/a", "bytes");
  store_.put("from/b", "x");
  const auto opened = bucket_.open(bucket_.ino_of("a", bucket_.ino_of("from"))).value();
  std::optional<Result<std::string>> read;
  store_.fail_if([&](const auto& call) -> std::optional<s3::GetFailure> {
    if (call.operation == Operation::kRemove && call.key == "from/b") {
      EXPECT_FALSE(store_.object("from/a")) << "its source is gone already";
      read = bucket_.read(opened.handle, 0, 10);
    }
    return std::nullopt;
  });
  ASSERT_EQ(rename("from", "to"), "");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->value_or("not read"), "bytes");
  fs_.release(opened.handle);
}

TEST_F(RenameDirectory, TakesTheCopiesAwayAgainWhereOneFails) {
  for (int i = 0; i < 50; ++i) store_.put("from/" + std::to_string(i), "x");
  store_.fail_if([](const auto& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kCopy || call.source != "from/7") return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kServerError, "no"}};
  });
  EXPECT_EQ(rename("from", "to"), "ServerError");
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(store_.object("from/" + std::to_string(i)));
    EXPECT_FALSE(store_.object("to/" + std::to_string(i)));
  }
}

TEST_F(RenameDirectory, ThatFailsLeavesTheEmptyDirectoryThatItWasToReplace) {
  for (const auto* key : {"from/", "from/a", "from/b", "to/"}) store_.put(key, "");
  store_.fail_if([](const auto& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kCopy || call.source != "from/b") return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kServerError, "no"}};
  });
  EXPECT_EQ(rename("from", "to"), "ServerError");
  EXPECT_TRUE(store_.object("to/"));
  EXPECT_FALSE(store_.object("to/a"));
  store_.remove("to/");
  EXPECT_EQ(rename("from", "new"), "ServerError");
  EXPECT_FALSE(store_.object("new/")) << "one that was not there does not stay";
}

TEST_F(RenameDirectory, ThatFailsTakesAllBackThatItCanAndWarnsOfTheRest) {
  for (const auto* key : {"from/a", "from/b", "from/c"}) store_.put(key, "x");
  store_.fail_if([](const auto& call) -> std::optional<s3::GetFailure> {
    const bool fails = (call.operation == Operation::kCopy && call.source == "from/c") ||
                       (call.operation == Operation::kRemove && call.key == "to/a");
    if (!fails) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kTimedOut, "no answer"}};
  });
  fakes::LogCapture log;
  EXPECT_EQ(rename("from", "to"), "TimedOut");
  EXPECT_TRUE(store_.object("to/a"));
  EXPECT_FALSE(store_.object("to/b"));
  EXPECT_EQ(log.lines_with("up to 2 files are left").size(), 1U)
      << "also the one without an answer";
}

// A copy that was made and whose answer was lost is refused when it is asked for again.
TEST_F(RenameDirectory, WarnsOfACopyThatMayHaveBeenMadeBeforeItWasRefused) {
  for (const ErrorCode code : {ErrorCode::kExists, ErrorCode::kThrottled}) {
    store_.put("from/a", "x");
    store_.fail_next(Operation::kCopy, 1, code);
    const fakes::LogCapture log;
    EXPECT_EQ(rename("from", "to"), error_code_name(code));
    EXPECT_EQ(log.lines_with("up to 1 files are left").size(), 1U);
  }
  store_.fail_next(Operation::kCopy, 1, ErrorCode::kAccessDenied);
  const fakes::LogCapture log;
  EXPECT_EQ(rename("from", "to"), "AccessDenied");
  EXPECT_TRUE(log.lines_with("copies are left").empty()) << "the control: it was never made";
}

TEST_F(RenameDirectory, ReplacesNoFileThatAnotherClientStoredBelowTheNewName) {
  store_.put("from/file", "ours");
  EXPECT_EQ(error_of(bucket_.lookup(kRootIno, "to")), "NotFound");
  store_.put("to/file", "theirs");
  EXPECT_EQ(rename("from", "to"), "Exists");
  EXPECT_EQ(store_.object("to/file"), "theirs");
  EXPECT_EQ(store_.object("from/file"), "ours");
}

TEST_F(RenameDirectory, HasEverythingUnderTheNewNameWhereARemovalFails) {
  for (int i = 0; i < 5; ++i) store_.put("from/" + std::to_string(i), "x");
  store_.fail_next(Operation::kRemove, 100, ErrorCode::kAccessDenied);
  EXPECT_EQ(rename("from", "to"), "AccessDenied");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(store_.object("to/" + std::to_string(i)));
}

TEST_F(RenameDirectory, AsksForAllNamesAgainWhereARemovalFails) {
  store_.put("from/below/a", "x");
  store_.put("from/below/stays", "x");
  store_.put("to/", "");
  const Ino from = bucket_.ino_of("from");
  const Ino below = bucket_.ino_of("below", from);
  bucket_.ino_of("a", below);
  ASSERT_EQ(bucket_.list(below).value().size(), 2U);
  const Ino to = bucket_.ino_of("to");
  EXPECT_EQ(error_of(bucket_.lookup(to, "below")), "NotFound");
  store_.fail_if([](const auto& call) -> std::optional<s3::GetFailure> {
    const bool is_it = call.operation == Operation::kRemove && call.key == "from/below/stays";
    if (!is_it) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kAccessDenied, "no"}};
  });
  ASSERT_EQ(rename("from", "to"), "AccessDenied");
  EXPECT_EQ(error_of(bucket_.lookup(below, "a")), "NotFound");
  EXPECT_EQ(error_of(bucket_.lookup(below, "stays")), "");
  EXPECT_EQ(bucket_.list(below).value().size(), 1U);
  EXPECT_EQ(error_of(bucket_.lookup(bucket_.ino_of("below", to), "a")), "");
}

TEST(ParallelSteps, RunsAHundredThousandStepsThatAnswerAtOnce) {
  std::size_t ran = 0;
  Answer<void> answer;
  run_in_parallel(
      100'000, 4,
      [&](std::size_t, Done<void> done) {
        ++ran;
        done({});
      },
      answer.done());
  EXPECT_EQ(answer.error(), "");
  EXPECT_EQ(ran, 100'000U);
}

// A thread sees that no more may begin, and before it asks whether any is left, the last under way
// ends on another thread: then `done` would come early.
TEST(ParallelSteps, EndAfterTheLastOfThemWhicheverThreadsAnswer) {
  constexpr std::size_t kSteps = 20'000;
  const SystemClock clock;
  std::atomic<std::size_t> ran = 0;
  std::promise<std::size_t> ran_at_end;
  {
    WorkerThread first("first", clock, [] {});
    WorkerThread second("second", clock, [] {});
    run_in_parallel(
        kSteps, 1,
        [&](std::size_t step, Done<void> done) {
          ++ran;
          EXPECT_TRUE((step % 2 == 0 ? first : second).post([done = std::move(done)]() mutable {
            done({});
          }));
        },
        [&](const Result<void>&) { ran_at_end.set_value(ran); });
    EXPECT_EQ(ran_at_end.get_future().get(), kSteps);
  }
  EXPECT_EQ(ran, kSteps);
}

TEST(ParallelSteps, HasSoManyUnderWayAndBeginsNoneAfterAnError) {
  std::vector<Done<void>> under_way;
  Answer<void> answer;
  run_in_parallel(
      10, 3, [&](std::size_t, Done<void> done) { under_way.push_back(std::move(done)); },
      answer.done());
  ASSERT_EQ(under_way.size(), 3U);
  under_way[0]({});
  ASSERT_EQ(under_way.size(), 4U);
  under_way[1](fail(ErrorCode::kServerError, "first"));
  under_way[2](fail(ErrorCode::kTimedOut, "second"));
  ASSERT_EQ(under_way.size(), 4U);
  EXPECT_EQ(answer.error(), "pending");
  under_way[3]({});
  EXPECT_EQ(answer.error(), "ServerError");
}

TEST(ParallelSteps, OfNoneEndAtOnce) {
  Answer<void> answer;
  run_in_parallel(0, 3, [](std::size_t, const Done<void>&) {}, answer.done());
  EXPECT_EQ(answer.error(), "");
}

}  // namespace
}  // namespace s3rdmafs::vfs
