// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace s3rdmafs {

/// CRC-32C (Castagnoli, reflected 0x82F63B78), the checksum of S3's x-amz-checksum-crc32c.
/// `crc` is the value so far, 0 at the start. Check value of "123456789": 0xE3069283.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

/// CRC-64/NVME (reflected 0x9A6C9329AC4BC9B5), the checksum of S3's x-amz-checksum-crc64nvme.
/// `crc` is the value so far, 0 at the start. Check value of "123456789": 0xAE8B14860A799888.
[[nodiscard]] std::uint64_t crc64nvme(std::uint64_t crc, std::span<const std::byte> bytes) noexcept;

/// The CRC-64/NVME of two adjacent runs of bytes, from the CRC of each.
/// @param second_bytes  length of the second run
[[nodiscard]] std::uint64_t crc64nvme_joined(std::uint64_t first, std::uint64_t second,
                                             std::uint64_t second_bytes) noexcept;

}  // namespace s3rdmafs
