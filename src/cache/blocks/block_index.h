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

/// Which objects and blocks there are, and in which slab: what can be found. Thread-bound:
/// BlockCache's lock guards it. Takes an object's lock to change its blocks.
///
/// Objects and blocks own each other while they can be found; what cannot be found any more lives
/// for as long as pins and fills hold it.
class BlockIndex {
 public:
  /// Borrows both.
  BlockIndex(BlockPool& pool, metrics::Registry& metrics);
  /// Nothing can be found any more.
  ~BlockIndex();
  BlockIndex(const BlockIndex&) = delete;
  BlockIndex& operator=(const BlockIndex&) = delete;

  [[nodiscard]] std::shared_ptr<CachedObject> find_or_make(ObjectVersion version);
  /// To be called when the object lost a reader, or was made for none.
  void drop_if_unused(const std::shared_ptr<CachedObject>& object);

  /// The block, in memory that it may cost others. Null where all memory has users.
  [[nodiscard]] std::shared_ptr<Block> find_or_make_block(
      const std::shared_ptr<CachedObject>& object, BlockName name);
  /// Takes a slab's blocks out of the index. Pins and fills keep theirs.
  void forget_blocks_of(std::uint32_t slab);

 private:
  BlockPool& pool_;
  metrics::Counter& evictions_;
  std::unordered_map<std::string, std::shared_ptr<CachedObject>> objects_;
  std::vector<std::vector<std::shared_ptr<Block>>> blocks_of_slab_;
};

}  // namespace s3rdmafs::cache
