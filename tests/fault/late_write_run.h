// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cache/blocks/block_cache.h"
#include "fakes/s3/late_writing_store.h"
#include "rdma/fabric.h"

namespace s3rdmafs::fault {

using fakes::LateWritingStore;

inline constexpr std::uint64_t kLateWrites = 10'000;

// More data than memory, so that memory changes hands all the time; a block class each.
inline constexpr std::size_t kSlabs = 6;
inline constexpr std::size_t kObjects = 400;
inline std::size_t size_of(std::size_t object) { return object % 8 == 0 ? 300'000 : 60'000; }

// Fewer reads held at once than slabs, or readers would wait for memory that they hold.
inline constexpr std::size_t kReaders = 2;

// Reads of a loaded machine under a sanitizer; one that takes it has hung.
inline constexpr std::chrono::seconds kReadDeadline{30};

inline std::string pattern(std::size_t object) {
  std::string bytes(size_of(object), '\0');
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t word = (object * 1'000'003 + at) * 0x9E3779B97F4A7C15;  // no repeats
    std::memcpy(&bytes[at], &word, sizeof(word));
  }
  return bytes;
}

/// Counts of one run.
struct Tally {
  std::atomic<std::uint64_t> reads{0}, failed_reads{0}, wrong_reads{0}, landed{0}, refused{0};
  [[nodiscard]] std::uint64_t late_writes() const { return landed + refused; }
};

/// A cache that reads over a fabric while a third of its GETs are answered too late, and what came
/// of it.
class LateWriteRun {
 public:
  /// Borrows both: the memory's side of a fabric, and the server's.
  LateWriteRun(rdma::Fabric& fabric, target::TransferService& service)
      : arena_(memory::Arena::create(kSlabs * memory::Arena::kSlabBytes, memory::Arena::Lock::kOff,
                                     fabric)
                   .value()),
        store_(service),
        cache_(*arena_, store_, clock_, metrics_,
               {.read_ahead_max_bytes = 0, .fill_deadline = kReadDeadline}) {
    for (std::size_t object = 0; object < kObjects; ++object) {
      const std::string key = std::to_string(object);
      contents_.push_back(pattern(object));
      store_.put(key, contents_.back());
      readers_.push_back(
          cache_.open({.key = key, .etag = "\"1\"", .size_bytes = contents_.back().size()}));
    }
  }
  ~LateWriteRun() { readers_.clear(); }
  LateWriteRun(const LateWriteRun&) = delete;
  LateWriteRun& operator=(const LateWriteRun&) = delete;

  /// Reads and writes late until so many late writes were tried, or the first wrong byte.
  void run() {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kReaders; ++i) {
      threads.emplace_back([this, i] { read_until_done(static_cast<unsigned>(i)); });
    }
    threads.emplace_back([this] { write_late_until_done(); });
  }

  /// Waits until every slab is out of quarantine. False if one stays.
  bool all_fenced() {
    for (int attempt = 0; attempt < 2000; ++attempt) {
      if (metrics_.gauge("cache_slabs", "", R"(state="quarantined")").value() == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  /// Reads every object once more and compares.
  void read_all() {
    for (std::size_t object = 0; object < kObjects; ++object) {
      if (const auto bytes = read(object)) check(object, *bytes);
    }
  }

  [[nodiscard]] LateWritingStore& store() { return store_; }

  /// Prints what happened.
  void print(const char* name) const {
    std::cout << name << ": " << tally.late_writes() << " late writes (" << tally.landed
              << " landed, " << tally.refused << " refused), " << tally.reads << " reads, "
              << tally.failed_reads << " failed, " << tally.wrong_reads << " wrong\n";
  }

  Tally tally;

 private:
  [[nodiscard]] bool is_done() const {
    return tally.late_writes() >= kLateWrites || tally.wrong_reads > 0;
  }

  std::optional<cache::PinnedBytes> read(std::size_t object) {
    std::promise<Result<cache::PinnedBytes>> promise;
    readers_[object]->read(
        0, contents_[object].size(), clock_.now() + kReadDeadline,
        [&promise](Result<cache::PinnedBytes> result) { promise.set_value(std::move(result)); });
    auto result = promise.get_future().get();
    ++tally.reads;
    if (result) return std::move(*result);
    ++tally.failed_reads;  // lost thrice in a row: a clear error
    return std::nullopt;
  }

  void check(std::size_t object, const cache::PinnedBytes& bytes) {
    std::string_view expected = contents_[object];
    for (const auto piece : bytes.pieces()) {
      if (std::memcmp(piece.data(), expected.data(), piece.size()) != 0) {
        ++tally.wrong_reads;
        return;
      }
      expected.remove_prefix(piece.size());
    }
    if (!expected.empty()) ++tally.wrong_reads;
  }

  void read_until_done(unsigned seed) {
    std::mt19937 random(seed);
    std::size_t held_object = 0;
    std::optional<cache::PinnedBytes> held;
    while (!is_done()) {
      const std::size_t object = random() % kObjects;
      auto bytes = read(object);
      if (held) check(held_object, *held);
      if (bytes) check(object, *bytes);
      held = std::move(bytes);
      held_object = object;
    }
  }

  void write_late_until_done() {
    std::mt19937 random(7);
    while (!is_done()) {
      switch (store_.write_late(random)) {
        case LateWritingStore::LateWrite::kLanded:
          ++tally.landed;
          break;
        case LateWritingStore::LateWrite::kRefused:
          ++tally.refused;
          break;
        case LateWritingStore::LateWrite::kNothingLost:
          std::this_thread::yield();
      }
    }
  }

  const SystemClock clock_;
  metrics::Registry metrics_;
  std::unique_ptr<memory::Arena> arena_;
  LateWritingStore store_;
  cache::BlockCache cache_;
  std::vector<std::string> contents_;
  std::vector<std::shared_ptr<cache::ObjectReader>> readers_;
};

/// Checks the tally of a run() over a fence that works, and that its tokens stay dead afterwards.
inline void expect_no_corruption(LateWriteRun& run) {
  EXPECT_EQ(run.tally.wrong_reads, 0U);
  EXPECT_GE(run.tally.late_writes(), kLateWrites);
  EXPECT_GT(run.tally.landed, 0U) << "some must hit memory, or nothing was proved";
  EXPECT_GT(run.tally.refused, 0U) << "some must come after the fence";
  EXPECT_LT(run.tally.failed_reads, run.tally.reads / 2) << "reads go on meanwhile";

  // Tokens from before a fence stay dead, however often they are used.
  ASSERT_TRUE(run.all_fenced());
  run.read_all();
  ASSERT_TRUE(run.all_fenced());
  EXPECT_EQ(run.store().write_all_again(), 0U);
  run.read_all();
  EXPECT_EQ(run.tally.wrong_reads, 0U);
}

}  // namespace s3rdmafs::fault
