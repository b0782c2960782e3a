// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "s3/wire/http_message.h"

namespace s3rdmafs::s3 {

/// A CRC-64/NVME as S3's headers and documents write it: base64 of its eight bytes, big-endian.
[[nodiscard]] std::string checksum_text(std::uint64_t crc64nvme);
/// The same for CRC-32C, of four bytes.
[[nodiscard]] std::string checksum_text(std::uint32_t crc32c);

/// Whether the object's checksum in an answer's headers is that of `bytes`. Nothing if the answer
/// has none, or one of parts' checksums, or if `bytes` at offset_bytes are not the whole object.
[[nodiscard]] std::optional<bool> matches_checksum(const HttpResponse& response,
                                                   std::uint64_t offset_bytes,
                                                   std::span<const std::byte> bytes);

}  // namespace s3rdmafs::s3
