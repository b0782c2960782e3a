// SPDX-License-Identifier: Apache-2.0
#include "fakes/rdma/recorded_memory.h"

#include <bit>
#include <utility>

namespace s3rdmafs::fakes {

std::uint32_t RecordedMemory::add(const void* owner, SeenRegistration registration) {
  std::vector<std::uint32_t>& free = free_[shape_of(registration)];
  if (free.empty()) {
    registration.rkey = next_key_++;
  } else {
    registration.rkey = free.back();
    free.pop_back();
  }
  alive_[owner] = log_.size();
  log_.push_back(std::move(registration));
  return log_.back().rkey;
}

void RecordedMemory::remove(const void* owner) {
  const auto found = alive_.find(owner);
  if (found == alive_.end()) return;
  SeenRegistration& registration = log_[found->second];
  registration.is_alive = false;
  free_[shape_of(registration)].push_back(registration.rkey);
  alive_.erase(found);
}

std::byte* RecordedMemory::find(const std::string& device, std::uint32_t rkey, std::uint64_t iova,
                                std::size_t length, unsigned access) const {
  for (const auto& [owner, index] : alive_) {
    const SeenRegistration& registration = log_[index];
    if (registration.rkey != rkey || registration.device != device) continue;
    if ((registration.access & access) != access) return nullptr;
    if (iova < registration.iova) return nullptr;
    const std::uint64_t offset = iova - registration.iova;
    if (offset > registration.length || length > registration.length - offset) return nullptr;
    return static_cast<std::byte*>(registration.address) + offset;
  }
  return nullptr;
}

// The driver's classes are powers of two of pages.
RecordedMemory::Shape RecordedMemory::shape_of(const SeenRegistration& registration) {
  return {registration.device, registration.access, std::bit_width(registration.length)};
}

}  // namespace s3rdmafs::fakes
