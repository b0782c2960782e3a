// SPDX-License-Identifier: Apache-2.0
#include "target/digest/digests.h"

#include <algorithm>
#include <array>
#include <new>

#include <isa-l/crc.h>
#include <openssl/evp.h>

#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::target {
namespace {

struct ChecksumName {
  ChecksumKind kind;
  std::string_view header;
  std::string_view algorithm;
};

constexpr std::array<ChecksumName, 5> kNames{{
    {ChecksumKind::kCrc32, "x-amz-checksum-crc32", "CRC32"},
    {ChecksumKind::kCrc32c, "x-amz-checksum-crc32c", "CRC32C"},
    {ChecksumKind::kCrc64Nvme, "x-amz-checksum-crc64nvme", "CRC64NVME"},
    {ChecksumKind::kSha1, "x-amz-checksum-sha1", "SHA1"},
    {ChecksumKind::kSha256, "x-amz-checksum-sha256", "SHA256"},
}};

const ChecksumName& name_of(ChecksumKind kind) {
  return *std::ranges::find(kNames, kind, &ChecksumName::kind);
}

const EVP_MD* algorithm_of(Hash::Kind kind) {
  switch (kind) {
    case Hash::Kind::kMd5:
      return ::EVP_md5();
    case Hash::Kind::kSha1:
      return ::EVP_sha1();
    case Hash::Kind::kSha256:
      break;
  }
  return ::EVP_sha256();
}

std::string big_endian(std::uint64_t value, int bytes) {
  std::string raw;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    raw.push_back(static_cast<char>(value >> shift));
  }
  return raw;
}

}  // namespace

void Hash::Free::operator()(evp_md_ctx_st* context) const { ::EVP_MD_CTX_free(context); }

Hash::Hash(Kind kind) : context_(::EVP_MD_CTX_new()) {
  // Fails only without memory, or where a FIPS provider forbids MD5; ETags need it.
  if (!context_ || ::EVP_DigestInit_ex(context_.get(), algorithm_of(kind), nullptr) != 1) {
    throw std::bad_alloc();
  }
}

void Hash::update(std::span<const std::byte> bytes) {
  ::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Hash::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned length = 0;
  ::EVP_DigestFinal_ex(context_.get(), raw.data(), &length);
  return {raw.begin(), raw.begin() + length};
}

std::string_view checksum_header(ChecksumKind kind) { return name_of(kind).header; }

std::optional<ChecksumKind> checksum_of_header(std::string_view header) {
  const auto found = std::ranges::find(kNames, header, &ChecksumName::header);
  return found == kNames.end() ? std::nullopt : std::optional(found->kind);
}

std::optional<ChecksumKind> checksum_of_algorithm(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
  const auto found = std::ranges::find(kNames, upper, &ChecksumName::algorithm);
  return found == kNames.end() ? std::nullopt : std::optional(found->kind);
}

std::string checksum_algorithm(ChecksumKind kind) { return std::string(name_of(kind).algorithm); }

Checksum::Checksum(ChecksumKind kind) : kind_(kind) {
  if (kind == ChecksumKind::kSha1) hash_.emplace(Hash::Kind::kSha1);
  if (kind == ChecksumKind::kSha256) hash_.emplace(Hash::Kind::kSha256);
}

void Checksum::update(std::span<const std::byte> bytes) {
  switch (kind_) {
    case ChecksumKind::kCrc32:
      crc_ = ::crc32_gzip_refl(static_cast<std::uint32_t>(crc_),
                               reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
      break;
    case ChecksumKind::kCrc32c:
      crc_ = crc32c(static_cast<std::uint32_t>(crc_), bytes);
      break;
    case ChecksumKind::kCrc64Nvme:
      crc_ = crc64nvme(crc_, bytes);
      break;
    case ChecksumKind::kSha1:
    case ChecksumKind::kSha256:
      hash_->update(bytes);
      break;
  }
}

std::string Checksum::finish() {
  if (hash_) return hash_->finish();
  return big_endian(crc_, kind_ == ChecksumKind::kCrc64Nvme ? 8 : 4);
}

std::string to_hex(std::string_view raw) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : raw) {
    hex.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    hex.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return hex;
}

std::optional<std::string> from_hex(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (text.size() % 2 != 0) return std::nullopt;
  std::string raw;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    raw.push_back(static_cast<char>(high * 16 + low));
  }
  return raw;
}

std::string to_base64(std::string_view raw) {
  std::string text(4 * ((raw.size() + 2) / 3) + 1, '\0');  // EVP adds a NUL
  const int length = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                       reinterpret_cast<const unsigned char*>(raw.data()),
                                       static_cast<int>(raw.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string raw(text.size() / 4 * 3, '\0');
  const int length = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(raw.data()),
                                       reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  raw.resize(static_cast<std::size_t>(length) - padding);
  return raw;
}

}  // namespace s3rdmafs::target
