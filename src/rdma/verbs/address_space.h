// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::rdma::verbs {

/// Hands out the addresses by which servers know registered memory (the iova of
/// ibv_reg_mr_iova(3)). Thread-safe.
class AddressSpace {
 public:
  virtual ~AddressSpace() = default;

  /// The address of one registration of `bytes`. Each call is for one registration.
  [[nodiscard]] virtual std::uint64_t take(std::span<const std::byte> bytes) = 0;
};

/// Addresses that no registration before had, in ascending order. Each equals the memory's own
/// address modulo 2 MiB, as the kernel and the device's choice of a page size want it. The
/// addresses repeat after 2^63 bytes: at 100 GB/s of registrations that takes almost 3 years.
class FreshAddresses final : public AddressSpace {
 public:
  /// A huge page: ranges begin and end between two of them.
  static constexpr std::uint64_t kAlignment = std::uint64_t{2} << 20;
  /// Above every address of a program, so that the two kinds cannot be confused.
  static constexpr std::uint64_t kLowest = std::uint64_t{1} << 56;
  /// Servers may keep an address as a signed number.
  static constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;

  /// @param first  where the first range lies; a multiple of kAlignment in [kLowest, kEnd)
  explicit FreshAddresses(std::uint64_t first) : next_(first) {}

  [[nodiscard]] std::uint64_t take(std::span<const std::byte> bytes) override;

 private:
  Mutex mutex_;  // leaf
  std::uint64_t next_ GUARDED_BY(mutex_);
};

/// The addresses of this process. All fabrics share it: a device gives a key that one fabric has
/// given back to the next registration of any other. It begins at a random place, since a server
/// may still have a token of the mount that was here before.
[[nodiscard]] AddressSpace& process_addresses();

}  // namespace s3rdmafs::rdma::verbs
