// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3/wire/s3_error.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

/// What was asked, for the person who reads the error. Borrows its text.
struct OperationName {
  std::string_view verb;  ///< "GET", "HEAD", "LIST"
  std::string_view key;   ///< or the prefix of a listing; may be empty
  std::string_view bucket;
  std::string_view endpoint;  ///< its URL
};

/// One line that says what failed, with what answer, and what to do where that is known:
/// `GET 'a/b' of bucket 'train': HTTP 403 AccessDenied: ...`.
///
/// The S3 code decides where it is known; HEAD answers and proxies have none, so the status decides
/// there. Retryable codes come out as kThrottled or kServerError.
[[nodiscard]] Error map_s3_error(const OperationName& operation, int http_status,
                                 const S3Error& error);

}  // namespace s3rdmafs::s3
