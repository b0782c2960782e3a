// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3rdmafs/s3/sigv4.h"
#include "target/http/message.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// The terms on which this server's buckets are used. Plain value, of the command line.
struct BucketTerms {
  bool requester_pays = false;  ///< a request must agree to pay
  std::string owner;            ///< of all buckets; empty: any name is right
  /// Takes the headers of server-side encryption, keeps them and asks for a customer's key again,
  /// but encrypts nothing. Otherwise such uploads are refused.
  bool plays_encryption = false;
};

/// Whether a request agrees to the terms. Errors: kAccessDenied.
[[nodiscard]] S3Result<void> check_terms(const BucketTerms& terms, const Request& request);

/// Whether an upload's headers of encryption and storage class are good.
/// Errors: kNotImplemented, kInvalidRequest, kInvalidArgument, kInvalidStorageClass.
[[nodiscard]] S3Result<void> check_storage_headers(const BucketTerms& terms,
                                                   const Request& request);

/// Whether a request may use an object, or an upload, that is kept with these headers: it must
/// bring the customer's key that they are of, and none otherwise.
/// @param prefix  "x-amz-", or "x-amz-copy-source-" for a copy's source
/// Errors: kInvalidRequest, kAccessDenied.
[[nodiscard]] S3Result<void> check_customer_key(const Request& request, std::string_view prefix,
                                                const s3::NameValues& kept);

/// Whether an object's bytes can be had without a restore. Errors: kInvalidObjectState.
[[nodiscard]] S3Result<void> check_not_archived(const s3::NameValues& kept);

/// Whether a header says how an object is encrypted or stored. Such headers are kept with it, and
/// belong to the request that makes it, also for a copy. A key itself is never kept.
[[nodiscard]] bool is_storage_header(std::string_view name);

/// The ETag of an object whose bytes have the digest: with a key that the client or its key service
/// has, S3's ETag is not the MD5 of the bytes.
[[nodiscard]] std::string encrypted_digest(const s3::NameValues& kept, const std::string& digest);

}  // namespace s3rdmafs::target
