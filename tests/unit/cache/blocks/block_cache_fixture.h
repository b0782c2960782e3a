// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "cache/blocks/block_cache.h"
#include "fakes/cache_world.h"
#include "fakes/eventually.h"

namespace s3rdmafs::cache {

using fakes::FakeObjectStore;
using std::chrono::seconds;

/// Every 8 bytes of an object tell their own offset, so that bytes from a wrong place show.
inline std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    const std::uint64_t word = at * 0x9E3779B97F4A7C15;  // 2^64 / golden ratio: no repeats
    std::memcpy(&bytes[at], &word, sizeof(word));
  }
  return bytes;
}

inline std::string text_of(const PinnedBytes& bytes) {
  std::string text;
  for (const auto piece : bytes.pieces()) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return text;
}

/// A block cache over a fake store, with its fabric and clock.
class BlockCacheTest : public testing::Test, protected fakes::CacheWorld {
 protected:
  using Outcome = std::optional<Result<PinnedBytes>>;

  // `slabs` of 8 MiB; read-ahead is off unless a test asks for it.
  void start(std::size_t slabs, std::uint64_t read_ahead_max_bytes = 0) {
    cache_.reset();
    arena_ = make_arena(slabs);
    cache_ = std::make_unique<BlockCache>(
        *arena_, store_, clock_, metrics_,
        BlockCache::Options{.read_ahead_max_bytes = read_ahead_max_bytes,
                            .fill_deadline = seconds(30)});
  }

  void TearDown() override {
    store_.release_all();
    store_.shut_down();
  }

  std::shared_ptr<ObjectReader> put_and_open(const std::string& key, const std::string& bytes) {
    const std::string etag = store_.put(key, bytes);
    return cache_->open({.key = key, .etag = etag, .size_bytes = bytes.size()});
  }

  // Starts a read; the outcome is there once the store has answered.
  void read(ObjectReader& reader, std::uint64_t offset, std::size_t length, Outcome& outcome) {
    reader.read(offset, length, clock_.now() + seconds(30),
                [&outcome](Result<PinnedBytes> result) { outcome = std::move(result); });
  }

  std::string read_now(ObjectReader& reader, std::uint64_t offset, std::size_t length) {
    Outcome outcome;
    read(reader, offset, length, outcome);
    if (!outcome) return "<no answer>";
    if (!*outcome) return "<" + std::string(error_code_name(outcome->error().code)) + ">";
    return text_of(**outcome);
  }

  // Without a copy of the bytes, which takes most of the time under ThreadSanitizer.
  bool arrives_now(ObjectReader& reader, std::uint64_t offset, std::size_t length) {
    Outcome outcome;
    read(reader, offset, length, outcome);
    return outcome && outcome->has_value();
  }

  std::size_t gets() const { return store_.count(FakeObjectStore::Operation::kGet); }
  std::size_t gets_of_reading(ObjectReader& reader, std::uint64_t size) {
    const std::size_t before = gets();
    for (std::uint64_t at = 0; at < size; at += kMiB) EXPECT_TRUE(arrives_now(reader, at, kMiB));
    return gets() - before;
  }
  // Twelve slabs of objects that the cache could hold, one after the other.
  void stream_by() {
    for (int i = 0; i < 12; ++i) {
      const auto shard = put_and_open("shard" + std::to_string(i), std::string(8 * kMiB, 's'));
      EXPECT_EQ(gets_of_reading(*shard, 8 * kMiB), 8U);
    }
  }

  std::int64_t gauge(std::string_view name, std::string_view labels = {}) {
    return metrics_.gauge(name, "", labels).value();
  }

  void expect_all_released() {
    EXPECT_EQ(gauge("cache_pins"), 0);
    EXPECT_EQ(gauge("cache_fills_in_flight"), 0);
    EXPECT_EQ(gauge("cache_reads_waiting"), 0);
  }

  std::unique_ptr<memory::Arena> arena_;
  std::unique_ptr<BlockCache> cache_;
};

}  // namespace s3rdmafs::cache
