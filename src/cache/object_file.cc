// SPDX-License-Identifier: Apache-2.0
// The lease probe. A write lease is granted only to the sole holder of a file (fcntl(2),
// F_SETLEASE), and a mapping holds it as an open descriptor does. Our own descriptor and mapping,
// and a server's mapping of the descriptor we handed it, are one open file: they do not count.
// What a program has through passthrough is another one. Needs the file to be ours (its owner's
// user, or CAP_LEASE), and does not work on a memfd, which always says no.
#include "cache/object_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "cache/available_memory.h"

namespace s3rdmafs::cache {
namespace {

constexpr std::string_view kSizeKey = "cache.resident_size";

}  // namespace

Result<std::unique_ptr<ObjectFile>> ObjectFile::create(UniqueFd file,
                                                       std::uint64_t capacity_bytes) {
  auto memory = MappedMemory::map(file.get(), capacity_bytes);
  if (!memory) return std::unexpected(memory.error());
  return std::unique_ptr<ObjectFile>(new ObjectFile(std::move(file), std::move(*memory)));
}

Result<void> ObjectFile::begin_fill(rdma::Fabric& fabric, MemoryLock lock) {
  // These pages are taken while programs run, not at mount: better one file less than the kernel
  // looking for somebody to kill.
  if (available_memory_bytes() < capacity_bytes()) {
    return fail(ErrorCode::kNoMemory, "the machine (or the control group) has no " +
                                          format_size(capacity_bytes()) + " left; lower " +
                                          std::string(kSizeKey));
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(capacity_bytes())) != 0) {
    return fail_errno("sizing an object's file", errno);
  }
  if (auto done = memory_.populate(kSizeKey); !done) return done;
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
