// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "cache/read_cache.h"

namespace s3rdmafs::fuse {

/// A cache whose reads come in two pieces once the test says so, as those that cross the border of
/// a block. Thread-safe.
class TwoPieceCache final : public cache::ReadCache {
 public:
  explicit TwoPieceCache(cache::ReadCache& below) : below_(below) {}
  void split() { splits_ = true; }

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
    Reader(const TwoPieceCache& cache, std::shared_ptr<cache::ObjectReader> below)
        : cache_(cache), below_(std::move(below)) {}
    void read(std::uint64_t offset, std::size_t length, Deadline deadline,
              Done<cache::PinnedBytes> done) override {
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

    const TwoPieceCache& cache_;
    const std::shared_ptr<cache::ObjectReader> below_;
  };

  cache::ReadCache& below_;
  std::atomic<bool> splits_ = false;
};

}  // namespace s3rdmafs::fuse
