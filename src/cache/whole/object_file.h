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

/// A file in huge pages, without a name, that holds one whole object, so that the kernel can read
/// it for a program (FUSE passthrough). Its cycle: begin_fill() -> transfers -> end_fill() -> given
/// to opens -> is_held_elsewhere() is false -> begin_fill().
///
/// It is registered only while it is being filled: no server can reach bytes that a program may
/// see, and a fabric that comes back does not have to register a file that ends within its region.
/// Thread-bound, except fd() and is_held_elsewhere(), which any thread may call.
class ObjectFile {
 public:
  /// A file of `capacity_bytes`, a multiple of a huge page; its pages are taken later.
  /// @param file  empty, on a tmpfs
  /// Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<ObjectFile>> create(UniqueFd file,
                                                                  std::uint64_t capacity_bytes);
  ObjectFile(const ObjectFile&) = delete;
  ObjectFile& operator=(const ObjectFile&) = delete;

  /// Takes and clears the pages that the file lacks, which blocks for 50 ms a GB and more.
  /// begin_fill() does it too, if this was not called before.
  /// Errors: kNoMemory, kSystem.
  [[nodiscard]] Result<void> take_pages();

  /// Makes all of it writable by a server. Blocks for a registration. No program may hold the file.
  /// Errors: kNoMemory, kSystem, and the fabric's.
  [[nodiscard]] Result<void> begin_fill(rdma::Fabric& fabric, memory::MemoryLock lock);
  /// Between begin_fill() and end_fill().
  [[nodiscard]] rdma::MemoryRegion& region() const { return *region_; }
  /// Ends the server's right to the memory, which blocks as fence() does, and makes the file
  /// exactly as long as the object: readers of a longer file would see zeros at its end, readers of
  /// a shorter one would miss bytes. No transfer is under way, and none can come late. Errors:
  /// kSystem.
  [[nodiscard]] Result<void> end_fill(std::uint64_t size_bytes);

  [[nodiscard]] int fd() const noexcept { return file_.get(); }
  [[nodiscard]] std::uint64_t capacity_bytes() const noexcept { return memory_.bytes().size(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return memory_.bytes(); }

  /// Whether a program still has the file open or mapped through the kernel. RELEASE does not tell,
  /// since a mapping outlives it. True where the kernel does not say.
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
