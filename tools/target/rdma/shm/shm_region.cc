// SPDX-License-Identifier: Apache-2.0
#include "target/rdma/shm/shm_region.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace s3rdmafs::target {

Result<std::shared_ptr<ShmRegion>> ShmRegion::map(int fd, std::uint64_t offset_bytes,
                                                  std::uint64_t length_bytes,
                                                  rdma::shm::WireAccess access,
                                                  ShmBudget::Share share) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail_errno("fstat", errno);
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (length_bytes == 0 || offset_bytes % page_bytes != 0 || offset_bytes > file_bytes ||
      length_bytes > file_bytes - offset_bytes) {
    return fail(ErrorCode::kInvalidArgument, "the region is not inside its file");
  }
  // A region offered for PUT cannot be written, whatever goes wrong later.
  const int protection =
      access == rdma::shm::WireAccess::kRemoteWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  // Made first: a mapping must have an owner before anything can fail.
  auto region = std::make_shared<ShmRegion>(access, std::move(share));
  void* memory =
      ::mmap(nullptr, length_bytes, protection, MAP_SHARED, fd, static_cast<off_t>(offset_bytes));
  if (memory == MAP_FAILED) return fail_errno("mmap", errno);
  region->bytes_ = {static_cast<std::byte*>(memory), length_bytes};
  return region;
}

ShmRegion::~ShmRegion() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Result<std::span<std::byte>> ShmRegion::window(std::uint64_t offset_bytes,
                                               std::uint64_t size_bytes) const {
  if (size_bytes == 0 || offset_bytes > bytes_.size() ||
      size_bytes > bytes_.size() - offset_bytes) {
    return fail(ErrorCode::kInvalidArgument, "the token reaches outside its region");
  }
  return bytes_.subspan(offset_bytes, size_bytes);
}

}  // namespace s3rdmafs::target
