// SPDX-License-Identifier: Apache-2.0
#include "fakes/fake_read_cache.h"

#include <algorithm>
#include <utility>

#include "fakes/rdma/fake_region.h"

namespace s3rdmafs::fakes {
namespace {

/// The region of a read's bytes, which lives while they are pinned.
struct OwnedRegion final : cache::PinnedBytes::Pin {
  explicit OwnedRegion(std::size_t size_bytes) : region(size_bytes) {}
  FakeRegion region;
};

class Reader final : public cache::ObjectReader {
 public:
  Reader(s3::ObjectStore& store, cache::ObjectVersion version,
         std::shared_ptr<std::atomic<int>> readers)
      : store_(store), version_(std::move(version)), readers_(std::move(readers)) {
    ++*readers_;
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() override { --*readers_; }

  void read(std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
            Done<cache::PinnedBytes> done) override {
    if (offset_bytes >= version_.size_bytes) return done(cache::PinnedBytes());
    const std::uint64_t clipped =
        std::min<std::uint64_t>(length, version_.size_bytes - offset_bytes);
    auto pin = std::make_unique<OwnedRegion>(clipped);
    s3::GetRequest request{.key = version_.key,
                           .etag = version_.etag,
                           .offset_bytes = offset_bytes,
                           .window = {&pin->region, 0, clipped}};
    store_.get(std::move(request), deadline,
               [pin = std::move(pin),
                done = std::move(done)](std::expected<s3::Path, s3::GetFailure> result) mutable {
                 if (!result) return done(std::unexpected(std::move(result.error().error)));
                 cache::PinnedBytes bytes;
                 const std::span<const std::byte> piece = pin->region.bytes();
                 bytes.add(piece, std::move(pin));
                 done(std::move(bytes));
               });
  }

 private:
  s3::ObjectStore& store_;
  const cache::ObjectVersion version_;
  const std::shared_ptr<std::atomic<int>> readers_;
};

}  // namespace

std::shared_ptr<cache::ObjectReader> FakeReadCache::open(cache::ObjectVersion version) {
  ++opens_;
  return std::make_shared<Reader>(store_, std::move(version), readers_);
}

void FakeReadCache::prefetch(cache::ObjectVersion version) {
  const MutexLock lock(mutex_);
  prefetched_.push_back(std::move(version.key));
}

std::vector<std::string> FakeReadCache::prefetched() const {
  const MutexLock lock(mutex_);
  return prefetched_;
}

}  // namespace s3rdmafs::fakes
