// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/error_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::s3 {
namespace {

using ::testing::HasSubstr;

constexpr OperationName kGet{
    .verb = "GET", .key = "a/b", .bucket = "train", .endpoint = "http://h:9000"};

TEST(MapS3Error, GivesEveryCodeAndStatusItsMeaning) {
  const struct {
    int status;
    const char* s3_code;
    ErrorCode code;
  } rows[] = {
      {404, "NoSuchKey", ErrorCode::kNotFound},
      {404, "NoSuchBucket", ErrorCode::kNotFound},
      {404, "", ErrorCode::kNotFound},
      {403, "AccessDenied", ErrorCode::kAccessDenied},
      {403, "InvalidAccessKeyId", ErrorCode::kAccessDenied},
      {403, "SignatureDoesNotMatch", ErrorCode::kAccessDenied},
      {403, "RequestTimeTooSkewed", ErrorCode::kAccessDenied},
      {400, "ExpiredToken", ErrorCode::kAccessDenied},
      {400, "AuthorizationHeaderMalformed", ErrorCode::kAccessDenied},
      {403, "", ErrorCode::kAccessDenied},
      {401, "", ErrorCode::kAccessDenied},
      {412, "PreconditionFailed", ErrorCode::kStale},
      {412, "", ErrorCode::kStale},
      {503, "SlowDown", ErrorCode::kThrottled},
      {503, "", ErrorCode::kThrottled},
      {429, "", ErrorCode::kThrottled},
      {500, "InternalError", ErrorCode::kServerError},
      {500, "", ErrorCode::kServerError},
      {502, "", ErrorCode::kServerError},
      {504, "", ErrorCode::kServerError},
      {400, "RequestTimeout", ErrorCode::kServerError},
      {408, "", ErrorCode::kServerError},
      {501, "NotImplemented", ErrorCode::kUnsupported},
      {403, "QuotaExceeded", ErrorCode::kNoSpace},
      {400, "XMinioAdminBucketQuotaExceeded", ErrorCode::kNoSpace},
      {507, "XMinioStorageFull", ErrorCode::kNoSpace},
      {507, "", ErrorCode::kNoSpace},
      {400, "EntityTooLarge", ErrorCode::kTooLarge},
      {301, "PermanentRedirect", ErrorCode::kConfig},
      {307, "", ErrorCode::kConfig},
      {400, "InvalidBucketName", ErrorCode::kConfig},
      {400, "SomethingNew", ErrorCode::kInvalidArgument},
      {304, "", ErrorCode::kProtocol},
  };
  for (const auto& row : rows) {
    const Error error = map_s3_error(kGet, row.status, {.code = row.s3_code, .message = ""});
    EXPECT_EQ(error.code, row.code) << row.status << " " << row.s3_code << ": " << error.detail;
  }
}

TEST(MapS3Error, NamesOperationAnswerAndWhatToDo) {
  const Error error = map_s3_error(
      kGet, 403, {.code = "SignatureDoesNotMatch", .message = "Not as we compute it."});
  EXPECT_EQ(
      error.detail,
      "GET 'a/b' of bucket 'train' at http://h:9000: HTTP 403 SignatureDoesNotMatch: Not as we "
      "compute it. (check credentials.secret_access_key and endpoint.region)");
}

TEST(MapS3Error, SaysWhereABucketIsMissing) {
  const Error error = map_s3_error(kGet, 404, {.code = "NoSuchBucket", .message = ""});
  EXPECT_THAT(error.detail, HasSubstr("bucket 'train' does not exist at http://h:9000"));
}

TEST(MapS3Error, TellsTheClockToBeSet) {
  const Error error = map_s3_error(kGet, 403, {.code = "RequestTimeTooSkewed", .message = ""});
  EXPECT_THAT(error.detail, HasSubstr("clock"));
}

}  // namespace
}  // namespace s3rdmafs::s3
