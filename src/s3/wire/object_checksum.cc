// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/object_checksum.h"

#include "s3/wire/base64.h"
#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::s3 {

namespace {

template <class Integer>
std::string base64_big_endian(Integer value) {
  std::string bytes(sizeof(Integer), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(value >> (8 * (bytes.size() - 1 - i)));
  }
  return to_base64(bytes);
}

}  // namespace

std::string checksum_text(std::uint64_t crc64nvme) { return base64_big_endian(crc64nvme); }
std::string checksum_text(std::uint32_t crc32c) { return base64_big_endian(crc32c); }

std::optional<bool> matches_checksum(const HttpResponse& response, std::uint64_t offset_bytes,
                                     std::span<const std::byte> bytes) {
  const ResponseHeaders& headers = response.headers;
  const std::optional<ContentRange> range = parse_content_range(headers.content_range);
  const bool is_whole = offset_bytes == 0 && range && range->total == bytes.size();
  if (!is_whole || headers.checksum_type == "COMPOSITE") return std::nullopt;
  if (!headers.checksum_crc64nvme.empty()) {
    return headers.checksum_crc64nvme == checksum_text(crc64nvme(0, bytes));
  }
  // "-N" at its end means a checksum of N parts' checksums, even if the type does not say so.
  const std::string& sum = headers.checksum_crc32c;
  if (sum.empty() || sum.find('-') != std::string::npos) return std::nullopt;
  return sum == checksum_text(crc32c(0, bytes));
}

}  // namespace s3rdmafs::s3
