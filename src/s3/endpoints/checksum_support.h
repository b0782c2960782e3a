// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "s3/wire/http_message.h"
#include "s3/wire/xml_reader.h"

namespace s3rdmafs::s3 {

/// A CRC-64/NVME as S3's headers and documents spell it: base64 of its eight bytes, big-endian.
[[nodiscard]] std::string checksum_text(std::uint64_t crc64nvme);
/// The same for CRC-32C, of four bytes.
[[nodiscard]] std::string checksum_text(std::uint32_t crc32c);

/// Whether one endpoint takes CRC64NVME, learned from its refusals and remembered: the checksum is
/// younger (2024) than many servers. Thread-safe.
class ChecksumSupport {
 public:
  [[nodiscard]] bool takes_crc64nvme() const { return takes_it_.load(std::memory_order_relaxed); }

  /// Whether this answer refuses the checksum as such, so that the request is worth sending again
  /// without; if so it is remembered.
  [[nodiscard]] bool is_refusal(int http_status, const S3Error& error);

 private:
  std::atomic<bool> takes_it_{true};
};

/// Whether the object's own checksum in an answer's headers is that of `bytes`; nothing where there
/// is none that says so: of another range than [offset, offset + size), of parts, or none at all.
[[nodiscard]] std::optional<bool> matches_checksum(const HttpResponse& response,
                                                   std::uint64_t offset_bytes,
                                                   std::span<const std::byte> bytes);

/// Whether the server says that the bytes it got are not those we have the checksum of.
[[nodiscard]] bool is_checksum_mismatch(const S3Error& error);

}  // namespace s3rdmafs::s3
