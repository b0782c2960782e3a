// SPDX-License-Identifier: Apache-2.0
#include "cache/block_pool.h"

#include <cassert>

namespace s3rdmafs::cache {

namespace {

// Of all slabs at most so many are kept: what streams by needs room for its read-ahead.
constexpr std::size_t kKeptMaxNumerator = 3;
constexpr std::size_t kKeptMaxDenominator = 4;
// In sizes of the cache that came in since: an epoch that reads a few times as much as the cache
// holds still finds in its next turn what was kept in the last.
constexpr std::uint64_t kKeptForTurns = 4;

}  // namespace

BlockClass block_class_for(std::uint64_t object_bytes) noexcept {
  std::uint8_t number = 0;
  while (number + 1U < kBlockClasses && object_bytes > block_bytes(BlockClass{number})) ++number;
  return BlockClass{number};
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
    ++taken_;
  }
  Slab& slab = slabs_[*open];
  const BlockPlace place{.slab = *open, .slot = slab.next_slot++};
  touch(slab);
  if (slab.next_slot == Arena::kSlabBytes / block_bytes(block_class)) open.reset();
  return place;
}

std::optional<std::uint32_t> BlockPool::victim() const {
  std::optional<std::uint32_t> oldest;
  std::optional<std::uint32_t> oldest_kept;
  for (std::uint32_t number = 0; number < slabs_.size(); ++number) {
    const Slab& slab = slabs_[number];
    if (slab.state != State::kInUse || slab.users > 0) continue;
    auto& candidate = is_kept(number) ? oldest_kept : oldest;
    if (!candidate || slab.last_use < slabs_[*candidate].last_use) candidate = number;
  }
  return oldest ? oldest : oldest_kept;
}

void BlockPool::touch(Slab& slab) {
  slab.last_use = ++uses_;
  slab.last_use_taken = taken_;
}

void BlockPool::keep(std::uint32_t slab) {
  if (slabs_.at(slab).state != State::kInUse || slabs_[slab].is_kept) return;
  if (kept_count_ * kKeptMaxDenominator >= slabs_.size() * kKeptMaxNumerator) {
    Slab* oldest = nullptr;
    for (Slab& other : slabs_) {
      if (other.is_kept && (oldest == nullptr || other.last_use < oldest->last_use)) {
        oldest = &other;
      }
    }
    if (oldest == nullptr) return;  // a cache of a slab or two
    oldest->is_kept = false;
    --kept_count_;
  }
  slabs_[slab].is_kept = true;
  ++kept_count_;
}

bool BlockPool::is_kept(std::uint32_t slab) const {
  return slabs_.at(slab).is_kept &&
         taken_ - slabs_[slab].last_use_taken < kKeptForTurns * slabs_.size();
}

void BlockPool::release(std::uint32_t slab) {
  assert(slabs_.at(slab).users == 0 && slabs_[slab].state != State::kFree);
  if (slabs_[slab].state == State::kQuarantined) --quarantined_count_;
  for (auto& open : open_) {
    if (open == slab) open.reset();
  }
  if (slabs_[slab].is_kept) --kept_count_;
  slabs_[slab] = Slab{};
  free_.push_back(slab);
}

void BlockPool::add_user(std::uint32_t slab) {
  ++slabs_.at(slab).users;
  touch(slabs_[slab]);
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
