// SPDX-License-Identifier: Apache-2.0
// Finding a victim looks at every slab: 1 us for each GiB of cache, once for each 8 MiB filled.
#include "cache/block_index.h"

#include <chrono>
#include <utility>

namespace s3rdmafs::cache {
namespace {

// What is read again later than this was not read twice by one pass over it: processes that go
// through a file together are closer to each other.
constexpr std::chrono::milliseconds kPassTime{1000};

// A NUL cannot be part of a key.
std::string index_key(const ObjectVersion& version) { return version.key + '\0' + version.etag; }

}  // namespace

BlockIndex::BlockIndex(BlockPool& pool, const Clock& clock, metrics::Registry& metrics)
    : pool_(pool),
      clock_(clock),
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
  objects_.erase(index_key(object->version));
}

std::shared_ptr<Block> BlockIndex::find_or_make_block(const std::shared_ptr<CachedObject>& object,
                                                      BlockName name) {
  if (const auto found = object->blocks.find(name); found != object->blocks.end()) {
    return found->second;
  }
  auto place = pool_.take(name.block_class);
  if (!place) {
    const auto victim = pool_.victim();
    if (!victim) return nullptr;
    forget_blocks_of(*victim);
    pool_.release(*victim);
    evictions_.add();
    place = pool_.take(name.block_class);
  }
  auto block = std::make_shared<Block>();
  block->object = object;
  block->name = name;
  block->place = *place;
  object->blocks.emplace(name, block);
  blocks_of_slab_.at(place->slab).push_back(block);
  return block;
}

void BlockIndex::forget_blocks_of(std::uint32_t slab) {
  for (const auto& block : std::exchange(blocks_of_slab_.at(slab), {})) {
    block->object->blocks.erase(block->name);
    drop_if_unused(block->object);
  }
}

// A second read of the same bytes, later and not as the next step of the first, is what tells data
// that is used again from data that streams by.
void BlockIndex::note_read(Block& block, ByteRange range) {
  const UnitMask units = block.units_of(range);
  const bool is_next = range.begin == block.read_to;
  block.read_to = range.end;
  const bool is_again = (units & block.read) != 0;
  if (block.read != 0 && (is_next || !is_again)) {
    block.read |= units;
    return;
  }
  const auto now = clock_.now();
  if (block.read == 0) block.first_read = now;
  block.read |= units;
  if (is_again && now - block.first_read >= kPassTime) pool_.keep(block.place.slab);
}

}  // namespace s3rdmafs::cache
