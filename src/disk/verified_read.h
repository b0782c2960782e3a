// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "disk/chunk_index.h"
#include "disk/segment_file.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::disk {

/// A part of a read that lies in one extent. Holds the segment's files open, and the segment in
/// place.
struct Piece {
  std::shared_ptr<const SegmentFile> segment;
  ChunkId chunk;
  Extent extent;
  std::vector<std::uint64_t> checksums;  ///< of all units of the extent
  ChunkRange range;                      ///< the wanted part of extent.range
};

/// Memory for units that cannot be read straight to where they are wanted.
struct alignas(kDiskBlockBytes) Scratch {
  std::array<std::byte, kUnitBytes> bytes;
};

/// Reads the piece and compares every unit that it touches with its checksum. Blocks on the disk.
///
/// @param into  as long as the piece's range; its content is undefined after an error
/// Errors: kCorrupt (not the bytes that were written, or the file ends early), kSystem.
[[nodiscard]] Result<void> read_verified(const Piece& piece, std::span<std::byte> into,
                                         Scratch& scratch);

}  // namespace s3rdmafs::disk
