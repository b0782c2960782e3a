// SPDX-License-Identifier: Apache-2.0
// Many streams in one memory: each gets about as much as the others, and none loses a read for lack
// of memory.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "block_cache_fixture.h"

namespace s3rdmafs::cache {
namespace {

constexpr std::size_t kStreams = 16;

// A server of one line: it answers GETs one after another, each as late as its bytes take, and
// moves no bytes, so that objects may be larger than memory.
class PacedStore final : public s3::ObjectStore {
 public:
  explicit PacedStore(fakes::FakeClock& clock) : clock_(clock) {}
  ~PacedStore() override { shut_down(); }

  void head(std::string, Deadline, Done<s3::ObjectInfo>) override { ADD_FAILURE(); }
  void list(s3::ListRequest, Deadline, Done<s3::ListPage>) override { ADD_FAILURE(); }
  void get(s3::GetRequest request, Deadline, s3::GetDone done) override {
    line_.push_back({std::move(request), std::move(done)});
  }
  void shut_down() override {
    while (!line_.empty()) answer(0);
  }

  /// The GETs of this key are answered before all others.
  void prefer(std::string key) { preferred_ = std::move(key); }
  /// One MiB's time passes, in which the server moves as much.
  void run() {
    clock_.advance(kTimeOfMiB);
    bytes_to_move_ += kMiB;
    while (!line_.empty()) {
      const auto next =
          std::ranges::find(line_, preferred_, [](auto& get) { return get.first.key; });
      const auto at = next == line_.end() ? 0 : next - line_.begin();
      const std::uint64_t length = line_.at(static_cast<std::size_t>(at)).first.window.length;
      if (length > bytes_to_move_) return;
      bytes_to_move_ -= length;
      answer(at);
    }
    bytes_to_move_ = 0;
  }

 private:
  static constexpr std::chrono::microseconds kTimeOfMiB{500};  // 2 GB/s

  void answer(std::ptrdiff_t at) {
    auto done = std::move(line_.at(static_cast<std::size_t>(at)).second);
    line_.erase(line_.begin() + at);
    done(s3::Path::kHttp);
  }

  fakes::FakeClock& clock_;
  std::deque<std::pair<s3::GetRequest, s3::GetDone>> line_;
  std::string preferred_;
  std::uint64_t bytes_to_move_ = 0;
};

class FairCache : public testing::Test, protected fakes::CacheWorld {
 protected:
  struct Stream {
    std::shared_ptr<ObjectReader> reader;
    std::uint64_t read_bytes = 0;
    bool waits = false;
  };

  void start(std::size_t slabs) {
    arena_ = make_arena(slabs);
    cache_ = std::make_unique<BlockCache>(
        *arena_, paced_, clock_, metrics_,
        BlockCache::Options{.read_ahead_max_bytes = 64 * kMiB, .fill_deadline = seconds(30)});
    for (std::size_t i = 0; i < kStreams; ++i) {
      streams_.at(i).reader =
          cache_->open({.key = std::to_string(i), .etag = "\"e\"", .size_bytes = 100 * kGiB});
    }
  }
  void TearDown() override {
    paced_.shut_down();
    cache_->shut_down();
    paced_.shut_down();
    for (Stream& stream : streams_) stream.reader.reset();
    cache_.reset();
  }

  // Each of the first `count` streams has one read of `length` bytes under way at all times.
  void run(std::size_t count, int steps, std::size_t length = 1 * kMiB) {
    for (int i = 0; i < steps; ++i) {
      for (Stream& stream : std::span(streams_).first(count)) {
        if (!stream.waits) read_next(stream, length);
      }
      paced_.run();
    }
  }
  void read_next(Stream& stream, std::size_t length) {
    stream.waits = true;
    stream.reader->read(stream.read_bytes, length, clock_.now() + seconds(30),
                        [this, &stream, length](Result<PinnedBytes> bytes) {
                          failed_reads_ += bytes ? 0 : 1;
                          stream.read_bytes += length;
                          stream.waits = false;
                        });
  }

