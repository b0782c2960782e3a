// SPDX-License-Identifier: Apache-2.0
// Writes that are answered before their bytes are copied.
#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "uploader_rig.h"

namespace s3rdmafs::upload {
namespace {

using namespace std::chrono_literals;

class UploaderArrivalTest : public UploaderRig {
 protected:
  /// Writes "some", and asks when that is answered, before the bytes have arrived.
  AnswerPtr asked_during_arrival(const std::function<AnswerPtr()>& ask) {
    AnswerPtr asked;
    file_->append(0, std::as_bytes(std::span("some", 4)), clock_.now() + 60s, [&](Result<void>) {
      asked = ask();
      EXPECT_EQ(asked->error(), "pending") << "its bytes are arriving";
    });
    return asked;
  }
};

TEST_F(UploaderArrivalTest, StoresBytesThatArriveAfterTheFinishWasAsked) {
  const AnswerPtr finished = asked_during_arrival([this] { return finish(); });
  EXPECT_EQ(finished->error(), "");
  EXPECT_EQ(store_.object("key"), "some");
}

TEST_F(UploaderArrivalTest, DiscardsBytesThatAreArriving) {
  const AnswerPtr discarded = asked_during_arrival([this] { return discard(); });
  EXPECT_EQ(discarded->error(), "");
  EXPECT_EQ(gauge("upload_buffers_used_bytes"), 0);
  EXPECT_EQ(finish()->error(), "");
  EXPECT_FALSE(store_.object("key"));
}

// Each write is begun by the answer to the one before, so the last bytes arrive first.
TEST_F(UploaderArrivalTest, StoresBytesThatArriveInReverseOrder) {
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

TEST_F(UploaderArrivalTest, StoresWhatSeveralThreadsWriteOneAfterTheOther) {
  const std::string all = text(200 * kPart + 5);
  std::atomic<std::uint64_t> next = 0;  // moves on when the write before is answered
  const auto write_in_turn = [&](std::size_t number) {
    constexpr std::size_t kThreads = 3;
    constexpr std::size_t kPiece = 900;
    for (std::size_t at = number * kPiece; at < all.size(); at += kThreads * kPiece) {
      while (next.load() != at) std::this_thread::yield();
      const auto some = std::string_view(all).substr(at, kPiece);
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

TEST_F(UploaderArrivalTest, SendsNoEmptyPartWhereAWriteComesDuringAFinish) {
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

}  // namespace
}  // namespace s3rdmafs::upload
