// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/error_mapping.h"

#include <algorithm>
#include <array>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

struct Known {
  std::string_view s3_code;
  ErrorCode code;
  std::string_view advice;  ///< empty: the server's message says enough
};

constexpr auto kKnown = std::to_array<Known>({
    {"NoSuchKey", ErrorCode::kNotFound, ""},
    {"NoSuchBucket", ErrorCode::kNotFound, "check bucket.name and endpoint.url"},
    {"PreconditionFailed", ErrorCode::kStale, ""},
    {"AccessDenied", ErrorCode::kAccessDenied,
     "the key may not do this: check its policy (s3:ListBucket, s3:GetObject; for writing "
     "s3:PutObject, s3:DeleteObject)"},
    {"InvalidAccessKeyId", ErrorCode::kAccessDenied,
     "the server does not know credentials.access_key_id"},
    {"SignatureDoesNotMatch", ErrorCode::kAccessDenied,
     "check credentials.secret_access_key and endpoint.region"},
    {"RequestTimeTooSkewed", ErrorCode::kAccessDenied,
     "this machine's clock is wrong: set it (chrony, systemd-timesyncd)"},
    {"ExpiredToken", ErrorCode::kAccessDenied, "the session token has expired: get a new one"},
    {"InvalidToken", ErrorCode::kAccessDenied, "check credentials.session_token"},
    {"AuthorizationHeaderMalformed", ErrorCode::kAccessDenied, "check endpoint.region"},
    {"InvalidObjectState", ErrorCode::kAccessDenied,
     "the object is in an archive: restore it, and open it again"},
    {"KMS.NotFoundException", ErrorCode::kAccessDenied, "check encryption.kms_key"},
    {"KMS.DisabledException", ErrorCode::kAccessDenied,
     "the key of encryption.kms_key is disabled"},
    {"PermanentRedirect", ErrorCode::kConfig, "the bucket is at another endpoint or region"},
    {"TemporaryRedirect", ErrorCode::kConfig, "the bucket is at another endpoint or region"},
    {"IllegalLocationConstraintException", ErrorCode::kConfig, "check endpoint.region"},
    {"InvalidBucketName", ErrorCode::kConfig, "check bucket.name"},
    {"SlowDown", ErrorCode::kThrottled, ""},
    {"ServiceUnavailable", ErrorCode::kThrottled, ""},
    {"TooManyRequests", ErrorCode::kThrottled, ""},
    {"InternalError", ErrorCode::kServerError, ""},
    {"ConditionalRequestConflict", ErrorCode::kServerError, ""},
    {"OperationAborted", ErrorCode::kServerError, ""},
    {"RequestTimeout", ErrorCode::kServerError, ""},
    {"NotImplemented", ErrorCode::kUnsupported, ""},
    {"QuotaExceeded", ErrorCode::kNoSpace, "the bucket's or the user's quota is used up"},
    {"XMinioAdminBucketQuotaExceeded", ErrorCode::kNoSpace, "the bucket's quota is used up"},
    {"XMinioStorageFull", ErrorCode::kNoSpace, "the server's disks are full"},
    {"EntityTooLarge", ErrorCode::kTooLarge, ""},
    {"MetadataTooLarge", ErrorCode::kInvalidArgument,
     "S3 keeps at most 2 KiB of metadata beside an object"},
});

struct KnownStatus {
  int status;
  ErrorCode code;
};

constexpr auto kKnownStatuses = std::to_array<KnownStatus>({
    {301, ErrorCode::kConfig},
    {302, ErrorCode::kConfig},
    {307, ErrorCode::kConfig},
    {308, ErrorCode::kConfig},
    {401, ErrorCode::kAccessDenied},
    {403, ErrorCode::kAccessDenied},
    {404, ErrorCode::kNotFound},
    {408, ErrorCode::kServerError},
    {412, ErrorCode::kStale},
    {429, ErrorCode::kThrottled},
    {501, ErrorCode::kUnsupported},
    {503, ErrorCode::kThrottled},
    {507, ErrorCode::kNoSpace},  // RFC 4918 section 11.5
});

ErrorCode code_of_status(int status) {
  const auto* known = std::ranges::find(kKnownStatuses, status, &KnownStatus::status);
  if (known != kKnownStatuses.end()) return known->code;
  if (status >= 500) return ErrorCode::kServerError;
  if (status >= 400) return ErrorCode::kInvalidArgument;
  return ErrorCode::kProtocol;  // an unexpected 1xx, 2xx or 3xx
}

std::string_view advice_of_status(int status) {
  if (code_of_status(status) == ErrorCode::kAccessDenied) {
    return "check the credentials and what they may do";
  }
  if (code_of_status(status) == ErrorCode::kConfig) {
    return "redirects are not followed: check endpoint.url and endpoint.region";
  }
  return "";
}

}  // namespace

Error map_s3_error(const OperationName& operation, int http_status, const S3Error& error) {
  const auto* known = std::ranges::find(kKnown, error.code, &Known::s3_code);
  const bool is_known = known != kKnown.end();
  const ErrorCode code = is_known ? known->code : code_of_status(status_of(http_status, error));
  const std::string_view advice = is_known ? known->advice : advice_of_status(http_status);

  std::string detail;
  if (error.code == "NoSuchBucket") {
    detail = fmt::format("bucket '{}' does not exist at {}", operation.bucket, operation.endpoint);
  } else {
    detail = fmt::format("{} '{}' of bucket '{}' at {}", operation.verb, operation.key,
                         operation.bucket, operation.endpoint);
  }
  detail += fmt::format(": HTTP {}", http_status);
  if (!error.code.empty()) detail += " " + error.code;
  if (!error.message.empty()) detail += ": " + error.message;
  if (!advice.empty()) detail += fmt::format(" ({})", advice);
  return {code, std::move(detail)};
}

}  // namespace s3rdmafs::s3
