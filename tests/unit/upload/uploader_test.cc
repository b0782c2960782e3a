// SPDX-License-Identifier: Apache-2.0
#include "upload/uploader.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"
#include "s3rdmafs/base/units.h"
#include "upload/uploads.h"

namespace s3rdmafs::upload {
namespace {

using namespace std::chrono_literals;
using Operation = fakes::FakeObjectStore::Operation;

constexpr std::size_t kPart = 4 * kKiB;
constexpr unsigned kBuffers = 4;

// Parts of 4 KiB, four buffers, at most two requests of one object.
class UploaderTest : public testing::Test {
 protected:
  struct Answer {
    std::optional<Result<void>> result;
    [[nodiscard]] std::string_view error() const {
      if (!result) return "pending";
      return *result ? "" : error_code_name(result->error().code);
    }
  };
  using AnswerPtr = std::shared_ptr<Answer>;

  static std::pair<AnswerPtr, Done<void>> answer() {
    auto made = std::make_shared<Answer>();
    return {made, [made](Result<void> result) {
              EXPECT_FALSE(made->result) << "done was called twice";
              made->result = std::move(result);
            }};
  }
  AnswerPtr append(std::string_view text) {
    auto [made, done] = answer();
    file_->append(offset_, std::as_bytes(std::span(text)), clock_.now() + 60s, std::move(done));
    offset_ += text.size();
    return made;
  }
  AnswerPtr finish() {
    auto [made, done] = answer();
    file_->finish(std::move(done));
    return made;
  }
  AnswerPtr discard() {
    auto [made, done] = answer();
    file_->discard(std::move(done));
    return made;
  }
  static std::string text(std::size_t bytes) {
    std::string made;
    while (made.size() < bytes) made += std::to_string(made.size()) + " ";
    made.resize(bytes);
    return made;
  }
  std::int64_t gauge(std::string_view name) { return metrics_.gauge(name, "").value(); }

  fakes::FakeClock clock_;
  fakes::FakeFabric fabric_;
  metrics::Registry metrics_;
  fakes::FakeObjectStore store_{clock_};
  std::unique_ptr<Uploads> uploads_ = Uploads::create(store_, fabric_, clock_, metrics_,
                                                      {.part_bytes = kPart,
                                                       .buffer_bytes = kBuffers * kPart,
                                                       .parallel_parts = 2,
                                                       .request_timeout = 30s,
                                                       .lock = memory::Arena::Lock::kOff})
                                          .value();
  std::shared_ptr<Uploader> file_ = uploads_->begin("key");
  std::uint64_t offset_ = 0;
};

TEST_F(UploaderTest, StoresAnEmptyObject) {
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.object("key"), "");
}

TEST_F(UploaderTest, StoresNothingWhereAnEmptyObjectIsThereUntilBytesCome) {
  file_ = uploads_->begin("key", Uploader::Start::kStored);
  EXPECT_TRUE(file_->is_stored());
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.count(Operation::kPut), 0U);
  append("bytes");
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.object("key"), "bytes");
}

TEST_F(UploaderTest, ReplacesNothingWhereTheKeyWasAbsent) {
  file_ = uploads_->begin("key", Uploader::Start::kIfAbsent);
  append("ours");
  store_.put("key", "theirs");
  EXPECT_EQ(finish()->error(), "Stale");
  EXPECT_EQ(store_.object("key"), "theirs");
}

TEST_F(UploaderTest, ReplacesItsOwnVersion) {
  file_ = uploads_->begin("key", Uploader::Start::kIfAbsent);
  for (const std::string_view text : {"some", "more"}) {
    append(text);
    EXPECT_EQ(finish()->error(), "");
    EXPECT_FALSE(file_->stored_etag().empty());
  }
  EXPECT_EQ(store_.object("key"), "somemore");
}

