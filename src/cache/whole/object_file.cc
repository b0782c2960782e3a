// SPDX-License-Identifier: Apache-2.0
// The lease probe. The kernel grants a write lease only to the sole holder of a file (fcntl(2),
// F_SETLEASE), and a mapping holds a file as an open descriptor does. Our own descriptor and
// mapping, and a server's mapping of the descriptor that it was sent, are one open file: they do
// not count. A program's descriptor through passthrough is another one. The probe needs the file's
// owner or CAP_LEASE, and does not work on a memfd, which always refuses the lease.
#include "cache/whole/object_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "memory/available_memory.h"

namespace s3rdmafs::cache {
namespace {

constexpr std::string_view kSizeKey = "cache.resident_size";

}  // namespace

Result<std::unique_ptr<ObjectFile>> ObjectFile::create(UniqueFd file,
                                                       std::uint64_t capacity_bytes) {
  auto memory = memory::MappedMemory::map(file.get(), capacity_bytes);
  if (!memory) return std::unexpected(memory.error());
  return std::unique_ptr<ObjectFile>(new ObjectFile(std::move(file), std::move(*memory)));
}

Result<void> ObjectFile::take_pages() {
  // These pages are taken while programs run, not at mount: one file less is better than a process
  // that the kernel kills for memory.
  if (const std::uint64_t missing = capacity_bytes() - held_bytes(); missing > 0) {
    if (memory::available_memory_bytes() < missing) {
      return fail_with_advice(
          ErrorCode::kNoMemory,
          "the machine (or the control group) has no " + format_size(missing) + " left",
          "lower " + std::string(kSizeKey));
    }
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(capacity_bytes())) != 0) {
    return fail_errno("sizing an object's file", errno);
  }
  return memory_.populate(kSizeKey);
}

// The bytes of the pages that the file has: a cut gives back those after the end.
std::uint64_t ObjectFile::held_bytes() const {
  constexpr std::uint64_t kBlockBytes = 512;  // of st_blocks, whatever the page (stat(2))
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) return 0;
  return std::min(capacity_bytes(), static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes);
}

Result<void> ObjectFile::begin_fill(rdma::Fabric& fabric, memory::MemoryLock lock) {
  if (auto done = take_pages(); !done) return done;
  if (auto done = memory_.lock(lock, capacity_bytes(), kSizeKey); !done) return done;
  auto region = fabric.register_memory(
      {.fd = file_.get(), .offset_bytes = 0, .bytes = memory_.bytes()}, rdma::Access::kRemoteWrite);
  if (!region) return std::unexpected(region.error());
  region_ = std::move(*region);
  return {};
}

Result<void> ObjectFile::end_fill(std::uint64_t size_bytes) {
  region_.reset();
  if (::ftruncate(file_.get(), static_cast<off_t>(size_bytes)) != 0) {
    return fail_errno("sizing an object's file", errno);
  }
  return {};
}

bool ObjectFile::is_held_elsewhere() const {
  if (::fcntl(file_.get(), F_SETLEASE, F_WRLCK) != 0) return true;
  ::fcntl(file_.get(), F_SETLEASE, F_UNLCK);
  return false;
}

}  // namespace s3rdmafs::cache
