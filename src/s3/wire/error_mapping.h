// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3/wire/s3_error.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

/// The operation as an error text names it. Borrows its text.
struct OperationName {
  std::string_view verb;  ///< "GET", "HEAD", "LIST"
  std::string_view key;   ///< or the prefix of a listing; may be empty
  std::string_view bucket;
  std::string_view endpoint;  ///< its URL
};

/// An error whose text says in one line which operation failed, with which answer, and what to do
/// about it if that is known: `GET 'a/b' of bucket 'train': HTTP 403 AccessDenied: ...`.
///
/// A known S3 code decides the error's code. HEAD answers and proxies have none, so there the
/// status decides. Errors that are worth a retry become kThrottled or kServerError.
[[nodiscard]] Error map_s3_error(const OperationName& operation, int http_status,
                                 const S3Error& error);

}  // namespace s3rdmafs::s3
