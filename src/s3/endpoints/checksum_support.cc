// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/checksum_support.h"

#include <algorithm>
#include <array>

#include <openssl/evp.h>

#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

template <class Integer>
std::string base64_big_endian(Integer value) {
  std::array<unsigned char, sizeof(Integer)> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes.at(i) = static_cast<unsigned char>(value >> (8 * (bytes.size() - 1 - i)));
  }
  std::array<unsigned char, 16> text{};  // 12 characters and the NUL at most
  const int length = EVP_EncodeBlock(text.data(), bytes.data(), static_cast<int>(bytes.size()));
  return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
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
  // "-N" at its end: of N parts' checksums, whatever the type header says or leaves out.
  const std::string& sum = headers.checksum_crc32c;
  if (sum.empty() || sum.find('-') != std::string::npos) return std::nullopt;
  return sum == checksum_text(crc32c(0, bytes));
}

bool is_checksum_mismatch(const S3Error& error) {
  return error.code == "BadDigest" || error.code == "XAmzContentChecksumMismatch" ||
         error.code == "ChecksumMismatch";
}

bool ChecksumSupport::is_refusal(int http_status, const S3Error& error) {
  if (!takes_crc64nvme() || is_checksum_mismatch(error)) return false;
  if (http_status != 400 && http_status != 501) return false;
  // No code is common to the servers; all name what they do not know in the text.
  const std::string text = lower(error.code + " " + error.message);
  if (text.find("crc64nvme") == std::string::npos && text.find("checksum") == std::string::npos) {
    return false;
  }
  takes_it_.store(false, std::memory_order_relaxed);
  spdlog::warn(
      "the server takes no CRC64NVME checksum ({}): uploads go on without, so it cannot check them",
      error.message.empty() ? error.code : error.message);
  return true;
}

}  // namespace s3rdmafs::s3
