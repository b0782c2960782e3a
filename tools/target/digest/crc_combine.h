// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "target/digest/digests.h"

namespace s3rdmafs::target {

/// The CRC of two adjacent pieces, from the CRC of each and the second one's length:
/// so a multipart upload has its whole object's checksum without reading it again. Raw values, most
/// significant byte first, as Checksum::finish() gives them. Nothing for SHA-1 and SHA-256, which
/// cannot be combined.
[[nodiscard]] std::optional<std::string> combine_crc(ChecksumKind kind, const std::string& first,
                                                     const std::string& second,
                                                     std::uint64_t second_length_bytes);

}  // namespace s3rdmafs::target
