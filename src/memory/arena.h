// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/mapped_memory.h"
#include "memory/memory_file.h"
#include "rdma/fabric.h"
#include "s3rdmafs/base/transfer_sizes.h"

namespace s3rdmafs::memory {

/// The registered memory of a mount: one fixed run of huge pages, populated and registered at
/// start, cut into slabs that are a memory region each. Nothing is registered later, so no read and
/// no write pays for it. The read cache's arena is the target of the fabric and the source of FUSE
/// replies; a second arena, with the other right, holds the data that is being written (upload/).
///
/// The arena does not know the contents of a slab: BlockPool and BufferPool do. Thread-safe after
/// creation.
class Arena {
 public:
  /// Of the read cache (s3rdmafs/base/transfer_sizes.h).
  static constexpr std::size_t kSlabBytes = s3rdmafs::kSlabBytes;

  using Lock = MemoryLock;

  /// The purpose of the memory.
  struct Use {
    rdma::Access access = rdma::Access::kRemoteWrite;
    std::size_t slab_bytes = kSlabBytes;       ///< a multiple of a small page
    std::string_view size_key = "cache.size";  ///< what errors tell the user to lower
    /// The whole budget, if others take a part of it later; 0: the arena takes all of it.
    std::uint64_t budget_bytes = 0;
  };

  /// @param size_bytes  a multiple of use.slab_bytes, at least one slab
  /// Errors: kNoMemory (not enough memory, or a locked-memory limit that is too low: the text names
  /// the setting to change), kSystem, and the fabric's.
  [[nodiscard]] static Result<std::unique_ptr<Arena>> create(std::uint64_t size_bytes, Lock lock,
                                                             rdma::Fabric& fabric,
                                                             const Use& use = for_reads());
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  [[nodiscard]] std::size_t slab_bytes() const noexcept { return slab_bytes_; }
  [[nodiscard]] std::size_t slab_count() const noexcept { return regions_.size(); }
  [[nodiscard]] rdma::MemoryRegion& region(std::size_t slab) const { return *regions_.at(slab); }
  [[nodiscard]] bool has_huge_pages() const noexcept { return file_.huge_pages; }
  /// Why there are no huge pages; empty where there are.
  [[nodiscard]] const std::string& note() const noexcept { return file_.note; }

 private:
  static Use for_reads() { return {}; }  // gcc 12 takes no `= {}` for a nested struct here
  Arena(MemoryFile file, MappedMemory memory, std::size_t slab_bytes)
      : file_(std::move(file)), memory_(std::move(memory)), slab_bytes_(slab_bytes) {}

  // In order of dependency: regions go before the memory they cover.
  MemoryFile file_;
  MappedMemory memory_;
  const std::size_t slab_bytes_;
  std::vector<std::unique_ptr<rdma::MemoryRegion>> regions_;
};

}  // namespace s3rdmafs::memory
