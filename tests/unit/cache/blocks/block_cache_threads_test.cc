// SPDX-License-Identifier: Apache-2.0
// Hits of one object, hits of others, misses and eviction at once. The test is for
// ThreadSanitizer's build; it checks the bytes in every build.
#include <atomic>
#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cache/blocks/block_cache.h"
#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"

namespace s3rdmafs::cache {
namespace {

constexpr std::size_t kObjects = 3;
constexpr std::uint64_t kObjectBytes = 20 * kMiB;  // 60 MiB through 32
constexpr std::size_t kSlabs = 4;
constexpr int kReadsEach = 600;
constexpr unsigned kThreads = 4;
constexpr std::size_t kPinsHeld = 2;  // by a thread: never all slabs together with the reads

// The word at a place says which place of which object it is.
std::uint64_t word_at(std::size_t object, std::uint64_t offset) {
  return (offset * kObjects + object) * 0x9E3779B97F4A7C15;
}

std::string content_of(std::size_t object) {
  std::string bytes(kObjectBytes, '\0');
  for (std::uint64_t at = 0; at < kObjectBytes; at += 8) {
    const std::uint64_t word = word_at(object, at);
    std::memcpy(&bytes[at], &word, sizeof(word));
  }
  return bytes;
}

// Of a read that begins and ends at a word.
bool is_right(const PinnedBytes& bytes, std::size_t object, std::uint64_t offset) {
  for (const auto piece : bytes.pieces()) {
    for (std::size_t at = 0; at < piece.size(); at += 8, offset += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, piece.data() + at, sizeof(word));
      if (word != word_at(object, offset)) return false;
    }
  }
  return true;
}

TEST(BlockCacheThreads, SeeTheRightBytesWhileOthersEvictThem) {
  fakes::FakeClock clock;
  metrics::Registry metrics;
  fakes::FakeFabric fabric;
  fakes::FakeObjectStore store{clock};
  const auto arena =
      memory::Arena::create(kSlabs * memory::Arena::kSlabBytes, memory::Arena::Lock::kOff, fabric)
          .value();
  BlockCache cache(*arena, store, clock, metrics,
                   {.read_ahead_max_bytes = 8 * kMiB, .fill_deadline = std::chrono::seconds(30)});
  std::vector<std::shared_ptr<ObjectReader>> readers;
  for (std::size_t object = 0; object < kObjects; ++object) {
    const std::string key = "object" + std::to_string(object);
    readers.push_back(cache.open(
        {.key = key, .etag = store.put(key, content_of(object)), .size_bytes = kObjectBytes}));
  }

  std::atomic<int> wrong{0};
  std::atomic<int> answered{0};
  const auto read_and_check = [&](unsigned seed) {
    std::mt19937_64 random(seed);
    std::deque<PinnedBytes> held;
    for (int i = 0; i < kReadsEach; ++i) {
      // Half of the reads go to one hot place of the first object.
      const bool is_hot = random() % 2 == 0;
      const std::size_t object = is_hot ? 0 : random() % kObjects;
      const std::uint64_t offset = is_hot ? 4096 : random() % (kObjectBytes / 8) * 8;
      const std::size_t length = is_hot ? 4096 : 8 + random() % 65'536 * 8;
      std::atomic<bool> done{false};
      PinnedBytes got;
      readers[object]->read(offset, length, Deadline::max(), [&](Result<PinnedBytes> result) {
        if (result) got = std::move(*result);
        done = true;
        done.notify_one();
      });
      // The thread that releases memory answers starved reads, and releases this one's own pins.
      if (!done) held.clear();
      done.wait(false);
      ++answered;
      if (got.size_bytes() == 0 || !is_right(got, object, offset)) ++wrong;
      held.push_back(std::move(got));
      if (held.size() > kPinsHeld) held.pop_front();
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < kThreads; ++seed) threads.emplace_back(read_and_check, seed);
  threads.clear();

  EXPECT_EQ(answered, kThreads * kReadsEach);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(metrics.counter("cache_evictions_total", "").value(), 100U) << "the control";
  EXPECT_GT(metrics.counter("cache_reads_total", "", R"(result="hit")").value(), 100U);
  for (const char* gauge : {"cache_pins", "cache_fills_in_flight", "cache_reads_waiting"}) {
    EXPECT_EQ(metrics.gauge(gauge, "").value(), 0) << gauge;
  }
  readers.clear();
  store.shut_down();
}

}  // namespace
}  // namespace s3rdmafs::cache
