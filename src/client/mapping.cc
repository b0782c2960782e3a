// SPDX-License-Identifier: Apache-2.0
// The parts are mapped side by side into addresses that were reserved before. They begin at a
// multiple of a huge page, as the parts do in the mount's memory: the kernel then maps 2 MiB with
// one entry, and no byte costs a fault of its own.
#include "client/mapping.h"

#include <algorithm>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::client {
namespace {

constexpr std::uint64_t kHugePageBytes = 2 * kMiB;

constexpr std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::unique_ptr<Mapping> Mapping::map(std::shared_ptr<AttachedFile> file,
                                      std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  std::unique_ptr<Mapping> made(new Mapping(std::move(file), offset_bytes, length_bytes));
  if (made->map_parts() || made->map_file()) return made;
  return nullptr;
}

bool Mapping::map_parts() {
  if (!file_->pin(offset_bytes_, length_bytes_)) return false;
  is_pinned_ = true;
  const std::uint64_t part_bytes = file_->part_bytes();
  const std::uint64_t first = offset_bytes_ / part_bytes;
  const std::uint64_t last = (offset_bytes_ + length_bytes_ - 1) / part_bytes;
  taken_bytes_ = rounded_up((last - first + 1) * part_bytes, kHugePageBytes) + kHugePageBytes;
  void* const taken = sys::mmap(nullptr, taken_bytes_, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  bool is_mapped = taken != MAP_FAILED;
  if (is_mapped) {
    at_ = static_cast<std::byte*>(taken);
    const auto address = reinterpret_cast<std::uintptr_t>(at_);
    std::byte* const begin = at_ + (rounded_up(address, kHugePageBytes) - address);
    bytes_ = begin + (offset_bytes_ - first * part_bytes);
    for (std::uint64_t part = first; is_mapped && part <= last; ++part) {
      is_mapped = sys::map_again(file_->part_at(part), file_->part_length(part),
                                 begin + (part - first) * part_bytes);
    }
  }
  if (is_mapped) return true;
  if (at_ != nullptr) ::syscall(SYS_munmap, at_, taken_bytes_);
  at_ = nullptr;
  file_->unpin(offset_bytes_, length_bytes_);
  is_pinned_ = false;
  return false;
}

bool Mapping::map_file() {
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t before = offset_bytes_ % page_bytes;
  taken_bytes_ = before + length_bytes_;
  void* const taken = sys::mmap(nullptr, taken_bytes_, PROT_READ, MAP_SHARED, file_->fd(),
                                static_cast<off_t>(offset_bytes_ - before));
  if (taken == MAP_FAILED) return false;
  at_ = static_cast<std::byte*>(taken);
  bytes_ = at_ + before;
  return true;
}

Mapping::~Mapping() {
  if (at_ != nullptr) ::syscall(SYS_munmap, at_, taken_bytes_);
  if (is_pinned_) file_->unpin(offset_bytes_, length_bytes_);
}

}  // namespace s3rdmafs::client
