// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace s3rdmafs {

/// The function of s3rdmafs/base/checksum.h without ISA-L; crc64nvme() calls it where ISA-L has
/// none.
[[nodiscard]] std::uint64_t crc64nvme_of_ours(std::uint64_t crc,
                                              std::span<const std::byte> bytes) noexcept;

}  // namespace s3rdmafs