  // The bytes of the slowest and of the fastest stream while all read, as a part of the mean.
  std::pair<double, double> spread_of_running_all() {
    std::array<std::uint64_t, kStreams> before{};
    for (std::size_t i = 0; i < kStreams; ++i) before.at(i) = streams_.at(i).read_bytes;
    run(kStreams, 16'000);
    double sum = 0;
    double least = 1e300;
    double most = 0;
    for (std::size_t i = 0; i < kStreams; ++i) {
      const auto bytes = static_cast<double>(streams_.at(i).read_bytes - before.at(i));
      sum += bytes;
      least = std::min(least, bytes);
      most = std::max(most, bytes);
    }
    return {least * kStreams / sum, most * kStreams / sum};
  }
  // One stream that has the whole window, then one more at a time.
  void start_one_after_another(std::size_t read_bytes = 1 * kMiB) {
    run(1, 2000, read_bytes);
    for (std::size_t count = 2; count <= kStreams; ++count) run(count, 50, read_bytes);
  }
  void expect_fair() {
    const auto [least, most] = spread_of_running_all();
    EXPECT_GE(least, 0.8);
    EXPECT_LE(most, 1.2);
    EXPECT_EQ(failed_reads_, 0U);
  }

  PacedStore paced_{clock_};
  std::unique_ptr<memory::Arena> arena_;
  std::unique_ptr<BlockCache> cache_;
  std::array<Stream, kStreams> streams_;
  unsigned failed_reads_ = 0;
};

TEST_F(FairCache, GivesEachOfManyStreamsAsMuch) {
  start(/*slabs=*/64);
  start_one_after_another();
  expect_fair();
}

TEST_F(FairCache, GivesEachOfManyStreamsAsMuchOfLittleMemory) {
  start(/*slabs=*/16);
  start_one_after_another();
  expect_fair();
}

TEST_F(FairCache, SeesThatAServerPrefersAStream) {
  start(/*slabs=*/64);
  start_one_after_another();
  paced_.prefer("3");
  const auto [least, most] = spread_of_running_all();
  EXPECT_TRUE(least < 0.8 || most > 1.2) << "the control";
}

// Four slabs, and reads of which most touch two.
TEST_F(FairCache, FailsNoReadForLackOfMemory) {
  start(/*slabs=*/4);
  for (std::size_t i = 0; i < kStreams; ++i)
    streams_.at(i).read_bytes = i * 8 * kMiB - i * kMiB / 2;
  run(kStreams, 16'000, 4 * kMiB);
  EXPECT_EQ(failed_reads_, 0U);
  for (const Stream& stream : streams_) EXPECT_GT(stream.read_bytes, 200 * kMiB);
}

class WaitingForMemory : public BlockCacheTest {
 protected:
  static constexpr std::uint64_t kObjectBytes = 16 * kMiB;

  std::shared_ptr<ObjectReader> open(const std::string& key) {
    return cache_->open({.key = key,
                         .etag = store_.put(key, std::string(kObjectBytes, 'x')),
                         .size_bytes = kObjectBytes});
  }
  // The answer adds the key to order_.
  void read_of(const std::string& key, const std::shared_ptr<ObjectReader>& reader,
               std::uint64_t offset = 0) {
    reader->read(offset, 1 * kMiB, clock_.now() + seconds(30),
                 [this, key](const Result<PinnedBytes>&) { order_.push_back(key); });
  }
  void release_one_by_one() {
    while (!store_.held().empty()) store_.release();
  }
  using Order = std::vector<std::string>;
  Order order_;
};

TEST_F(WaitingForMemory, IsNotLongerForAReadOfTwoBlocks) {
  start(/*slabs=*/2);
  const auto a = open("a");
  const auto b = open("b");
  const auto two = open("two");
  const auto one = open("one");
  constexpr std::uint64_t kNearBorder = 8 * kMiB - kMiB / 2;
  read_of("before", two, kNearBorder - kMiB);  // so that the next one is a step of a stream
  store_.hold();
  read_of("a", a);
  read_of("b", b);
  EXPECT_EQ(store_.held().size(), 2U) << "the control: they fill all memory";
  read_of("two", two, kNearBorder);
  store_.release();  // the memory of one block can be had now
  read_of("one", one);
  EXPECT_EQ(store_.held().size(), 1U) << "the later read waits as well";
  release_one_by_one();
  EXPECT_EQ(order_, (Order{"before", "a", "b", "two", "one"}));
}

TEST_F(WaitingForMemory, GoesByStreamsThoughOneHasManyReads) {
  start(/*slabs=*/1);
  const auto first = open("first");
  const auto busy = open("busy");
  const auto other = open("other");
  store_.hold();
  read_of("first", first);
  for (int i = 0; i < 3; ++i) read_of("busy", busy);
  read_of("other", other);
  EXPECT_EQ(store_.held().size(), 1U) << "the control: the others wait for memory";
  release_one_by_one();
  EXPECT_EQ(order_, (Order{"first", "busy", "other", "busy", "busy"}));
}

}  // namespace
}  // namespace s3rdmafs::cache
