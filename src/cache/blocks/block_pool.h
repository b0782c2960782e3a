// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cache/blocks/slab_usage.h"
#include "memory/arena.h"

namespace s3rdmafs::cache {

/// The sizes blocks come in, doubling. An object is cut into blocks of the smallest class that
/// holds it whole, or of the largest: no file costs more than twice its size, nor less than 64 KiB.
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
static_assert(block_bytes(BlockClass::k8MiB) == memory::Arena::kSlabBytes);

[[nodiscard]] BlockClass block_class_for(std::uint64_t object_bytes) noexcept;

/// Where a block's bytes lie.
struct BlockPlace {
  std::uint32_t slab = 0;
  std::uint32_t slot = 0;  ///< number of the block within its slab
};

/// Which slab holds which blocks, which may be taken next, and which must rest. Pure bookkeeping
/// over slab numbers; no memory is touched. Thread-bound: BlockCache's lock guards it.
///
/// A slab is free, or holds blocks of one class, or was withdrawn: to be free when its last user is
/// gone, or in quarantine. A slab is evicted as a whole, while it has no users: coarse, but one
/// decision an 8 MiB instead of one a block.
///
/// What goes first is what was read once only, least recently used first: data that streams by once
/// makes room for itself. Slabs that were read again are *kept*, up to three quarters of the cache,
/// until four times the cache's size has come in without their being read.
///
/// What was read of objects larger than the cache (*passed*) goes first where it is more than half
/// of the slabs: of it the latest to come that are not of that half, so that the beginning stays
/// for who reads it again, and readers behind the first find what is near. Least recently used
/// first would leave nothing of the object, nor of what others have read once. That goes before it
/// only when four times the cache's size has come in without its being read.
class BlockPool {
 public:
  /// Borrows the users, of as many slabs as there are.
  explicit BlockPool(SlabUsage& users);

  [[nodiscard]] std::size_t slab_count() const noexcept { return slabs_.size(); }

  /// A slot in a slab of this class, or in a free one. Nothing when only eviction can help.
  [[nodiscard]] std::optional<BlockPlace> take(BlockClass block_class);

  /// The slab whose blocks should go next. The caller forgets those blocks, then calls retire().
  [[nodiscard]] std::optional<std::uint32_t> victim() const;
  /// Its blocks were forgotten: free at once, or, where a hit came in between, once its last user
  /// is gone.
  void retire(std::uint32_t slab);
  /// Makes a slab free. It has no users and no block of it is in the index.
  void release(std::uint32_t slab);

  /// What a withdrawn slab without users comes to.
  enum class Reclaim : std::uint8_t {
    kNotYet,   ///< it has users, is not withdrawn, or was seen to already
    kFree,     ///< it is free now
    kToRenew,  ///< the caller has it renewed, then calls release()
  };
  /// To be called whenever a withdrawn slab may have lost its last user; more often does no harm.
  [[nodiscard]] Reclaim attend(std::uint32_t slab);

  /// Something in the slab was read a second time.
  void keep(std::uint32_t slab);
  [[nodiscard]] bool is_kept(std::uint32_t slab) const;

  /// No slot of the slab is given out, and it is no victim, until it was renewed.
  void quarantine(std::uint32_t slab);
  [[nodiscard]] bool is_quarantined(std::uint32_t slab) const;

  [[nodiscard]] std::size_t free_count() const noexcept { return free_.size(); }
  [[nodiscard]] std::size_t quarantined_count() const noexcept { return quarantined_count_; }

 private:
  enum class State : std::uint8_t { kFree, kInUse, kRetired, kQuarantined, kRenewing };
  struct Slab {
    State state = State::kFree;
    BlockClass block_class = BlockClass::k8MiB;
    std::uint32_t next_slot = 0;  // slots are handed out in order and come back all at once
  };

  [[nodiscard]] bool is_old(std::uint32_t slab) const;
  [[nodiscard]] std::optional<std::uint32_t> victim_of(std::vector<std::uint32_t> passed) const;
  void withdraw(std::uint32_t slab, State state);

  SlabUsage& users_;
  std::vector<Slab> slabs_;
  std::vector<std::uint32_t> free_;
  std::array<std::optional<std::uint32_t>, kBlockClasses> open_;  // the slab that still has slots
  std::size_t kept_count_ = 0;                                    // aged ones included
  std::size_t quarantined_count_ = 0;
};

}  // namespace s3rdmafs::cache
