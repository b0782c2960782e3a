// SPDX-License-Identifier: Apache-2.0
#include "target/digest/etag.h"

#include <algorithm>
#include <span>

#include "s3rdmafs/base/log.h"
#include "target/digest/crc_combine.h"
#include "target/digest/digests.h"

namespace s3rdmafs::target {
namespace {

constexpr std::size_t kCrcDigits = 16;
constexpr std::size_t kMd5Digits = 32;

std::optional<std::string> joined_crc64(const std::vector<EtagPart>& parts) {
  std::optional<std::string> whole;
  for (const EtagPart& part : parts) {
    auto crc = crc64_of_etag(part.etag);
    if (!crc) return std::nullopt;
    whole = whole ? combine_crc(ChecksumKind::kCrc64Nvme, *whole, *crc, part.size_bytes)
                  : std::move(crc);
  }
  return whole;
}

/// The MD5 of the parts' MD5s; of the texts of ETags that are none.
std::string md5_of_parts(const std::vector<EtagPart>& parts) {
  Hash md5(Hash::Kind::kMd5);
  for (const EtagPart& part : parts) {
    const std::string raw = from_hex(part.etag).value_or(part.etag);
    md5.update(std::as_bytes(std::span(raw)));
  }
  return to_hex(md5.finish());
}

}  // namespace

std::string crc64_etag(std::string_view raw_crc, std::size_t parts) {
  return fmt::format("{}-{}", to_hex(raw_crc), parts);
}

std::optional<std::string> crc64_of_etag(std::string_view etag) {
  if (etag.size() <= kCrcDigits + 1 || etag[kCrcDigits] != '-') return std::nullopt;
  return from_hex(etag.substr(0, kCrcDigits));
}

bool is_md5_etag(std::string_view etag) {
  return etag.size() == kMd5Digits && from_hex(etag).has_value();
}

std::string multipart_etag(EtagKind kind, const std::vector<EtagPart>& parts) {
  if (kind == EtagKind::kCrc64) {
    if (const auto whole = joined_crc64(parts)) return crc64_etag(*whole, parts.size());
  }
  return fmt::format("{}-{}", md5_of_parts(parts), parts.size());
}

}  // namespace s3rdmafs::target
