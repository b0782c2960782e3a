// SPDX-License-Identifier: Apache-2.0
#include "target/store/part_places.h"

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::target {
namespace {

// S3's limits. Beyond them an offset might be more than a file can have.
constexpr std::uint64_t kPartMaxBytes = 5 * kGiB;
constexpr std::uint64_t kObjectMaxBytes = 5 * kTiB;

}  // namespace

PartPlace::~PartPlace() {
  if (places_ != nullptr) places_->leave(upload_, number_, false);
}

void PartPlace::settle() { std::exchange(places_, nullptr)->leave(upload_, number_, true); }

void PartPlaces::begin(const std::string& upload) {
  const MutexLock lock(mutex_);
  uploads_.try_emplace(upload);
}

std::optional<PartPlace> PartPlaces::take(const std::string& upload, unsigned number,
                                          std::uint64_t length_bytes) {
  const MutexLock lock(mutex_);
  const auto found = uploads_.find(upload);
  if (found == uploads_.end() || found->second.is_closed) return std::nullopt;
  if (length_bytes == 0 || length_bytes > kPartMaxBytes) return std::nullopt;
  Upload& known = found->second;
  if (known.part_bytes == 0) known.part_bytes = length_bytes;
  if (length_bytes > known.part_bytes) return std::nullopt;
  if (number * known.part_bytes > kObjectMaxBytes) return std::nullopt;
  if (!known.taken.insert(number).second) return std::nullopt;
  ++known.writers;
  return PartPlace(this, upload, number, known.part_bytes, length_bytes);
}

bool PartPlaces::close(const std::string& upload) {
  const MutexLock lock(mutex_);
  const auto found = uploads_.find(upload);
  if (found == uploads_.end()) return false;
  found->second.is_closed = true;
  return found->second.writers == 0;
}

void PartPlaces::end(const std::string& upload) {
  const MutexLock lock(mutex_);
  uploads_.erase(upload);
}

void PartPlaces::leave(const std::string& upload, unsigned number, bool is_stored) {
  const MutexLock lock(mutex_);
  const auto found = uploads_.find(upload);
  if (found == uploads_.end()) return;
  --found->second.writers;
  if (!is_stored) found->second.taken.erase(number);
}

}  // namespace s3rdmafs::target
