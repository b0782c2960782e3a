// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rdma/fabric.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::rdma::verbs {

/// The memory of a fabric's regions, for the threads that register it again. Thread-safe.
///
/// @tparam Memory  RcMemory or DcMemory: the bytes and their registrations
template <class Memory>
class RegionList {
 public:
  void add(std::shared_ptr<Memory> memory) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    memory_.push_back(std::move(memory));
  }
  void remove(const std::shared_ptr<Memory>& memory) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    std::erase(memory_, memory);
  }
  /// A copy, so that the caller may register under no lock of this list.
  [[nodiscard]] std::vector<std::shared_ptr<Memory>> all() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return memory_;
  }

 private:
  mutable Mutex mutex_;  // lock order 6c (mlx5), 7a (rc)
  std::vector<std::shared_ptr<Memory>> memory_ GUARDED_BY(mutex_);
};

/// The region that a fabric over verbs gives out: all but its tokens. Borrows the fabric.
///
/// @tparam FabricType  has fence(Memory&), and remove() for the end of the region
template <class FabricType, class Memory>
class ListedRegion : public MemoryRegion {
 public:
  ListedRegion(FabricType& fabric, std::shared_ptr<Memory> memory)
      : fabric_(fabric), memory_(std::move(memory)) {}
  ~ListedRegion() override { fabric_.remove(memory_); }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return memory_->bytes; }
  [[nodiscard]] Result<void> fence() override { return fabric_.fence(*memory_); }

 protected:
  [[nodiscard]] FabricType& fabric() const noexcept { return fabric_; }
  [[nodiscard]] Memory& memory() const noexcept { return *memory_; }

 private:
  FabricType& fabric_;
  const std::shared_ptr<Memory> memory_;
};

}  // namespace s3rdmafs::rdma::verbs
