// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "target/s3_error.h"

struct evp_md_ctx_st;

namespace s3rdmafs::target {

/// One running hash of OpenSSL's.
class Hash {
 public:
  enum class Kind { kMd5, kSha1, kSha256 };
  explicit Hash(Kind kind);
  void update(std::span<const std::byte> bytes);
  /// The raw digest. Call once, last.
  [[nodiscard]] std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

enum class ChecksumKind { kCrc32, kCrc32c, kCrc64Nvme, kSha1, kSha256 };

/// "x-amz-checksum-crc32c" and back.
[[nodiscard]] std::string_view checksum_header(ChecksumKind kind);
[[nodiscard]] std::optional<ChecksumKind> checksum_of_header(std::string_view header);
/// From "CRC32C" as x-amz-checksum-algorithm has it, in any case; and back.
[[nodiscard]] std::optional<ChecksumKind> checksum_of_algorithm(std::string_view name);
[[nodiscard]] std::string checksum_algorithm(ChecksumKind kind);

/// One running checksum of S3's.
class Checksum {
 public:
  explicit Checksum(ChecksumKind kind);
  void update(std::span<const std::byte> bytes);
  /// The raw value, most significant byte first. Call once, last.
  [[nodiscard]] std::string finish();
  [[nodiscard]] ChecksumKind kind() const { return kind_; }

 private:
  ChecksumKind kind_;
  std::uint64_t crc_ = 0;
  std::optional<Hash> hash_;
};

[[nodiscard]] std::string to_hex(std::string_view raw);
[[nodiscard]] std::string to_base64(std::string_view raw);
/// Nothing unless it is well-formed base64.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);
[[nodiscard]] std::optional<std::string> from_hex(std::string_view text);

}  // namespace s3rdmafs::target