// The object is one part, or several.
TEST_F(UploaderTest, ReplacesOnlyTheVersionThatItRequires) {
  for (const std::size_t size : {kPart / 2, 3 * kPart}) {
    const std::string etag = store_.put("key", "base");
    for (const bool is_changed : {false, true}) {
      file_ = uploads_->begin("key");
      offset_ = 0;
      append(text(size));
      file_->require(s3::Precondition::matches(etag));
      if (is_changed) store_.put("key", "theirs");
      EXPECT_EQ(finish()->error(), is_changed ? "Stale" : "");
      EXPECT_EQ(store_.object("key"), is_changed ? "theirs" : text(size));
      EXPECT_EQ(store_.open_uploads(), 0U);
    }
  }
}

TEST_F(UploaderTest, DoesNotReplaceWhatAnotherClientStoredAfterItsFirstFinish) {
  append("ours");
  EXPECT_EQ(finish()->error(), "");
  store_.put("key", "theirs");
  append("more");
  EXPECT_EQ(finish()->error(), "Stale");
  EXPECT_EQ(store_.object("key"), "theirs");
}

// The store itself does without a condition that a server refuses: the same errors mean other
// things.
TEST_F(UploaderTest, NeverStoresWithoutTheConditionWhateverTheError) {
  for (const ErrorCode code : {ErrorCode::kUnsupported, ErrorCode::kInvalidArgument}) {
    for (const std::size_t size : {kPart / 2, 3 * kPart}) {
      file_ = uploads_->begin("key", Uploader::Start::kIfAbsent);
      offset_ = 0;
      append(text(size));
      store_.fail_next(size < kPart ? Operation::kPut : Operation::kCompleteUpload, 1, code);
      EXPECT_EQ(finish()->error(), error_code_name(code));
      EXPECT_FALSE(store_.object("key"));
      EXPECT_EQ(store_.open_uploads(), 0U);
    }
  }
}

TEST_F(UploaderTest, ReportsWhyItWasGivenUpAndStoresNothing) {
  append(text(2 * kPart));
  file_->give_up({ErrorCode::kStale, "changed"});
  EXPECT_EQ(finish()->error(), "Stale");
  EXPECT_FALSE(store_.object("key"));
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(UploaderTest, StoresAnObjectOfOnePartAsOnePut) {
  append(text(kPart));
  EXPECT_FALSE(store_.object("key"));
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.object("key"), text(kPart));
  EXPECT_EQ(store_.count(Operation::kPut), 1U);
  EXPECT_EQ(store_.count(Operation::kCreateUpload), 0U);
}

TEST_F(UploaderTest, StoresALargerObjectAsPartsAndShowsItOnlyWhenFinished) {
  const std::string all = text(3 * kPart + 5);
  for (std::size_t at = 0; at < all.size(); at += 1000) append(all.substr(at, 1000));
  EXPECT_FALSE(store_.object("key"));
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.object("key"), all);
  EXPECT_EQ(store_.count(Operation::kUploadPart), 4U);
  EXPECT_EQ(store_.open_uploads(), 0U);
  EXPECT_EQ(metrics_.counter("upload_bytes_total", "", R"(path="rdma")").value(), all.size());
}

TEST_F(UploaderTest, FinishesOnceHoweverOftenItIsAsked) {
  append("some");
  finish();
  finish();
  EXPECT_EQ(store_.count(Operation::kPut), 1U);
}

TEST_F(UploaderTest, GoesOnAfterFinishWhileItFitsOnePart) {
  append("one ");
  finish();
  EXPECT_EQ(append("two")->error(), "");
  EXPECT_EQ(store_.object("key"), "one ");
  finish();
  EXPECT_EQ(store_.object("key"), "one two");
  append(text(2 * kPart));
  finish();
  EXPECT_EQ(store_.object("key"), "one two" + text(2 * kPart));
}

TEST_F(UploaderTest, RefusesMoreOnceALargeObjectIsComplete) {
  append(text(2 * kPart));
  finish();
  EXPECT_EQ(append("more")->error(), "SequentialOnly");
  EXPECT_EQ(finish()->error(), "") << "the stored object stays";
  EXPECT_EQ(store_.object("key"), text(2 * kPart));
}

TEST_F(UploaderTest, RefusesBytesAnywhereButAtTheEndAndGoesOn) {
  append("0123");
  offset_ = 2;
  EXPECT_EQ(append("x")->error(), "SequentialOnly");
  offset_ = 5;
  EXPECT_EQ(append("x")->error(), "SequentialOnly");
  offset_ = 4;
  EXPECT_EQ(append("4")->error(), "");
  finish();
  EXPECT_EQ(store_.object("key"), "01234");
}

