// SPDX-License-Identifier: Apache-2.0
#include "upload/uploader.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "uploader_rig.h"

namespace s3rdmafs::upload {
namespace {

using namespace std::chrono_literals;

using UploaderTest = UploaderRig;

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
