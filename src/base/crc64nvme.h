// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace s3rdmafs {

/// How it is computed, from the slowest to the fastest.
enum class Crc64Way { kTables, kFolding, kWideFolding };
/// The fastest that this processor can.
[[nodiscard]] Crc64Way best_crc64_way() noexcept;

/// The function of s3rdmafs/base/checksum.h without ISA-L; crc64nvme() calls it where ISA-L has
/// none.
/// @param way  at most best_crc64_way()
[[nodiscard]] std::uint64_t crc64nvme_of_ours(std::uint64_t crc, std::span<const std::byte> bytes,
                                              Crc64Way way = best_crc64_way()) noexcept;

}  // namespace s3rdmafs
