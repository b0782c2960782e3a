// SPDX-License-Identifier: Apache-2.0
// A shard for each processor, and not for each thread: threads come and go, and two threads on one
// processor do not write at once. A thread that is moved between the choice and the addition only
// shares a cache line for once.
//
// Neither count nor maximum are kept: the sum of the buckets is the count, so a text made while
// others record never contradicts itself.
#include "s3rdmafs/metrics/histogram.h"

#include <sched.h>

#include <memory>
#include <new>
#include <numeric>

namespace s3rdmafs::metrics {

std::uint64_t Histogram::Snapshot::total() const noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Histogram::~Histogram() {
  for (const auto& shard : shards_) delete shard.load(std::memory_order_relaxed);
}

unsigned Histogram::shard_index() noexcept {
  const int processor = ::sched_getcpu();  // from memory that the kernel keeps up to date
  return processor < 0 ? 0 : static_cast<unsigned>(processor) % kShards;
}

Histogram::Shard* Histogram::make_shard() noexcept {
  std::unique_ptr<Shard> made(new (std::nothrow) Shard);
  if (!made) return nullptr;
  Shard* there = nullptr;
  std::atomic<Shard*>& place = shards_[shard_index()];
  if (!place.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) return there;
  return made.release();
}

Histogram::Snapshot Histogram::snapshot() const noexcept {
  Snapshot all;
  for (const auto& place : shards_) {
    const Shard* const shard = place.load(std::memory_order_acquire);
    if (shard == nullptr) continue;
    for (std::size_t i = 0; i < all.counts.size(); ++i) {
      all.counts[i] += shard->counts[i].load(std::memory_order_relaxed);
    }
    all.sum += std::chrono::nanoseconds(shard->sum_ns.load(std::memory_order_relaxed));
  }
  return all;
}

}  // namespace s3rdmafs::metrics
