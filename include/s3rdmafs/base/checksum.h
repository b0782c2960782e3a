// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace s3rdmafs {

/// CRC-32C (Castagnoli, reflected 0x82F63B78), as S3's x-amz-checksum-crc32c has it.
/// `crc` is the value so far, 0 to begin with. Check value of "123456789": 0xE3069283.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

/// CRC-64/NVME (reflected 0x9A6C9329AC4BC9B5), as S3's x-amz-checksum-crc64nvme has it.
/// `crc` is the value so far, 0 to begin with. Check value of "123456789": 0xAE8B14860A799888.
[[nodiscard]] std::uint64_t crc64nvme(std::uint64_t crc, std::span<const std::byte> bytes) noexcept;

/// The CRC-64/NVME of two runs of bytes one behind the other, of which each has its own.
/// @param second_bytes  how long the second one is
[[nodiscard]] std::uint64_t crc64nvme_joined(std::uint64_t first, std::uint64_t second,
                                             std::uint64_t second_bytes) noexcept;

}  // namespace s3rdmafs
