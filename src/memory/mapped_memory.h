// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::memory {

/// What a memory region is cut into wherever the kernel allows.
inline constexpr std::size_t kHugePageBytes = 2 * kMiB;

/// Whether pages must stay in memory.
enum class MemoryLock {
  kRequire,  ///< fail where the locked-memory limit does not allow it
  kTry,      ///< lock if possible
  kOff,
};

/// A file mapped shared, readable and writable, at an address that is a multiple of a huge page,
/// without which the kernel would map it in small ones. Not copyable; unmaps when it goes.
class MappedMemory {
 public:
  /// @param size_bytes  a multiple of a small page
  /// Errors: kSystem.
  [[nodiscard]] static Result<MappedMemory> map(int fd, std::size_t size_bytes);
  ~MappedMemory();
  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

  /// Takes every page now: memory that runs out later would kill the mount, not fail it.
  /// @param size_key  what the error tells the user to lower
  /// Errors: kNoMemory.
  [[nodiscard]] Result<void> populate(std::string_view size_key) const;
  /// @param budget_bytes  what the error says that the limit has to allow
  /// Errors: kNoMemory, with the limit to raise.
  [[nodiscard]] Result<void> lock(MemoryLock lock, std::uint64_t budget_bytes,
                                  std::string_view size_key) const;

 private:
  explicit MappedMemory(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

}  // namespace s3rdmafs::memory
