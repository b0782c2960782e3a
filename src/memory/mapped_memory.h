// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::memory {

/// The page size that memory files get wherever the kernel allows it.
inline constexpr std::size_t kHugePageBytes = 2 * kMiB;

/// Whether pages must stay in memory.
enum class MemoryLock {
  kRequire,  ///< fail if the locked-memory limit does not allow it
  kTry,      ///< lock if possible
  kOff,
};

/// A file mapped shared, readable and writable. The address is a multiple of a huge page: otherwise
/// the kernel would map the file in small pages. Movable, not copyable; the destructor unmaps.
class MappedMemory {
 public:
  /// @param size_bytes  a multiple of a small page
  /// Errors: kSystem.
  [[nodiscard]] static Result<MappedMemory> map(int fd, std::size_t size_bytes);
  ~MappedMemory();
  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

  /// Takes every page now: if memory ran out later the kernel would kill the mount.
  /// @param size_key  the setting that the error tells the user to lower
  /// Errors: kNoMemory.
  [[nodiscard]] Result<void> populate(std::string_view size_key) const;
  /// Locks the pages in memory, as `lock` asks.
  /// @param budget_bytes  the size that the error says the limit must allow
  /// Errors: kNoMemory, with the limit to raise.
  [[nodiscard]] Result<void> lock(MemoryLock lock, std::uint64_t budget_bytes,
                                  std::string_view size_key) const;

 private:
  explicit MappedMemory(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

}  // namespace s3rdmafs::memory