TEST_F(UploaderTest, SendsNoMoreAtOnceThanAllowed) {
  store_.hold();
  append(text(kPart + 1));
  store_.release();  // CreateMultipartUpload
  append(text(2 * kPart));
  EXPECT_EQ(store_.held().size(), 2U);
  EXPECT_EQ(gauge("upload_buffers_used_bytes"), static_cast<std::int64_t>(kBuffers * kPart));
  store_.release_all();
  EXPECT_EQ(finish()->error(), "");
}

TEST_F(UploaderTest, MakesAWriteWaitWhileEveryBufferIsOnItsWay) {
  store_.hold();
  append(text(kPart + 1));
  const AnswerPtr waits = append(text(4 * kPart));
  EXPECT_EQ(waits->error(), "pending");
  store_.release_all();
  EXPECT_EQ(waits->error(), "");
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.object("key"), text(kPart + 1) + text(4 * kPart));
}

TEST_F(UploaderTest, FinishesWhenTheLastPartHasArrivedInAnyOrder) {
  store_.hold();
  append(text(3 * kPart));
  store_.release();
  const AnswerPtr finished = finish();
  while (store_.held().size() > 1) store_.release(1);
  EXPECT_EQ(finished->error(), "pending");
  store_.release_all();
  EXPECT_EQ(finished->error(), "");
  EXPECT_EQ(store_.object("key"), text(3 * kPart));
}

TEST_F(UploaderTest, ReportsTheErrorOfAPartAtFinishAndLeavesNothing) {
  store_.fail_next(Operation::kUploadPart, 1, ErrorCode::kUnreachable);
  append(text(2 * kPart));
  append(text(kPart));
  EXPECT_EQ(finish()->error(), "Unreachable");
  EXPECT_EQ(finish()->error(), "Unreachable") << "each close reports it";
  EXPECT_EQ(append("more")->error(), "Unreachable");
  EXPECT_FALSE(store_.object("key"));
  EXPECT_EQ(store_.open_uploads(), 0U);
  EXPECT_EQ(gauge("upload_buffers_used_bytes"), 0);
}

