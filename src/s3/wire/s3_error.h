// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::s3 {

/// An Error document; empty fields if it has none.
struct S3Error {
  std::string code;
  std::string message;
};

/// The status of an answer's error. Servers that begin to answer before a copy or a completion has
/// ended report a later error inside an HTTP 200.
[[nodiscard]] inline int status_of(int http_status, const S3Error& error) {
  if (http_status < 200 || http_status > 299) return http_status;
  if (error.code == "PreconditionFailed") return 412;
  if (error.code == "NoSuchKey" || error.code == "NoSuchUpload" || error.code == "NoSuchBucket") {
    return 404;
  }
  if (error.code == "NotImplemented") return 501;
  if (error.code == "InternalError") return 500;
  return http_status;
}

/// Whether a request may take effect although its answer is an error: a proxy gives up a long copy
/// that the server goes on with. A server that throttles says that it did nothing.
[[nodiscard]] inline bool may_take_effect_later(int http_status, const S3Error& error) {
  const bool is_throttled = error.code == "SlowDown" || error.code == "ServiceUnavailable";
  return http_status >= 500 && http_status != 501 && !is_throttled;
}

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
