// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "cache/read_cache.h"

namespace s3rdmafs::fuse {

/// A cache whose reads come in two pieces, as those that cross the border of a block do, or never,
/// once the test says so. Thread-safe.
class RiggedCache final : public cache::ReadCache {
 public:
  explicit RiggedCache(cache::ReadCache& below) : below_(below) {}
  void split_reads() { splits_ = true; }
  /// Reads are given up without an answer: the bug that Reply guards against.
  void drop_reads(bool drops) { drops_ = drops; }

  std::shared_ptr<cache::ObjectReader> open(cache::ObjectVersion version) override {
    return std::make_shared<Reader>(*this, below_.open(std::move(version)));
  }
  void prefetch(cache::ObjectVersion version) override { below_.prefetch(std::move(version)); }

 private:
  struct SharedPin final : cache::PinnedBytes::Pin {
    explicit SharedPin(std::shared_ptr<cache::PinnedBytes> bytes) : pinned(std::move(bytes)) {}
    std::shared_ptr<cache::PinnedBytes> pinned;
  };

  class Reader final : public cache::ObjectReader {
   public:
    Reader(const RiggedCache& cache, std::shared_ptr<cache::ObjectReader> below)
        : cache_(cache), below_(std::move(below)) {}
    void read(std::uint64_t offset, std::size_t length, Deadline deadline,
              Done<cache::PinnedBytes> done) override {
      if (cache_.drops_) return;
      if (!cache_.splits_) return below_->read(offset, length, deadline, std::move(done));
      below_->read(
          offset, length, deadline,
          [done = std::move(done)](Result<cache::PinnedBytes> bytes) mutable {
            done(bytes && bytes->size_bytes() > 1 ? halves(std::move(*bytes)) : std::move(bytes));
          });
    }

   private:
    static cache::PinnedBytes halves(cache::PinnedBytes whole) {
      const auto pinned = std::make_shared<cache::PinnedBytes>(std::move(whole));
      const auto all = pinned->pieces().front();
      cache::PinnedBytes two;
      two.add(all.first(all.size() / 2), std::make_unique<SharedPin>(pinned));
      two.add(all.subspan(all.size() / 2), std::make_unique<SharedPin>(pinned));
      return two;
    }

    const RiggedCache& cache_;
    const std::shared_ptr<cache::ObjectReader> below_;
  };

  cache::ReadCache& below_;
  std::atomic<bool> splits_ = false;
  std::atomic<bool> drops_ = false;
};

}  // namespace s3rdmafs::fuse
