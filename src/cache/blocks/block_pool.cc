// SPDX-License-Identifier: Apache-2.0
#include "cache/blocks/block_pool.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace s3rdmafs::cache {

namespace {

// The part of all slabs that may be protected: data that streams by needs room for its read-ahead.
constexpr std::size_t kProtectedMaxNumerator = 3;
constexpr std::size_t kProtectedMaxDenominator = 4;
// In sizes of the cache: an epoch that reads a few times as much as the cache holds still finds
// what the last epoch protected.
constexpr std::uint64_t kOldAfterTurns = 4;
// Streamed slabs up to 1/2 of all slabs are spared: so far may readers lag behind each other.
constexpr std::size_t kStreamedSparedPart = 2;

}  // namespace

BlockClass block_class_for(std::uint64_t object_bytes) noexcept {
  std::uint8_t number = 0;
  while (number + 1U < kBlockClasses && object_bytes > block_bytes(BlockClass{number})) ++number;
  return BlockClass{number};
}

BlockPool::BlockPool(SlabUsage& usage) : usage_(usage), slabs_(usage.slab_count()) {
  // Lowest number on top, so that a cache that is never full stays in few slabs.
  for (std::size_t slab = slabs_.size(); slab > 0; --slab) {
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
    usage_.take(*open);
  }
  Slab& slab = slabs_[*open];
  const BlockPlace place{.slab = *open, .slot = slab.next_slot++};
  usage_.touch(*open);
  if (slab.next_slot == kSlabBytes / block_bytes(block_class)) open.reset();
  return place;
}

std::optional<std::uint32_t> BlockPool::victim() const {
  std::optional<std::uint32_t> oldest;
  std::optional<std::uint32_t> oldest_protected;
  std::vector<std::uint32_t> streamed;
  for (std::uint32_t number = 0; number < slabs_.size(); ++number) {
    if (slabs_[number].state != State::kInUse || usage_.any(number)) continue;
    const bool is_one_protected = is_protected(number);
    auto& candidate = is_one_protected ? oldest_protected : oldest;
    if (!candidate || usage_.last_use(number) < usage_.last_use(*candidate)) candidate = number;
    if (!is_one_protected && usage_.is_streamed(number)) streamed.push_back(number);
  }
  if (!oldest) return oldest_protected;
  if (is_old(*oldest)) return oldest;  // no reader came back for it in all that time
  const auto one = victim_of(std::move(streamed));
  return one ? one : oldest;
}

// In the order of filling, not of use: readers that follow use what the first has read long ago.
std::optional<std::uint32_t> BlockPool::victim_of(std::vector<std::uint32_t> streamed) const {
  const std::size_t spared = slabs_.size() / kStreamedSparedPart;
  if (streamed.size() <= spared) return std::nullopt;
  const auto at = streamed.begin() + static_cast<std::ptrdiff_t>(spared);
  std::ranges::nth_element(streamed, at, std::ranges::greater{},
                           [this](std::uint32_t slab) { return usage_.fill_sequence(slab); });
  return *at;
}

bool BlockPool::has_more_than(std::size_t slabs) const {
  std::size_t found = free_.size();
  for (std::uint32_t number = 0; number < slabs_.size() && found <= slabs; ++number) {
    if (slabs_[number].state == State::kInUse && !usage_.any(number)) ++found;
  }
  return found > slabs;
}

void BlockPool::protect(std::uint32_t slab) {
  if (slabs_.at(slab).state != State::kInUse || usage_.is_protected(slab)) return;
  if (protected_count_ * kProtectedMaxDenominator >= slabs_.size() * kProtectedMaxNumerator) {
    std::optional<std::uint32_t> oldest;
    for (std::uint32_t other = 0; other < slabs_.size(); ++other) {
      if (!usage_.is_protected(other)) continue;
      if (!oldest || usage_.last_use(other) < usage_.last_use(*oldest)) oldest = other;
    }
    if (!oldest) return;  // a cache of a slab or two
    usage_.set_protected(*oldest, false);
    --protected_count_;
  }
  usage_.set_protected(slab, true);
  ++protected_count_;
}

bool BlockPool::is_protected(std::uint32_t slab) const {
  return usage_.is_protected(slab) && !is_old(slab);
}

bool BlockPool::is_old(std::uint32_t slab) const {
  return usage_.taken_since(slab) >= kOldAfterTurns * slabs_.size();
}

void BlockPool::withdraw(std::uint32_t slab, State state) {
  slabs_.at(slab).state = state;
  for (auto& open : open_) {
    if (open == slab) open.reset();
  }
  usage_.withdraw(slab);
}

// A thread that removes the last user after withdraw() learns from SlabUsage::remove() that it has
// to reclaim; a thread that removed it before is noticed here.
void BlockPool::retire(std::uint32_t slab) {
  withdraw(slab, State::kRetired);
  if (!usage_.any(slab)) release(slab);
}

void BlockPool::release(std::uint32_t slab) {
  assert(!usage_.any(slab) && slabs_.at(slab).state != State::kFree);
  if (is_quarantined(slab)) --quarantined_count_;
  for (auto& open : open_) {
    if (open == slab) open.reset();
  }
  if (usage_.is_protected(slab)) --protected_count_;
  slabs_[slab] = Slab{};
  usage_.reset(slab);
  free_.push_back(slab);
}

BlockPool::Reclaim BlockPool::reclaim(std::uint32_t slab) {
  if (usage_.any(slab)) return Reclaim::kNotYet;
  Slab& one = slabs_.at(slab);
  if (one.state == State::kRetired) {
    release(slab);
    return Reclaim::kFree;
  }
  if (one.state != State::kQuarantined) return Reclaim::kNotYet;
  one.state = State::kFencing;
  return Reclaim::kToFence;
}

void BlockPool::quarantine(std::uint32_t slab) {
  if (is_quarantined(slab)) return;
  assert(slabs_.at(slab).state == State::kInUse || slabs_[slab].state == State::kRetired);
  ++quarantined_count_;
  withdraw(slab, State::kQuarantined);
}

bool BlockPool::is_quarantined(std::uint32_t slab) const {
  const State state = slabs_.at(slab).state;
  return state == State::kQuarantined || state == State::kFencing;
}

}  // namespace s3rdmafs::cache
