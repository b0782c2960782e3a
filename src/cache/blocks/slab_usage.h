// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace s3rdmafs::cache {

/// Per-slab state that hits update, kept separate from BlockPool so that hits share no lock: the
/// number of users (pins and fills on the slab's blocks) and the time of the last use. Thread-safe.
///
/// A user is added only by a thread that can find a block of the slab: under the lock of that
/// block's object, or BlockCache's. So a slab whose blocks have left the index gets no more users.
class SlabUsage {
 public:
  explicit SlabUsage(std::size_t slab_count) : slabs_(slab_count) {}

  [[nodiscard]] std::size_t slab_count() const noexcept { return slabs_.size(); }

  void add(std::uint32_t slab) {
    Slab& one = slabs_.at(slab);
    one.count.fetch_add(1);
    touch(one);
  }

  /// True if this was the last user of a withdrawn slab: the caller calls BlockPool::reclaim().
  [[nodiscard]] bool remove(std::uint32_t slab) {
    Slab& one = slabs_.at(slab);
    [[maybe_unused]] const std::uint32_t before = one.count.fetch_sub(1);
    assert(before > 0);
    return before == 1 && one.is_withdrawn.load();
  }

  [[nodiscard]] bool any(std::uint32_t slab) const { return slabs_.at(slab).count.load() > 0; }

  // State that BlockPool sets under BlockCache's lock and hits read without it.
  void withdraw(std::uint32_t slab) { slabs_.at(slab).is_withdrawn.store(true); }
  void set_protected(std::uint32_t slab, bool is_protected) {
    slabs_.at(slab).is_protected.store(is_protected);
  }
  /// The slab is free: all of its state except the times of use starts again.
  void reset(std::uint32_t slab) {
    slabs_.at(slab).is_withdrawn.store(false);
    slabs_.at(slab).is_protected.store(false);
    slabs_.at(slab).is_streamed.store(false);
  }

  [[nodiscard]] bool is_protected(std::uint32_t slab) const {
    return slabs_.at(slab).is_protected.load();
  }

  /// All of the slab was read, and its object is larger than the cache. Only a user of the slab may
  /// call this, so that it cannot mark the slab's next contents.
  void mark_streamed(std::uint32_t slab) { slabs_.at(slab).is_streamed.store(true); }
  [[nodiscard]] bool is_streamed(std::uint32_t slab) const {
    return slabs_.at(slab).is_streamed.load();
  }

  /// The number of the last use; each use of any slab takes the next number.
  [[nodiscard]] std::uint64_t last_use(std::uint32_t slab) const {
    return slabs_.at(slab).last_use.load(std::memory_order_relaxed);
  }
  /// How many slabs were taken since the last use of this one.
  [[nodiscard]] std::uint64_t taken_since(std::uint32_t slab) const {
    return taken_.load() - slabs_.at(slab).last_use_taken.load(std::memory_order_relaxed);
  }
  /// The slab is taken for new contents, which counts as a use.
  void take(std::uint32_t slab) {
    slabs_.at(slab).fill_sequence.store(taken_.fetch_add(1), std::memory_order_relaxed);
    touch(slabs_.at(slab));
  }
  /// The number of the slab's last take(); each take() of any slab takes the next number.
  [[nodiscard]] std::uint64_t fill_sequence(std::uint32_t slab) const {
    return slabs_.at(slab).fill_sequence.load(std::memory_order_relaxed);
  }
  void touch(std::uint32_t slab) { touch(slabs_.at(slab)); }

 private:
  // A cache line each: other readers use the neighbours.
  struct alignas(64) Slab {
    std::atomic<std::uint32_t> count{0};
    std::atomic<bool> is_withdrawn{false};
    std::atomic<bool> is_protected{false};
    std::atomic<bool> is_streamed{false};
    std::atomic<std::uint64_t> last_use{0};
    std::atomic<std::uint64_t> last_use_taken{0};
    std::atomic<std::uint64_t> fill_sequence{0};
  };

  void touch(Slab& slab) {
    slab.last_use.store(uses_.fetch_add(1, std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
    slab.last_use_taken.store(taken_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  std::vector<Slab> slabs_;
  std::atomic<std::uint64_t> uses_{0};
  std::atomic<std::uint64_t> taken_{0};  // slabs taken so far
};

}  // namespace s3rdmafs::cache
