// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cache/blocks/slab_usage.h"
#include "s3rdmafs/base/transfer_sizes.h"

namespace s3rdmafs::cache {

/// The sizes of blocks, each twice the one before. An object is cut into blocks of the smallest
/// class that holds all of it, or of the largest class: an object takes at most twice its size, and
/// at least 64 KiB.
enum class BlockClass : std::uint8_t {
  k64KiB,
  k128KiB,
  k256KiB,
  k512KiB,
  k1MiB,
  k2MiB,
  k4MiB,
  k8MiB,  ///< a whole slab
};
inline constexpr std::size_t kBlockClasses = 8;

[[nodiscard]] constexpr std::size_t block_bytes(BlockClass block_class) noexcept {
  return 64 * kKiB << static_cast<unsigned>(block_class);
}
static_assert(block_bytes(BlockClass::k8MiB) == kSlabBytes);

[[nodiscard]] BlockClass block_class_for(std::uint64_t object_bytes) noexcept;

/// The memory of a block.
struct BlockPlace {
  std::uint32_t slab = 0;
  std::uint32_t slot = 0;  ///< number of the block within its slab
};

/// Decides which slab holds which blocks, which slab is evicted next, and which slab must not be
/// used. Pure bookkeeping over slab numbers; it touches no memory. Thread-bound: BlockCache's lock
/// guards it.
///
/// A slab is free, or holds blocks of one class, or is *withdrawn*: it becomes free when its last
/// user is gone, or it is in quarantine. A slab is evicted as a whole, while it has no users. That
/// is coarse, but takes one decision for 8 MiB instead of one for each block.
///
/// Slabs that were read once only are evicted first, the least recently used one first: data that
/// streams by once makes room for itself. Slabs that were read again are *protected*, up to three
/// quarters of the cache, until slabs of four times the cache's size have been taken since their
/// last use.
///
/// Slabs of objects larger than the cache that were read to their end are *streamed*. If they are
/// more than half of the slabs they are evicted before all others: the latest filled outside the
/// half that was filled first. So the object's beginning stays for the next pass, and readers that
/// follow the first one find what is near. Least recently used first would leave nothing of the
/// object, nor of other data that was read once. Such other data is evicted before streamed slabs
/// only if slabs of four times the cache's size have been taken since its last use.
class BlockPool {
 public:
  /// Borrows the usage, which says how many slabs there are.
  explicit BlockPool(SlabUsage& usage);

  [[nodiscard]] std::size_t slab_count() const noexcept { return slabs_.size(); }

  /// A slot in a slab of this class, or in a free slab. Nothing if neither exists: the caller
  /// evicts, and asks again.
  [[nodiscard]] std::optional<BlockPlace> take(BlockClass block_class);

  /// The slab to evict next. The caller takes its blocks out of the index, then calls retire().
  /// Nothing where all slabs have users.
  [[nodiscard]] std::optional<std::uint32_t> victim() const;
  /// The slab's blocks have left the index. It is free at once, or, if a hit has added a user in
  /// between, once its last user is gone.
  void retire(std::uint32_t slab);
  /// Makes a slab free. It has no users, and none of its blocks is in the index.
  void release(std::uint32_t slab);

  /// The result of reclaim().
  enum class Reclaim : std::uint8_t {
    kNotYet,   ///< the slab has users, is not withdrawn, or was reclaimed before
    kFree,     ///< the slab is free now
    kToFence,  ///< the caller has the slab's region fenced, then calls release()
  };
  /// Call it whenever a withdrawn slab may have lost its last user; more calls do no harm.
  [[nodiscard]] Reclaim reclaim(std::uint32_t slab);

  /// Something in the slab was read a second time.
  void protect(std::uint32_t slab);
  [[nodiscard]] bool is_protected(std::uint32_t slab) const;

  /// The slab gives out no slot and is not evicted until release().
  void quarantine(std::uint32_t slab);
  [[nodiscard]] bool is_quarantined(std::uint32_t slab) const;

  /// Whether more than so many slabs are free or may be evicted now.
  [[nodiscard]] bool has_more_than(std::size_t slabs) const;

  [[nodiscard]] std::size_t free_count() const noexcept { return free_.size(); }
  [[nodiscard]] std::size_t quarantined_count() const noexcept { return quarantined_count_; }

 private:
  enum class State : std::uint8_t { kFree, kInUse, kRetired, kQuarantined, kFencing };
  struct Slab {
    State state = State::kFree;
    BlockClass block_class = BlockClass::k8MiB;
    std::uint32_t next_slot = 0;  // slots are given out in order and come back all at once
  };

  [[nodiscard]] bool is_old(std::uint32_t slab) const;
  [[nodiscard]] std::optional<std::uint32_t> victim_of(std::vector<std::uint32_t> streamed) const;
  void withdraw(std::uint32_t slab, State state);

  SlabUsage& usage_;
  std::vector<Slab> slabs_;
  std::vector<std::uint32_t> free_;
  std::array<std::optional<std::uint32_t>, kBlockClasses> open_;  // the slabs that still have slots
  std::size_t protected_count_ = 0;                               // includes those that are too old
  std::size_t quarantined_count_ = 0;
};

}  // namespace s3rdmafs::cache