TEST_F(UploaderTest, ReportsTheErrorOnlyWhenNoPartIsOnItsWay) {
  store_.hold();
  append(text(3 * kPart));
  store_.release();  // CreateMultipartUpload
  const AnswerPtr finished = finish();
  store_.fail_held(0, {.error = {ErrorCode::kServerError, "no"}});
  EXPECT_EQ(finished->error(), "pending");
  EXPECT_EQ(store_.count(Operation::kAbortUpload), 0U) << "the other part would outlive the abort";
  store_.release_all();
  EXPECT_EQ(finished->error(), "ServerError");
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(UploaderTest, ReportsTheErrorOfTheBeginningAndOfTheEnd) {
  for (const Operation operation : {Operation::kCreateUpload, Operation::kCompleteUpload}) {
    file_ = uploads_->begin("key");
    offset_ = 0;
    store_.fail_next(operation, 1, ErrorCode::kAccessDenied);
    append(text(2 * kPart));
    EXPECT_EQ(finish()->error(), "AccessDenied");
    EXPECT_FALSE(store_.object("key"));
    EXPECT_EQ(store_.open_uploads(), 0U);
  }
}

TEST_F(UploaderTest, RepeatsAnAbortThatFailed) {
  store_.fail_next(Operation::kUploadPart, 1, ErrorCode::kUnreachable);
  store_.fail_next(Operation::kAbortUpload, 1, ErrorCode::kUnreachable);
  append(text(2 * kPart));
  EXPECT_EQ(finish()->error(), "Unreachable");
  clock_.advance(1s);  // the pool's tick
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (store_.open_uploads() > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(UploaderTest, IsAbortedWhenDroppedUnfinished) {
  append(text(2 * kPart));
  ASSERT_EQ(store_.open_uploads(), 1U);
  file_.reset();
  EXPECT_EQ(store_.open_uploads(), 0U);
  EXPECT_FALSE(store_.object("key"));
  EXPECT_EQ(gauge("upload_buffers_used_bytes"), 0);
}

TEST_F(UploaderTest, DiscardsUnfinishedBytesAndDropsLaterOnes) {
  append(text(2 * kPart));
  EXPECT_EQ(discard()->error(), "");
  EXPECT_EQ(append("more")->error(), "");
  EXPECT_EQ(file_->size_bytes(), 2 * kPart + 4);
  EXPECT_EQ(finish()->error(), "");
  EXPECT_FALSE(store_.object("key"));
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(UploaderTest, RefusesMoreOfACompleteObjectAlsoAfterADiscard) {
  append(text(2 * kPart));
  finish();
  EXPECT_EQ(discard()->error(), "");
  EXPECT_EQ(append("more")->error(), "SequentialOnly");
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.object("key"), text(2 * kPart));
}

TEST_F(UploaderTest, IsCompleteWhereItIsDiscardedDuringTheCompletion) {
  append(text(2 * kPart));
  store_.hold();
  const AnswerPtr finished = finish();
  ASSERT_TRUE(store_.release());  // the last part
  ASSERT_EQ(store_.held().size(), 1U) << "the completion";
  const AnswerPtr discarded = discard();
  EXPECT_EQ(discarded->error(), "pending");
  store_.release_all();
  EXPECT_EQ(discarded->error(), "");
  EXPECT_EQ(finished->error(), "");
  EXPECT_EQ(store_.object("key"), text(2 * kPart));
  EXPECT_EQ(append("more")->error(), "SequentialOnly");
}

TEST_F(UploaderTest, KeepsItsErrorForWritesThroughADiscard) {
  store_.fail_next(Operation::kUploadPart, 1, ErrorCode::kUnreachable);
  append(text(2 * kPart));
  EXPECT_EQ(finish()->error(), "Unreachable");
  EXPECT_EQ(discard()->error(), "");
  EXPECT_TRUE(file_->has_failed());
  EXPECT_EQ(append("more")->error(), "Unreachable");
  EXPECT_EQ(finish()->error(), "") << "a discarded object has nothing to store";
}

TEST_F(UploaderTest, HasDiscardedOnlyWhenThePutUnderWayHasEnded) {
  append("some");
  store_.hold();
  const AnswerPtr finished = finish();
  const AnswerPtr discarded = discard();
  EXPECT_EQ(discarded->error(), "pending");
  store_.release_all();
  EXPECT_EQ(discarded->error(), "");
  EXPECT_EQ(finished->error(), "");
}

TEST_F(UploaderTest, AFinishAfterACancelReportsThatItWasNotStored) {
  append(text(2 * kPart));
  auto [cancelled, done] = answer();
  file_->cancel(std::move(done));
  EXPECT_EQ(cancelled->error(), "");
  EXPECT_EQ(finish()->error(), "Cancelled");
  EXPECT_FALSE(store_.object("key"));
}

TEST_F(UploaderTest, LetsABufferRestThatTheServerMayStillRead) {
  fabric_.let_fences_fail(true);
  store_.fail_next(Operation::kUploadPart, 1, ErrorCode::kTimedOut, /*late_write_possible=*/true);
  append(text(2 * kPart));
  EXPECT_EQ(finish()->error(), "TimedOut");
  EXPECT_EQ(gauge("upload_quarantined_bytes"), static_cast<std::int64_t>(kPart));
}

// The control: one that was answered does not rest.
TEST_F(UploaderTest, LetsNoBufferRestThatTheServerIsDoneWith) {
  store_.fail_next(Operation::kUploadPart, 1, ErrorCode::kTimedOut);
  append(text(2 * kPart));
  EXPECT_EQ(finish()->error(), "TimedOut");
  EXPECT_EQ(gauge("upload_quarantined_bytes"), 0);
}

TEST_F(UploaderTest, DoesNotWriteOnIntoAPutThatMayStillBeRead) {
  fabric_.let_fences_fail(true);
  append("some");
  store_.fail_next(Operation::kPut, 1, ErrorCode::kTimedOut, /*late_write_possible=*/true);
  EXPECT_EQ(finish()->error(), "TimedOut");
  EXPECT_EQ(append("more")->error(), "TimedOut");
  EXPECT_EQ(gauge("upload_quarantined_bytes"), static_cast<std::int64_t>(kPart));
}

// The answer to a write comes before its bytes are copied.
TEST_F(UploaderTest, StoresBytesThatArriveAfterTheFinishWasAsked) {
  AnswerPtr finished;
  file_->append(0, std::as_bytes(std::span("some", 4)), clock_.now() + 60s, [&](Result<void>) {
    finished = finish();
    EXPECT_EQ(finished->error(), "pending") << "its bytes are arriving";
  });
  EXPECT_EQ(finished->error(), "");
  EXPECT_EQ(store_.object("key"), "some");
}

TEST_F(UploaderTest, DiscardsBytesThatAreArriving) {
  AnswerPtr discarded;
  file_->append(0, std::as_bytes(std::span("some", 4)), clock_.now() + 60s, [&](Result<void>) {
    discarded = discard();
    EXPECT_EQ(discarded->error(), "pending") << "its bytes are arriving";
  });
  EXPECT_EQ(discarded->error(), "");
  EXPECT_EQ(gauge("upload_buffers_used_bytes"), 0);
  EXPECT_EQ(finish()->error(), "");
  EXPECT_FALSE(store_.object("key"));
}

// Each write is begun by the answer to the one before, so the last bytes arrive first.
TEST_F(UploaderTest, StoresBytesThatArriveInReverseOrder) {
  const std::string all = text(3 * kPart + 5);
  std::function<void()> write_next = [&] {
    const std::string_view rest = std::string_view(all).substr(offset_);
    if (rest.empty()) return;
    const auto some = rest.substr(0, 700);
    const std::uint64_t begin = std::exchange(offset_, offset_ + some.size());
    file_->append(begin, std::as_bytes(std::span(some)), clock_.now() + 60s,
                  [&](const Result<void>& taken) {
                    EXPECT_TRUE(taken);
                    write_next();
                  });
  };
  write_next();
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.object("key"), all);
}

TEST_F(UploaderTest, StoresWhatSeveralThreadsWriteOneAfterTheOther) {
  const std::string all = text(200 * kPart + 5);
  std::atomic<std::uint64_t> next = 0;  // moves on when the write before is answered
  const auto write_in_turn = [&](std::size_t number) {
    constexpr std::size_t kThreads = 3;
    constexpr std::size_t kBytes = 900;
    for (std::size_t at = number * kBytes; at < all.size(); at += kThreads * kBytes) {
      while (next.load() != at) std::this_thread::yield();
      const auto some = std::string_view(all).substr(at, kBytes);
      file_->append(at, std::as_bytes(std::span(some)), clock_.now() + 60s,
                    [&next, end = at + some.size()](const Result<void>& taken) {
                      EXPECT_TRUE(taken);
                      next = end;
                    });
    }
  };
  {
    std::vector<std::jthread> writers;
    for (const std::size_t number : {0U, 1U, 2U}) writers.emplace_back(write_in_turn, number);
  }
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.object("key"), all);
}

TEST_F(UploaderTest, SendsNoEmptyPartWhereAWriteComesDuringAFinish) {
  store_.hold();
  append(text(2 * kPart));
  const AnswerPtr finished = finish();
  append("more");
  store_.release_all();
  EXPECT_EQ(finished->error(), "");
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.object("key"), text(2 * kPart) + "more");
  EXPECT_EQ(store_.count(Operation::kUploadPart), 3U);
}

TEST_F(UploaderTest, RefusesToGrowBeyondTheLargestObject) {
  const std::uint64_t max = PartSizes{.first_bytes = kPart, .max_bytes = kPart}.object_bytes_max();
  const std::string chunk = text(kMiB);
  while (offset_ + kMiB <= max) ASSERT_EQ(append(chunk)->error(), "");
  append(text(max - offset_));
  EXPECT_EQ(append("x")->error(), "TooLarge");
  EXPECT_EQ(finish()->error(), "");
  EXPECT_EQ(store_.count(Operation::kUploadPart), std::size_t{kPartsMax});
}

}  // namespace
}  // namespace s3rdmafs::upload
