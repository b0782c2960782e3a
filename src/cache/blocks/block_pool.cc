// SPDX-License-Identifier: Apache-2.0
#include "cache/blocks/block_pool.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace s3rdmafs::cache {

namespace {

// Of all slabs at most so many are kept: what streams by needs room for its read-ahead.
constexpr std::size_t kKeptMaxNumerator = 3;
constexpr std::size_t kKeptMaxDenominator = 4;
// In sizes of the cache that came in since: an epoch that reads a few times as much as the cache
// holds still finds in its next turn what was kept in the last.
constexpr std::uint64_t kOldAfterTurns = 4;
// Of what has passed: as far behind each other may readers be.
constexpr std::size_t kPassedSparedPart = 2;

}  // namespace

BlockClass block_class_for(std::uint64_t object_bytes) noexcept {
  std::uint8_t number = 0;
  while (number + 1U < kBlockClasses && object_bytes > block_bytes(BlockClass{number})) ++number;
  return BlockClass{number};
}

BlockPool::BlockPool(SlabUsage& users) : users_(users), slabs_(users.slab_count()) {
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
    users_.take(*open);
  }
  Slab& slab = slabs_[*open];
  const BlockPlace place{.slab = *open, .slot = slab.next_slot++};
  users_.touch(*open);
  if (slab.next_slot == memory::Arena::kSlabBytes / block_bytes(block_class)) open.reset();
  return place;
}

std::optional<std::uint32_t> BlockPool::victim() const {
  std::optional<std::uint32_t> oldest;
  std::optional<std::uint32_t> oldest_kept;
  std::vector<std::uint32_t> passed;
  for (std::uint32_t number = 0; number < slabs_.size(); ++number) {
    if (slabs_[number].state != State::kInUse || users_.any(number)) continue;
    const bool is_one_kept = is_kept(number);
    auto& candidate = is_one_kept ? oldest_kept : oldest;
    if (!candidate || users_.last_use(number) < users_.last_use(*candidate)) candidate = number;
    if (!is_one_kept && users_.has_passed(number)) passed.push_back(number);
  }
  if (!oldest) return oldest_kept;
  if (is_old(*oldest)) return oldest;  // nobody came back for it in all that time
  const auto one = victim_of(std::move(passed));
  return one ? one : oldest;
}

// By when they came, not by use: readers behind use what the first has long passed.
std::optional<std::uint32_t> BlockPool::victim_of(std::vector<std::uint32_t> passed) const {
  const std::size_t spared = slabs_.size() / kPassedSparedPart;
  if (passed.size() <= spared) return std::nullopt;
  const auto at = passed.begin() + static_cast<std::ptrdiff_t>(spared);
  std::ranges::nth_element(passed, at, std::ranges::greater{},
                           [this](std::uint32_t slab) { return users_.came(slab); });
  return *at;
}

void BlockPool::keep(std::uint32_t slab) {
  if (slabs_.at(slab).state != State::kInUse || users_.is_kept(slab)) return;
  if (kept_count_ * kKeptMaxDenominator >= slabs_.size() * kKeptMaxNumerator) {
    std::optional<std::uint32_t> oldest;
    for (std::uint32_t other = 0; other < slabs_.size(); ++other) {
      if (!users_.is_kept(other)) continue;
      if (!oldest || users_.last_use(other) < users_.last_use(*oldest)) oldest = other;
    }
    if (!oldest) return;  // a cache of a slab or two
    users_.mark_kept(*oldest, false);
    --kept_count_;
  }
  users_.mark_kept(slab, true);
  ++kept_count_;
}

bool BlockPool::is_kept(std::uint32_t slab) const { return users_.is_kept(slab) && !is_old(slab); }

bool BlockPool::is_old(std::uint32_t slab) const {
  return users_.taken_since(slab) >= kOldAfterTurns * slabs_.size();
}

void BlockPool::withdraw(std::uint32_t slab, State state) {
  slabs_.at(slab).state = state;
  for (auto& open : open_) {
    if (open == slab) open.reset();
  }
  users_.withdraw(slab);
}

// Whoever removes the last user after withdraw() sees that it has to attend; whoever removed it
// before is seen here.
void BlockPool::retire(std::uint32_t slab) {
  withdraw(slab, State::kRetired);
  if (!users_.any(slab)) release(slab);
}

void BlockPool::release(std::uint32_t slab) {
  assert(!users_.any(slab) && slabs_.at(slab).state != State::kFree);
  if (is_quarantined(slab)) --quarantined_count_;
  for (auto& open : open_) {
    if (open == slab) open.reset();
  }
  if (users_.is_kept(slab)) --kept_count_;
  slabs_[slab] = Slab{};
  users_.reset(slab);
  free_.push_back(slab);
}

BlockPool::Reclaim BlockPool::attend(std::uint32_t slab) {
  if (users_.any(slab)) return Reclaim::kNotYet;
  Slab& one = slabs_.at(slab);
  if (one.state == State::kRetired) {
    release(slab);
    return Reclaim::kFree;
  }
  if (one.state != State::kQuarantined) return Reclaim::kNotYet;
  one.state = State::kRenewing;
  return Reclaim::kToRenew;
}

void BlockPool::quarantine(std::uint32_t slab) {
  if (is_quarantined(slab)) return;
  assert(slabs_.at(slab).state == State::kInUse || slabs_[slab].state == State::kRetired);
  ++quarantined_count_;
  withdraw(slab, State::kQuarantined);
}

bool BlockPool::is_quarantined(std::uint32_t slab) const {
  const State state = slabs_.at(slab).state;
  return state == State::kQuarantined || state == State::kRenewing;
}

}  // namespace s3rdmafs::cache
