// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "disk/chunk.h"

namespace s3rdmafs::disk {

/// One entry of a segment's index file: which bytes of which chunk lie where in the segment, and
/// the checksum of each of their units. Little-endian, with a checksum of its own.
struct IndexRecord {
  ChunkId chunk;
  ChunkRange range;                      ///< begins at a unit
  std::uint64_t position_bytes = 0;      ///< in the segment; a multiple of kDiskBlockBytes
  std::vector<std::uint64_t> checksums;  ///< CRC-64/NVME, one a unit
};

[[nodiscard]] std::vector<std::byte> encode(const IndexRecord& record);
[[nodiscard]] std::size_t encoded_bytes(std::uint64_t range_length_bytes) noexcept;

/// Takes the first record off `bytes`. Nothing where there is none that is whole and unharmed:
/// also the end of a file that was being written when the machine stopped.
[[nodiscard]] std::optional<IndexRecord> decode_next(std::span<const std::byte>& bytes);

/// The checksum of each unit of `bytes`.
[[nodiscard]] std::vector<std::uint64_t> unit_checksums(std::span<const std::byte> bytes);

}  // namespace s3rdmafs::disk
