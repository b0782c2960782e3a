// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "manifest/block.h"
#include "manifest/entry.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::manifest {

/// The first kBlockBytes of a manifest: its contents and the number of blocks that follow.
struct Header {
  Origin origin;
  std::uint64_t objects = 0;
  std::uint64_t blocks = 0;
  std::uint64_t object_bytes = 0;  ///< the sizes of all objects together
  std::chrono::system_clock::time_point made_at;
  std::uint64_t checksum = 0;  ///< CRC64NVME of the checksums of all blocks, in order
};

/// Writes it into a block's bytes. Errors: kInvalidArgument (texts too long).
[[nodiscard]] Result<void> encode_header(const Header& header, BlockBytes& into);

/// Errors: kCorrupt (damaged), kUnsupported (not a manifest, or of another version of the format).
[[nodiscard]] Result<Header> decode_header(const BlockBytes& bytes);

}  // namespace s3rdmafs::manifest
