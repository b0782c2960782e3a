// SPDX-License-Identifier: Apache-2.0
// The lease probe. A write lease is granted only to the sole holder of a file (fcntl(2),
// F_SETLEASE), and a mapping holds it as an open descriptor does. Our own descriptor and mapping,
// and a server's mapping of the descriptor we handed it, are one open file: they do not count.
// What a program has through passthrough is another one. Needs the file to be ours (its owner's
// user, or CAP_LEASE), and does not work on a memfd, which always says no.
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
  // These pages are taken while programs run, not at mount: better one file less than the kernel
  // looking for somebody to kill.
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

// What the file has of its pages: a cut gives back those behind the end.
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
