// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "memory/mapped_memory.h"
#include "rdma/fabric.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::cache {

/// A file without a name in huge pages that holds one object whole, so that the kernel can read it
/// for a program (FUSE passthrough). It goes round: begin_fill() -> transfers -> end_fill() ->
/// handed out -> is_held_elsewhere() is false -> begin_fill().
///
/// Registered only while it is being filled: once a program may see the bytes, no server can reach
/// them any more, and no fabric that comes back has to register a file that ends within its region.
/// Thread-bound, but for fd() and is_held_elsewhere(), which any thread may call.
class ObjectFile {
 public:
  /// Of `capacity_bytes`, a multiple of a huge page; its pages are taken later.
  /// @param file  empty, on a tmpfs
  /// Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<ObjectFile>> create(UniqueFd file,
                                                                  std::uint64_t capacity_bytes);
  ObjectFile(const ObjectFile&) = delete;
  ObjectFile& operator=(const ObjectFile&) = delete;

  /// Takes the pages that it lacks, and clears them, which blocks for 50 ms a GB and more. For
  /// files that are made ahead of need; begin_fill() does it where nobody did.
  /// Errors: kNoMemory, kSystem.
  [[nodiscard]] Result<void> take_pages();

  /// Makes all of it writable by a server. Blocks for a registration. Nobody else may hold it.
  /// Errors: kNoMemory, kSystem, and the fabric's.
  [[nodiscard]] Result<void> begin_fill(rdma::Fabric& fabric, memory::MemoryLock lock);
  /// Between begin_fill() and end_fill().
  [[nodiscard]] rdma::MemoryRegion& region() const { return *region_; }
  /// No transfer is under way and none can come late: ends the server's right to the memory, which
  /// blocks like fence(), and makes the file exactly as long as the object: beyond the end readers
  /// would see zeros, before it the end. Errors: kSystem.
  [[nodiscard]] Result<void> end_fill(std::uint64_t size_bytes);

  [[nodiscard]] int fd() const noexcept { return file_.get(); }
  [[nodiscard]] std::uint64_t capacity_bytes() const noexcept { return memory_.bytes().size(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return memory_.bytes(); }

  /// Whether a program still has the file open or mapped through the kernel. RELEASE does not tell:
  /// a mapping outlives it. Any doubt counts as yes.
  [[nodiscard]] bool is_held_elsewhere() const;

 private:
  ObjectFile(UniqueFd file, memory::MappedMemory memory)
      : file_(std::move(file)), memory_(std::move(memory)) {}

  [[nodiscard]] std::uint64_t held_bytes() const;

  // In order of dependency: the region goes before the memory it covers.
  UniqueFd file_;
  memory::MappedMemory memory_;
  std::unique_ptr<rdma::MemoryRegion> region_;
};

}  // namespace s3rdmafs::cache
