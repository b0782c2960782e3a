// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "s3rdmafs/metrics/registry.h"
#include "s3rdmafs/metrics/size_class.h"

namespace s3rdmafs::fuse {

/// A request of the kernel, as a label of metrics. The rare ones that ask no server are one.
enum class Opcode {
  kLookup,
  kGetattr,
  kSetattr,
  kReadlink,
  kMake,  ///< MKNOD, MKDIR, SYMLINK
  kRemove,
  kRename,
  kOpen,
  kCreate,
  kRead,
  kWrite,
  kCopyFileRange,
  kFlush,
  kFsync,
  kRelease,
  kReaddir,
  kXattr,
  kOther,
};

/// How long the requests of the kernel took, from their arrival to the reply. Thread-safe.
class OperationTimes {
 public:
  explicit OperationTimes(metrics::Registry& registry);

  /// @param bytes  of a read or a write; counts for no other
  [[nodiscard]] metrics::Histogram& of(Opcode operation, std::uint64_t bytes) noexcept {
    const auto at = static_cast<std::size_t>(operation);
    const auto size = static_cast<std::size_t>(metrics::size_class_of(bytes));
    return *times_[at][size];
  }

 private:
  static constexpr std::size_t kOperations = static_cast<std::size_t>(Opcode::kOther) + 1;
  static constexpr std::size_t kSizes = decltype(metrics::kSizeClassNames)::kCount;

  std::array<std::array<metrics::Histogram*, kSizes>, kOperations> times_{};
};

}  // namespace s3rdmafs::fuse
