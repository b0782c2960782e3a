// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cache/arena.h"

namespace s3rdmafs::cache {

/// The sizes blocks come in. An object is cut into blocks of the smallest class that holds it
/// whole, or of the largest: a small file costs 64 KiB, not a slab.
enum class BlockClass : std::uint8_t { k64KiB, k512KiB, k4MiB };

[[nodiscard]] constexpr std::size_t block_bytes(BlockClass block_class) noexcept {
  switch (block_class) {
    case BlockClass::k64KiB:
      return 64 * kKiB;
    case BlockClass::k512KiB:
      return 512 * kKiB;
    case BlockClass::k4MiB:
      break;
  }
  return 4 * kMiB;
}

[[nodiscard]] BlockClass block_class_for(std::uint64_t object_bytes) noexcept;

/// Where a block's bytes lie.
struct BlockPlace {
  std::uint32_t slab = 0;
  std::uint32_t slot = 0;  ///< number of the block within its slab
};

/// Which slab holds which blocks, which may be taken next, and which must rest. Pure bookkeeping
/// over slab numbers; no memory is touched. Thread-bound: BlockCache's lock guards it.
///
/// A slab is free, or holds blocks of one class, or is in quarantine. Users are the pins and fills
/// on its blocks. A slab is evicted as a whole, least recently used first, once it has no users:
/// coarse, but one decision an 8 MiB instead of one a block.
class BlockPool {
 public:
  explicit BlockPool(std::size_t slab_count);

  /// A slot in a slab of this class, or in a free one. Nothing when only eviction can help.
  [[nodiscard]] std::optional<BlockPlace> take(BlockClass block_class);

  /// The slab whose blocks should go next. The caller forgets those blocks, then calls release().
  [[nodiscard]] std::optional<std::uint32_t> victim() const;
  /// Makes a slab free. It has no users and no block of it is in the index.
  void release(std::uint32_t slab);

  void add_user(std::uint32_t slab);
  void remove_user(std::uint32_t slab);
  [[nodiscard]] bool has_users(std::uint32_t slab) const { return slabs_.at(slab).users > 0; }

  /// No slot of the slab is given out, and it is no victim, until release().
  void quarantine(std::uint32_t slab);
  [[nodiscard]] bool is_quarantined(std::uint32_t slab) const;

  [[nodiscard]] std::size_t free_count() const noexcept { return free_.size(); }
  [[nodiscard]] std::size_t quarantined_count() const noexcept { return quarantined_count_; }

 private:
  enum class State : std::uint8_t { kFree, kInUse, kQuarantined };
  struct Slab {
    State state = State::kFree;
    BlockClass block_class = BlockClass::k4MiB;
    std::uint32_t next_slot = 0;  // slots are handed out in order and come back all at once
    std::uint32_t users = 0;
    std::uint64_t last_use = 0;
  };

  std::vector<Slab> slabs_;
  std::vector<std::uint32_t> free_;
  std::optional<std::uint32_t> open_[3];  // per class: the slab that still has slots
  std::uint64_t uses_ = 0;                // the clock of last_use
  std::size_t quarantined_count_ = 0;
};

}  // namespace s3rdmafs::cache
