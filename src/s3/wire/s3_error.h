// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::s3 {

/// An Error document; empty fields if it has none.
struct S3Error {
  std::string code;
  std::string message;
};

/// Whether an answer means that the bucket has no such object or upload, as opposed to a bucket
/// that does not exist. HEAD answers have no document, so there the status alone says it.
[[nodiscard]] inline bool is_missing_in_bucket(int http_status, const S3Error& error) {
  return http_status == 404 && error.code != "NoSuchBucket";
}

/// Whether the server says that the bytes it received do not match our checksum.
[[nodiscard]] inline bool is_checksum_mismatch(const S3Error& error) {
  return error.code == "BadDigest" || error.code == "XAmzContentChecksumMismatch" ||
         error.code == "ChecksumMismatch";
}

}  // namespace s3rdmafs::s3
