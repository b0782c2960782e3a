// SPDX-License-Identifier: Apache-2.0
// Source: the request headers of GetObject, HeadObject, PutObject, CopyObject,
// CreateMultipartUpload, UploadPart, UploadPartCopy and CompleteMultipartUpload in Amazon S3's API
// reference.
#include "s3/wire/bucket_headers.h"

#include <algorithm>

#include <openssl/evp.h>

#include "s3/wire/base64.h"
#include "s3/wire/request.h"

namespace s3rdmafs::s3 {
namespace {

/// The request, as far as the rules go.
enum class Use {
  kOther,
  kRead,       ///< of an object, or of its description
  kNewObject,  ///< its bytes, or the begin of an upload
  kUpload,     ///< a part, or the end of an upload
};

bool has(const NameValues& values, std::string_view name) {
  return std::ranges::any_of(values, [&](const auto& value) { return value.first == name; });
}

Use use_of(const RequestSpec& spec) {
  if (spec.key.empty()) return Use::kOther;
  const bool is_upload = has(spec.query, "uploadId");
  if (has(spec.query, "renameObject")) return Use::kOther;  // the object stays as it is
  const bool writes = spec.method == HttpMethod::kPut || spec.method == HttpMethod::kPost;
  if (writes) return is_upload ? Use::kUpload : Use::kNewObject;
  if (spec.method == HttpMethod::kHead) return Use::kRead;
  if (spec.method == HttpMethod::kGet && !is_upload) return Use::kRead;  // with one: ListParts
  return Use::kOther;
}

void add(const NameValues& from, NameValues& to) {
  for (const auto& value : from) {
    if (!has(to, value.first)) to.push_back(value);
  }
}

/// RFC 1321, as S3 asks for it beside a key; it protects nothing.
std::string md5_of(std::string_view bytes) {
  constexpr std::size_t kMd5Bytes = 16;
  std::string digest(kMd5Bytes, '\0');
  EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
             EVP_md5(), nullptr);
  return digest;
}

NameValues key_headers(std::string_view prefix, const std::string& key_base64) {
  const std::string key = from_base64(key_base64).value_or("");
  const std::string name(prefix);
  return {{name + "-algorithm", "AES256"},
          {name + "-key", key_base64},
          {name + "-key-md5", to_base64(md5_of(key))}};
}

}  // namespace

BucketHeaders::BucketHeaders(const BucketTerms& terms) {
  if (terms.requester_pays) every_.emplace_back("x-amz-request-payer", "requester");
  if (!terms.expected_owner.empty()) {
    every_.emplace_back("x-amz-expected-bucket-owner", terms.expected_owner);
  }
  if (!terms.storage_class.empty()) {
    new_object_.emplace_back("x-amz-storage-class", terms.storage_class);
  }
  constexpr std::string_view kEncryption = "x-amz-server-side-encryption";
  switch (terms.encryption) {
    case Encryption::kBucket:
      break;
    case Encryption::kSseS3:
      new_object_.emplace_back(kEncryption, "AES256");
      break;
    case Encryption::kSseKms:
      new_object_.emplace_back(kEncryption, "aws:kms");
      if (!terms.kms_key.empty()) {
        new_object_.emplace_back("x-amz-server-side-encryption-aws-kms-key-id", terms.kms_key);
      }
      break;
    case Encryption::kSseC:
      customer_key_ = key_headers("x-amz-server-side-encryption-customer", terms.customer_key);
      copied_object_ =
          key_headers("x-amz-copy-source-server-side-encryption-customer", terms.customer_key);
      break;
  }
}

void BucketHeaders::add_to(RequestSpec& spec) const {
  add(every_, spec.headers);
  const Use use = use_of(spec);
  if (use == Use::kOther) return;
  if (use == Use::kNewObject) add(new_object_, spec.headers);
  add(customer_key_, spec.headers);
  if (has(spec.headers, "x-amz-copy-source")) add(copied_object_, spec.headers);
}

}  // namespace s3rdmafs::s3
