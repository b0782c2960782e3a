// SPDX-License-Identifier: Apache-2.0
// Name cache, bounded by two generations. Answers go into the young one. When that holds half of
// a limit it becomes the old one, and the old one is dropped at once. Every answer expires by its
// ttl anyway, so the order of use that an LRU list keeps would gain little for two pointers an
// entry.
//
// User metadata. A listing has none; an answer of HeadObject does. Where a listing shows the same
// version with the same time, the attributes that were known stay: to change them the object is
// stored again, which changes the time. They must be settled (Node::file()), since HeadObject and
// some listings tell the time in seconds.
//
// An answer that is no longer believed leaves its time, since an older answer may still be on its
// way: in a request, or in the listing of a directory that is open. A dropped
// generation leaves the time of its newest change, and all that was seen before that is doubted.
#include "vfs/names/name_cache.h"

#include <algorithm>
#include <utility>

namespace s3rdmafs::vfs {
namespace {

using std::chrono::milliseconds;

// Written as a difference of time points only where both are real ones: SeenAt::min() would
// overflow.
milliseconds left_of(milliseconds ttl, SeenAt seen_at, SeenAt now) {
  if (seen_at <= now - ttl) return milliseconds(0);
  // Rounded up: a fraction of a millisecond that is left is not zero.
  return std::chrono::ceil<milliseconds>(seen_at + ttl - now);
}

// The heap bytes of a string, with the allocator's own 16 bytes.
std::uint64_t heap_bytes(const std::string& text) {
  constexpr std::size_t kInside = 15;  // what a string holds without the heap
  return text.size() <= kInside ? 0 : text.size() + 17;
}

}  // namespace

// The same before and after an answer is stored: sizes, not capacities.
std::uint64_t NameCache::bytes_of(const std::string& key, const Kept& kept) {
  constexpr std::uint64_t kOfTheTable = 48;  // a node's link, hash and allocation, and its bucket
  constexpr std::uint64_t kOfTheAttributes = sizeof(PosixAttributes) + 32;  // counters, allocation
  std::uint64_t bytes = kOfTheTable + sizeof(std::pair<std::string, Kept>) + heap_bytes(key);
  if (kept.answer && kept.answer->node) {
    const s3::ObjectInfo& object = kept.answer->node->object;
    bytes += heap_bytes(object.key) + heap_bytes(object.etag);
    if (kept.answer->node->posix) bytes += kOfTheAttributes;
  }
  return bytes;
}

std::optional<NameAnswer> NameCache::find(const std::string& key) const {
  const SeenAt now = clock_.now();
  const MutexLock lock(mutex_);
  for (const Answers* answers : {&young_, &old_}) {
    const auto found = answers->by_key.find(key);
    if (found == answers->by_key.end()) continue;
    if (!found->second.answer) return std::nullopt;
    const NameAnswer& answer = *found->second.answer;
    if (left_of(ttl_of(answer), answer.seen_at, now) > milliseconds(0)) return answer;
    return std::nullopt;
  }
  return std::nullopt;
}

bool NameCache::was_found(const std::string& key) const {
  const MutexLock lock(mutex_);
  for (const Answers* answers : {&young_, &old_}) {
    const auto found = answers->by_key.find(key);
    if (found == answers->by_key.end()) continue;
    return !found->second.answer || found->second.answer->node.has_value();
  }
  return false;
}

void NameCache::insert(const std::string& key, NameAnswer answer) {
  const SeenAt seen_at = answer.seen_at;
  keep(key, {.answer = std::move(answer), .seen_at = seen_at});
}

void NameCache::insert(std::span<const ListedName> listed) {
  for (const ListedName& name : listed) {
    std::string key = name.node.object.key;
    if (name.node.is_directory) key.pop_back();  // the "/"; nothing listed has an empty prefix
    insert(key, {.node = name.node, .seen_at = name.seen_at});
  }
}

void NameCache::invalidate(const std::string& key, SeenAt since) {
  keep(key, {.answer = std::nullopt, .seen_at = since});
}

void NameCache::take_attributes(const Kept& known, Kept& kept) {
  const bool are_names = known.answer && known.answer->node && kept.answer && kept.answer->node;
  if (!are_names || kept.answer->node->is_directory || known.answer->node->is_directory) return;
  Node& node = *kept.answer->node;
  const Node& before = *known.answer->node;
  if (node.posix || !before.is_posix_settled || !is_same_store(before.object, node.object)) return;
  node.posix = before.posix;
  node.is_posix_settled = true;
}

void NameCache::keep(const std::string& key, Kept kept) {
  Answers dropped;  // destroyed after the lock
  const bool expires_at_once = kept.answer && ttl_of(*kept.answer) == milliseconds(0);
  const MutexLock lock(mutex_);
  bool is_known = false;
  for (Answers* answers : {&young_, &old_}) {
    const auto found = answers->by_key.find(key);
    if (found == answers->by_key.end()) continue;
    if (found->second.seen_at > kept.seen_at) return;
    take_attributes(found->second, kept);
    answers->bytes -= bytes_of(key, found->second);
    answers->by_key.erase(found);
    is_known = true;
  }
  // The change that ended this answer may be among those that were dropped.
  if (kept.answer && !is_known && kept.seen_at < newest_forgotten_change_) return;
  if (expires_at_once) {
    kept.answer.reset();
    if (!is_known) return;
  }
  const std::uint64_t bytes = bytes_of(key, kept);
  if (young_.by_key.size() >= std::max<std::size_t>(1, limits_.entries_max / 2) ||
      young_.bytes + bytes > limits_.bytes_max / 2) {
    dropped = std::exchange(old_, std::exchange(young_, {}));
    newest_forgotten_change_ = std::max(newest_forgotten_change_, dropped.newest_change);
  }
  if (!kept.answer) young_.newest_change = std::max(young_.newest_change, kept.seen_at);
  young_.bytes += bytes;
  young_.by_key.emplace(key, std::move(kept));
  if (bytes_gauge_ != nullptr) {
    const auto now_bytes = static_cast<std::int64_t>(young_.bytes + old_.bytes);
    bytes_gauge_->add(now_bytes - std::exchange(told_bytes_, now_bytes));
  }
}

bool NameCache::is_superseded(const std::string& key, SeenAt seen_at) const {
  const MutexLock lock(mutex_);
  for (const Answers* answers : {&young_, &old_}) {
    const auto found = answers->by_key.find(key);
    if (found != answers->by_key.end()) return found->second.seen_at > seen_at;
  }
  return seen_at < newest_forgotten_change_;
}

milliseconds NameCache::time_left(SeenAt seen_at) const {
  return left_of(limits_.ttl, seen_at, clock_.now());
}

}  // namespace s3rdmafs::vfs
