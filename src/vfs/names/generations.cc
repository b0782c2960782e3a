// SPDX-License-Identifier: Apache-2.0
#include "vfs/names/generations.h"

#include <span>
#include <utility>

#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::vfs {
namespace {

std::uint64_t hash_of(std::string_view key, std::string_view etag) {
  const auto add = [](std::uint64_t crc, std::string_view text) {
    return crc64nvme(crc, std::as_bytes(std::span(text)));
  };
  constexpr std::string_view kNul("\0", 1);  // in no key
  return add(add(add(0, key), kNul), etag);
}

}  // namespace

/// Returns whether it was known already.
bool Generations::note(std::uint64_t version) {
  if (young_.contains(version)) return true;
  const bool is_known = old_.contains(version);
  if (young_.size() >= entries_max_) old_ = std::exchange(young_, {});
  young_.insert(version);
  return is_known;
}

void Generations::seen(std::string_view key, std::string_view etag) {
  const std::uint64_t version = hash_of(key, etag);
  const MutexLock lock(mutex_);
  note(version);
}

bool Generations::stored(std::string_view key, std::string_view etag) {
  const std::uint64_t version = hash_of(key, etag);
  const MutexLock lock(mutex_);
  if (!note(version) && !generations_.contains(version)) return false;
  if (generations_.size() >= entries_max_) {  // all that is cached is of another generation then
    generations_.clear();
    of_others_ = ++last_;
  }
  generations_[version] = ++last_;
  has_any_ = true;
  return true;
}

std::uint64_t Generations::of(std::string_view key, std::string_view etag) const {
  if (!has_any_) return 0;
  const std::uint64_t version = hash_of(key, etag);
  const MutexLock lock(mutex_);
  const auto found = generations_.find(version);
  return found == generations_.end() ? of_others_ : found->second;
}

}  // namespace s3rdmafs::vfs
