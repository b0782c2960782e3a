// SPDX-License-Identifier: Apache-2.0
#include "target/auth/terms.h"

#include <algorithm>
#include <array>
#include <span>

#include "s3rdmafs/base/log.h"
#include "target/digest/digests.h"

namespace s3rdmafs::target {
namespace {

constexpr std::string_view kEncryption = "x-amz-server-side-encryption";
constexpr std::string_view kKmsKey = "x-amz-server-side-encryption-aws-kms-key-id";
constexpr std::string_view kCustomerAlgorithm = "x-amz-server-side-encryption-customer-algorithm";
constexpr std::string_view kCustomerKey = "x-amz-server-side-encryption-customer-key";
constexpr std::string_view kCustomerKeyMd5 = "x-amz-server-side-encryption-customer-key-md5";
constexpr std::string_view kStorageClass = "x-amz-storage-class";

constexpr std::array<std::string_view, 10> kStorageClasses{
    "STANDARD", "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING",
    "GLACIER",  "DEEP_ARCHIVE",       "OUTPOSTS",    "GLACIER_IR", "EXPRESS_ONEZONE"};

constexpr std::size_t kKeyBytes = 32;  // AES-256

std::string value_in(const s3::NameValues& kept, std::string_view name) {
  const auto found = std::ranges::find(kept, name, &s3::NameValues::value_type::first);
  return found == kept.end() ? "" : found->second;
}

std::string md5_of(std::string_view bytes) {
  Hash md5(Hash::Kind::kMd5);
  md5.update(std::as_bytes(std::span(bytes)));
  return md5.finish();
}

/// The MD5 of the key that a request brings, in base64; empty: it brings none.
S3Result<std::string> customer_key_md5(const Request& request, std::string_view prefix) {
  const auto header = [&](std::string_view name) {
    return request.header(std::string(prefix) + std::string(name.substr(6)));  // without "x-amz-"
  };
  const auto key = header(kCustomerKey);
  const auto md5 = header(kCustomerKeyMd5);
  const auto algorithm = header(kCustomerAlgorithm);
  if (!key && !md5 && !algorithm) return std::string();
  if (!key || !md5 || !algorithm) {
    return refuse(kInvalidArgument,
                  "Requests specifying Server Side Encryption with Customer provided keys must "
                  "have algorithm, key and MD5.");
  }
  const auto bytes = from_base64(*key);
  if (*algorithm != "AES256" || !bytes || bytes->size() != kKeyBytes) {
    return refuse(kInvalidArgument, "The secret key was invalid for the specified algorithm.");
  }
  if (to_base64(md5_of(*bytes)) != *md5) {
    return refuse(kInvalidArgument, "The MD5 of the customer's key is not the one given.");
  }
  return *md5;
}

}  // namespace

S3Result<void> check_terms(const BucketTerms& terms, const Request& request) {
  if (terms.requester_pays && request.header("x-amz-request-payer") != "requester") {
    return refuse(kAccessDenied, "This server's buckets are read by requesters who pay.");
  }
  const auto owner = request.header("x-amz-expected-bucket-owner");
  if (owner && !terms.owner.empty() && *owner != terms.owner) {
    return refuse(kAccessDenied, "The bucket belongs to another account.");
  }
  return {};
}

S3Result<void> check_storage_headers(const BucketTerms& terms, const Request& request) {
  if (const auto storage_class = request.header(kStorageClass);
      storage_class &&
      std::ranges::find(kStorageClasses, *storage_class) == kStorageClasses.end()) {
    return refuse(kInvalidStorageClass);
  }
  for (const auto& [name, value] : request.headers) {
    if (!name.starts_with(kEncryption)) continue;
    const bool is_known = is_storage_header(name) || name == kCustomerKey;
    if (!terms.plays_encryption || !is_known) {
      return refuse(kNotImplemented, fmt::format("This server does not implement {}.", name));
    }
  }
  if (const auto mode = request.header(kEncryption);
      mode && *mode != "AES256" && *mode != "aws:kms") {
    return refuse(kInvalidArgument, "The encryption method specified is not supported.");
  }
  if (auto key = customer_key_md5(request, "x-amz-"); !key) {
    return std::unexpected(std::move(key.error()));
  }
  return {};
}

S3Result<void> check_customer_key(const Request& request, std::string_view prefix,
                                  const s3::NameValues& kept) {
  auto given = customer_key_md5(request, prefix);
  if (!given) return std::unexpected(std::move(given.error()));
  const std::string stored = value_in(kept, kCustomerKeyMd5);
  if (stored == *given) return {};
  if (stored.empty()) {
    return refuse(kInvalidRequest, "The encryption parameters are not applicable to this object.");
  }
  if (given->empty()) {
    return refuse(kInvalidRequest,
                  "The object was stored using a form of Server Side Encryption. The correct "
                  "parameters must be provided to retrieve the object.");
  }
  return refuse(kAccessDenied, "The object was stored with another customer's key.");
}

S3Result<void> check_not_archived(const s3::NameValues& kept) {
  const std::string storage_class = value_in(kept, kStorageClass);
  if (storage_class != "GLACIER" && storage_class != "DEEP_ARCHIVE") return {};
  return refuse(kInvalidObjectState);
}

bool is_storage_header(std::string_view name) {
  return name == kEncryption || name == kKmsKey || name == kCustomerAlgorithm ||
         name == kCustomerKeyMd5 || name == kStorageClass;
}

std::string encrypted_digest(const s3::NameValues& kept, const std::string& digest) {
  const bool is_md5 =
      value_in(kept, kCustomerKeyMd5).empty() && value_in(kept, kEncryption) != "aws:kms";
  return is_md5 ? digest : to_hex(md5_of("encrypted " + digest));
}

}  // namespace s3rdmafs::target
