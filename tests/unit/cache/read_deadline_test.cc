// SPDX-License-Identifier: Apache-2.0
// A read of the block cache ends at its own deadline, even if it waits for another read's fill.
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "cache/blocks/block_cache.h"
#include "fakes/cache_world.h"

namespace s3rdmafs::cache {
namespace {

using std::chrono::seconds;

class ReadDeadline : public testing::Test, protected fakes::CacheWorld {
 protected:
  using Answer = std::future<std::string>;  ///< the error's name, "" for success

  ReadDeadline() {
    const std::string etag = store_.put("key", std::string(kLength, 'x'));
    reader_ = cache_.open({.key = "key", .etag = etag, .size_bytes = kLength});
  }
  ~ReadDeadline() override { store_.shut_down(); }

  Answer read(seconds deadline) {
    auto promise = std::make_shared<std::promise<std::string>>();
    reader_->read(0, kLength, clock_.now() + deadline, [promise](Result<PinnedBytes> bytes) {
      promise->set_value(bytes ? "" : std::string(error_code_name(bytes.error().code)));
    });
    return promise->get_future();
  }
  /// The cache looks for reads whose time is up on a thread of its own, each second.
  static std::string answer_of(Answer& answer) {
    if (answer.wait_for(seconds(60)) != std::future_status::ready) return "none";
    return answer.get();
  }
  static bool has_come(const Answer& answer) {
    return answer.wait_for(seconds(0)) == std::future_status::ready;
  }

  static constexpr std::size_t kLength = 100'000;
  std::unique_ptr<memory::Arena> arena_ = make_arena(2);
  BlockCache cache_{*arena_, store_, clock_, metrics_, {.fill_deadline = seconds(30)}};
  std::shared_ptr<ObjectReader> reader_;
};

TEST_F(ReadDeadline, CountsAlsoForAReadThatWaitsForAnotherReadsFill) {
  store_.hold();
  Answer patient = read(seconds(60));
  Answer impatient = read(seconds(5));
  EXPECT_EQ(store_.held().size(), 1U) << "the control: the second waits for the first one's bytes";
  clock_.advance(seconds(10));
  EXPECT_EQ(answer_of(impatient), "TimedOut");
  EXPECT_FALSE(has_come(patient));
  store_.release_all();
  EXPECT_EQ(answer_of(patient), "");
  EXPECT_EQ(metrics_.gauge("cache_pins", "").value(), 0);
  EXPECT_EQ(metrics_.gauge("cache_reads_waiting", "").value(), 0);
}

TEST_F(ReadDeadline, IsAnsweredOnceThoughTheReadWasStartedAgain) {
  store_.hold();
  Answer patient = read(seconds(60));
  Answer impatient = read(seconds(5));
  store_.fail_held(0, {{ErrorCode::kTimedOut, "the answer was lost"}, true});
  EXPECT_EQ(store_.held().size(), 1U) << "the control: both wait for bytes in other memory";
  clock_.advance(seconds(10));
  EXPECT_EQ(answer_of(impatient), "TimedOut");
  store_.release_all();
  EXPECT_EQ(answer_of(patient), "");
  EXPECT_EQ(metrics_.gauge("cache_reads_waiting", "").value(), 0);
}

TEST_F(ReadDeadline, MakesNoDifferenceWhereTheBytesComeInTime) {
  store_.hold();
  Answer patient = read(seconds(60));
  Answer impatient = read(seconds(5));
  store_.release_all();
  EXPECT_EQ(answer_of(impatient), "");
  EXPECT_EQ(answer_of(patient), "");
  clock_.advance(seconds(10));
  Answer again = read(seconds(5));
  EXPECT_EQ(answer_of(again), "") << "the control: nothing is left of the first ones' deadlines";
}

}  // namespace
}  // namespace s3rdmafs::cache
