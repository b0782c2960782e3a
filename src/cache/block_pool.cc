// SPDX-License-Identifier: Apache-2.0
#include "cache/block_pool.h"

#include <cassert>

namespace s3rdmafs::cache {

BlockClass block_class_for(std::uint64_t object_bytes) noexcept {
  for (const BlockClass candidate : {BlockClass::k64KiB, BlockClass::k512KiB}) {
    if (object_bytes <= block_bytes(candidate)) return candidate;
  }
  return BlockClass::k4MiB;
}

BlockPool::BlockPool(std::size_t slab_count) : slabs_(slab_count) {
  // Lowest number on top, so that a cache that is never full stays in few slabs.
  for (std::size_t slab = slab_count; slab > 0; --slab) {
    free_.push_back(static_cast<std::uint32_t>(slab - 1));
  }
}

std::optional<BlockPlace> BlockPool::take(BlockClass block_class) {
  auto& open = open_[static_cast<std::size_t>(block_class)];
  if (!open) {
    if (free_.empty()) return std::nullopt;
    open = free_.back();
    free_.pop_back();
    slabs_[*open] = Slab{.state = State::kInUse, .block_class = block_class};
  }
  Slab& slab = slabs_[*open];
  const BlockPlace place{.slab = *open, .slot = slab.next_slot++};
  slab.last_use = ++uses_;
  if (slab.next_slot == Arena::kSlabBytes / block_bytes(block_class)) open.reset();
  return place;
}

std::optional<std::uint32_t> BlockPool::victim() const {
  std::optional<std::uint32_t> oldest;
  for (std::uint32_t number = 0; number < slabs_.size(); ++number) {
    const Slab& slab = slabs_[number];
    if (slab.state != State::kInUse || slab.users > 0) continue;
    if (!oldest || slab.last_use < slabs_[*oldest].last_use) oldest = number;
  }
  return oldest;
}

void BlockPool::release(std::uint32_t slab) {
  assert(slabs_.at(slab).users == 0 && slabs_[slab].state != State::kFree);
  if (slabs_[slab].state == State::kQuarantined) --quarantined_count_;
  for (auto& open : open_) {
    if (open == slab) open.reset();
  }
  slabs_[slab] = Slab{};
  free_.push_back(slab);
}

void BlockPool::add_user(std::uint32_t slab) {
  ++slabs_.at(slab).users;
  slabs_[slab].last_use = ++uses_;
}

void BlockPool::remove_user(std::uint32_t slab) {
  assert(slabs_.at(slab).users > 0);
  --slabs_[slab].users;
}

void BlockPool::quarantine(std::uint32_t slab) {
  if (is_quarantined(slab)) return;
  assert(slabs_.at(slab).state == State::kInUse);
  slabs_[slab].state = State::kQuarantined;
  ++quarantined_count_;
  for (auto& open : open_) {
    if (open == slab) open.reset();
  }
}

bool BlockPool::is_quarantined(std::uint32_t slab) const {
  return slabs_.at(slab).state == State::kQuarantined;
}

}  // namespace s3rdmafs::cache
