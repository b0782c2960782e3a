// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/blocks/block.h"
#include "cache/blocks/block_pool.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::cache {

/// The objects and blocks that reads can find, and the slab of each block. Thread-bound:
/// BlockCache's lock guards it. It takes an object's lock to change the object's blocks.
///
/// Objects and blocks own each other while they are in the index; afterwards they live as long as
/// pins and fills hold them.
class BlockIndex {
 public:
  /// Borrows both.
  BlockIndex(BlockPool& pool, metrics::Registry& metrics);
  /// Empties the index.
  ~BlockIndex();
  BlockIndex(const BlockIndex&) = delete;
  BlockIndex& operator=(const BlockIndex&) = delete;

  [[nodiscard]] std::shared_ptr<CachedObject> find_or_make(ObjectVersion version);
  /// Call it when the object has lost a reader, or was made without one.
  void drop_if_unused(const std::shared_ptr<CachedObject>& object);

  /// The block; where it is new, other blocks may be evicted for its memory. Null where all memory
  /// has users.
  [[nodiscard]] std::shared_ptr<Block> find_or_make_block(
      const std::shared_ptr<CachedObject>& object, BlockName name);
  /// Takes a slab's blocks out of the index. Pins and fills still hold theirs.
  void forget_blocks_of(std::uint32_t slab);

 private:
  BlockPool& pool_;
  metrics::Counter& evictions_;
  std::unordered_map<std::string, std::shared_ptr<CachedObject>> objects_;
  std::vector<std::vector<std::shared_ptr<Block>>> blocks_of_slab_;
};

}  // namespace s3rdmafs::cache
