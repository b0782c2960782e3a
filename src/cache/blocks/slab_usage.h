// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace s3rdmafs::cache {

/// Who uses the slabs at this moment: the pins and fills on their blocks, and when the last came.
/// What a hit changes of the block pool's books, apart so that hits need no lock in common.
/// Thread-safe.
///
/// A user is only ever added by somebody who can find a block of the slab: under the lock of that
/// block's object, or BlockCache's. So once its blocks were forgotten a slab gets no more users.
class SlabUsage {
 public:
  explicit SlabUsage(std::size_t slab_count) : slabs_(slab_count) {}

  [[nodiscard]] std::size_t slab_count() const noexcept { return slabs_.size(); }

  void add(std::uint32_t slab) {
    Slab& one = slabs_.at(slab);
    one.count.fetch_add(1);
    touch(one);
  }

  /// True: it was the last of a slab that was withdrawn, so the pool has to be told
  /// (BlockPool::attend).
  [[nodiscard]] bool remove(std::uint32_t slab) {
    Slab& one = slabs_.at(slab);
    [[maybe_unused]] const std::uint32_t before = one.count.fetch_sub(1);
    assert(before > 0);
    return before == 1 && one.is_withdrawn.load();
  }

  [[nodiscard]] bool any(std::uint32_t slab) const { return slabs_.at(slab).count.load() > 0; }

  /// What the pool knows of a slab and hits ask for. Under BlockCache's lock.
  void withdraw(std::uint32_t slab) { slabs_.at(slab).is_withdrawn.store(true); }
  void mark_kept(std::uint32_t slab, bool is_kept) { slabs_.at(slab).is_kept.store(is_kept); }
  /// It begins anew.
  void reset(std::uint32_t slab) {
    slabs_.at(slab).is_withdrawn.store(false);
    slabs_.at(slab).is_kept.store(false);
    slabs_.at(slab).has_passed.store(false);
  }

  [[nodiscard]] bool is_kept(std::uint32_t slab) const { return slabs_.at(slab).is_kept.load(); }

  /// All of it was read, and its object is one that the cache cannot hold. Only by one of its
  /// users, so not of a slab that began anew since.
  void mark_passed(std::uint32_t slab) { slabs_.at(slab).has_passed.store(true); }
  [[nodiscard]] bool has_passed(std::uint32_t slab) const {
    return slabs_.at(slab).has_passed.load();
  }

  /// Of a clock that each user and each taken slab brings forward.
  [[nodiscard]] std::uint64_t last_use(std::uint32_t slab) const {
    return slabs_.at(slab).last_use.load(std::memory_order_relaxed);
  }
  /// How many slabs were taken since the last use.
  [[nodiscard]] std::uint64_t taken_since(std::uint32_t slab) const {
    return taken_.load() - slabs_.at(slab).last_use_taken.load(std::memory_order_relaxed);
  }
  /// Something new came in: the slab is taken and used.
  void take(std::uint32_t slab) {
    slabs_.at(slab).came.store(taken_.fetch_add(1), std::memory_order_relaxed);
    touch(slabs_.at(slab));
  }
  /// Which of all the slabs taken so far it was when it was taken last.
  [[nodiscard]] std::uint64_t came(std::uint32_t slab) const {
    return slabs_.at(slab).came.load(std::memory_order_relaxed);
  }
  void touch(std::uint32_t slab) { touch(slabs_.at(slab)); }

 private:
  // A cache line each: neighbours are used by other readers.
  struct alignas(64) Slab {
    std::atomic<std::uint32_t> count{0};
    std::atomic<bool> is_withdrawn{false};
    std::atomic<bool> is_kept{false};
    std::atomic<bool> has_passed{false};
    std::atomic<std::uint64_t> last_use{0};
    std::atomic<std::uint64_t> last_use_taken{0};
    std::atomic<std::uint64_t> came{0};
  };

  void touch(Slab& slab) {
    slab.last_use.store(uses_.fetch_add(1, std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
    slab.last_use_taken.store(taken_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  std::vector<Slab> slabs_;
  std::atomic<std::uint64_t> uses_{0};
  std::atomic<std::uint64_t> taken_{0};  // slabs taken so far: how much has come in
};

}  // namespace s3rdmafs::cache
