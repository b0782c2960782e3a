// SPDX-License-Identifier: Apache-2.0
#include "cache/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "cache/available_memory.h"

namespace s3rdmafs::cache {
namespace {

constexpr std::size_t kHugePageBytes = 2 * kMiB;

// Maps the file at an address that is a multiple of a huge page, without which the kernel would map
// it in small ones.
Result<std::span<std::byte>> map_aligned(int fd, std::size_t size_bytes) {
  const std::size_t reserved_bytes = size_bytes + kHugePageBytes;
  void* const reserved =
      ::mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) return fail_errno("reserving addresses for the cache", errno);
  const auto address = reinterpret_cast<std::uintptr_t>(reserved);
  const std::size_t before_bytes = round_up(address, kHugePageBytes) - address;
  std::byte* const aligned = static_cast<std::byte*>(reserved) + before_bytes;
  void* memory = ::mmap(aligned, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  if (memory == MAP_FAILED) {
    const int saved_errno = errno;
    ::munmap(reserved, reserved_bytes);
    return fail_errno("mapping the cache", saved_errno);
  }
  if (before_bytes > 0) ::munmap(reserved, before_bytes);
  ::munmap(aligned + size_bytes, kHugePageBytes - before_bytes);
  return std::span(static_cast<std::byte*>(memory), size_bytes);
}

// Takes every page now: a cache that runs out of memory later would kill the mount, not fail it.
Result<void> populate(std::span<std::byte> memory, std::string_view size_key) {
  if (::madvise(memory.data(), memory.size(), MADV_POPULATE_WRITE) == 0) return {};
  if (errno != EINVAL) {
    return fail(ErrorCode::kNoMemory,
                "the machine (or the control group) has no " + format_size(memory.size()) +
                    " left: " + std::strerror(errno) + "; lower " + std::string(size_key));
  }
  // Before Linux 5.14: one write a page does the same.
  constexpr std::size_t kSmallPageBytes = 4 * kKiB;
  for (std::size_t at = 0; at < memory.size(); at += kSmallPageBytes) {
    *static_cast<volatile std::byte*>(&memory[at]) = std::byte{0};
  }
  return {};
}

Result<void> lock_in_memory(std::span<std::byte> memory, Arena::Lock lock,
                            std::string_view size_key) {
  if (lock == Arena::Lock::kOff || ::mlock(memory.data(), memory.size()) == 0) return {};
  const int saved_errno = errno;
  if (lock == Arena::Lock::kTry) return {};
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  return fail(ErrorCode::kNoMemory,
              "the locked-memory limit is " + format_size(limit.rlim_cur) + ", and " +
                  std::string(size_key) + " needs " + format_size(memory.size()) + " (" +
                  std::strerror(saved_errno) +
                  "): raise it (ulimit -l, LimitMEMLOCK= in the unit), lower " +
                  std::string(size_key) + ", or set cache.lock = \"try\"");
}

}  // namespace

Result<std::unique_ptr<Arena>> Arena::create(std::uint64_t size_bytes, Lock lock,
                                             rdma::Fabric& fabric, const Use& use) {
  if (const std::uint64_t available = available_memory_bytes(); size_bytes > available) {
    const std::string size_key(use.size_key);
    return fail(ErrorCode::kNoMemory, size_key + " is " + format_size(size_bytes) +
                                          ", but the machine (or the control group) has " +
                                          std::to_string(available / kMiB) +
                                          "MiB of memory left: lower " + size_key);
  }
  auto file = make_memory_file(size_bytes);
  if (!file) return std::unexpected(file.error());
  auto memory = map_aligned(file->fd.get(), size_bytes);
  if (!memory) return std::unexpected(memory.error());
  std::unique_ptr<Arena> arena(new Arena(std::move(*file), *memory, use.slab_bytes));

  if (auto done = populate(*memory, use.size_key); !done) return std::unexpected(done.error());
  if (auto done = lock_in_memory(*memory, lock, use.size_key); !done)
    return std::unexpected(done.error());
  for (std::uint64_t offset = 0; offset < size_bytes; offset += use.slab_bytes) {
    const rdma::Backing backing{.fd = arena->file_.fd.get(),
                                .offset_bytes = offset,
                                .bytes = memory->subspan(offset, use.slab_bytes)};
    auto region = fabric.register_memory(backing, use.access);
    if (!region) return std::unexpected(region.error());
    arena->regions_.push_back(std::move(*region));
  }
  return arena;
}

Arena::~Arena() {
  regions_.clear();
  ::munmap(memory_.data(), memory_.size());
}

}  // namespace s3rdmafs::cache
