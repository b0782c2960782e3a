// SPDX-License-Identifier: Apache-2.0
// Cost. An eviction looks at every slab: 1 us for each GiB of cache, once for each 8 MiB filled.
#include "cache/blocks/block_index.h"

#include <utility>

namespace s3rdmafs::cache {

BlockIndex::BlockIndex(BlockPool& pool, metrics::Registry& metrics)
    : pool_(pool),
      evictions_(metrics.counter("cache_evictions_total", "Slabs evicted")),
      blocks_of_slab_(pool.slab_count()) {}

BlockIndex::~BlockIndex() {
  for (std::uint32_t slab = 0; slab < blocks_of_slab_.size(); ++slab) forget_blocks_of(slab);
}

std::shared_ptr<CachedObject> BlockIndex::find_or_make(ObjectVersion version) {
  auto& object = objects_[index_key(version)];
  if (!object) object = std::make_shared<CachedObject>(std::move(version));
  return object;
}

void BlockIndex::drop_if_unused(const std::shared_ptr<CachedObject>& object) {
  if (object->readers > 0 || !object->blocks.empty()) return;
  const auto found = objects_.find(index_key(object->version));
  if (found != objects_.end() && found->second == object) objects_.erase(found);
}

std::shared_ptr<Block> BlockIndex::find_or_make_block(const std::shared_ptr<CachedObject>& object,
                                                      BlockName name) {
  if (const auto found = object->blocks.find(name); found != object->blocks.end()) {
    return found->second;
  }
  auto place = pool_.take(name.block_class);
  while (!place) {
    const auto victim = pool_.victim();
    if (!victim) return nullptr;
    forget_blocks_of(*victim);
    pool_.retire(*victim);
    evictions_.add();
    place = pool_.take(name.block_class);
  }
  auto block = std::make_shared<Block>();
  block->object = object;
  block->name = name;
  block->place = *place;
  {
    const MutexLock lock(object->mutex);
    object->blocks.emplace(name, block);
  }
  blocks_of_slab_.at(place->slab).push_back(block);
  return block;
}

void BlockIndex::forget_blocks_of(std::uint32_t slab) {
  for (const auto& block : std::exchange(blocks_of_slab_.at(slab), {})) {
    {
      const MutexLock lock(block->object->mutex);
      block->object->blocks.erase(block->name);
    }
    drop_if_unused(block->object);
  }
}

}  // namespace s3rdmafs::cache
