// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace s3rdmafs::target {

/// One of S3's error codes: its name on the wire, the HTTP status that goes with it and the message
/// where nothing more exact is known. Source: Amazon S3 API reference, "Error responses".
struct S3Code {
  std::string_view name;
  int status;
  std::string_view message;
};

// clang-format off
inline constexpr S3Code kAccessDenied{"AccessDenied", 403, "Access Denied."};
inline constexpr S3Code kAuthorizationHeaderMalformed{"AuthorizationHeaderMalformed", 400, "The authorization header is malformed."};
inline constexpr S3Code kBadDigest{"BadDigest", 400, "The checksum you sent does not match the bytes received."};
inline constexpr S3Code kBucketAlreadyOwnedByYou{"BucketAlreadyOwnedByYou", 409, "The bucket exists already and is yours."};
inline constexpr S3Code kBucketNotEmpty{"BucketNotEmpty", 409, "The bucket still holds files."};
inline constexpr S3Code kEntityTooLarge{"EntityTooLarge", 400, "The body is larger than this request may have."};
inline constexpr S3Code kEntityTooSmall{"EntityTooSmall", 400, "Every part but the last must be at least 5 MiB."};
inline constexpr S3Code kExpiredToken{"ExpiredToken", 400, "The session token has expired."};
inline constexpr S3Code kIdempotencyParameterMismatch{"IdempotencyParameterMismatch", 400, "The token was used for another request."};
inline constexpr S3Code kIncompleteBody{"IncompleteBody", 400, "The body is not as long as the request said."};
inline constexpr S3Code kInternalError{"InternalError", 500, "The server failed; see its log."};
inline constexpr S3Code kInvalidAccessKeyId{"InvalidAccessKeyId", 403, "This server does not know the access key."};
inline constexpr S3Code kInvalidArgument{"InvalidArgument", 400, "An argument is not valid."};
inline constexpr S3Code kInvalidBucketName{"InvalidBucketName", 400, "The bucket name is not valid."};
inline constexpr S3Code kInvalidDigest{"InvalidDigest", 400, "The Content-MD5 is not valid."};
inline constexpr S3Code kInvalidPart{"InvalidPart", 400, "A part was not found, or its ETag is another one."};
inline constexpr S3Code kInvalidPartNumber{"InvalidPartNumber", 416, "The object has no such part."};
inline constexpr S3Code kInvalidToken{"InvalidToken", 400, "The session token is not that of the access key."};
inline constexpr S3Code kInvalidPartOrder{"InvalidPartOrder", 400, "The parts are not in ascending order."};
inline constexpr S3Code kInvalidRange{"InvalidRange", 416, "The range lies outside the object."};
inline constexpr S3Code kInvalidRdmaToken{"InvalidRDMAToken", 400, "The RDMA token is not valid."};
inline constexpr S3Code kInvalidObjectState{
    "InvalidObjectState", 403,
    "The operation is not valid for the object's storage class."};
inline constexpr S3Code kInvalidStorageClass{
    "InvalidStorageClass", 400, "The storage class you specified is not valid."};
inline constexpr S3Code kInvalidRequest{"InvalidRequest", 400, "The request is not valid."};
inline constexpr S3Code kInvalidUri{"InvalidURI", 400, "The address cannot be decoded."};
inline constexpr S3Code kKeyConflict{"KeyConflict", 409, "The key is in the way of a folder, or a folder in the way of the key."};
inline constexpr S3Code kKeyTooLong{"KeyTooLongError", 400, "The key is longer than 1024 bytes."};
inline constexpr S3Code kMalformedXml{"MalformedXML", 400, "The XML is not well-formed, or not of the kind that this request takes."};
inline constexpr S3Code kMethodNotAllowed{"MethodNotAllowed", 405, "The method is not allowed here."};
inline constexpr S3Code kMissingContentLength{"MissingContentLength", 411, "The request needs a Content-Length."};
inline constexpr S3Code kNoSuchBucket{"NoSuchBucket", 404, "The bucket does not exist."};
inline constexpr S3Code kNoSuchKey{"NoSuchKey", 404, "The key does not exist."};
inline constexpr S3Code kNoSuchUpload{"NoSuchUpload", 404, "The multipart upload does not exist; it may have been completed or aborted."};
inline constexpr S3Code kNotImplemented{"NotImplemented", 501, "This server does not implement that."};
inline constexpr S3Code kNotModified{"NotModified", 304, ""};
inline constexpr S3Code kPreconditionFailed{"PreconditionFailed", 412, "A condition of the request does not hold."};
inline constexpr S3Code kRdmaTransferFailed{"RDMATransferFailed", 500, "The RDMA transfer failed."};
inline constexpr S3Code kRequestTimeTooSkewed{"RequestTimeTooSkewed", 403, "The request's time is more than 15 minutes from the server's."};
inline constexpr S3Code kSignatureDoesNotMatch{"SignatureDoesNotMatch", 403, "The signature does not match; check the secret key."};
inline constexpr S3Code kContentSha256Mismatch{"XAmzContentSHA256Mismatch", 400, "The body does not match x-amz-content-sha256."};
// clang-format on

/// A refusal as the client will read it.
struct S3Error {
  S3Code code;
  std::string message;
  /// Sent along, e.g. Content-Range with a 416.
  std::vector<std::pair<std::string, std::string>> headers;
};

template <class T>
using S3Result = std::expected<T, S3Error>;

/// Makes the failing side of an S3Result; an empty message means the code's own.
[[nodiscard]] inline std::unexpected<S3Error> refuse(const S3Code& code, std::string message = {}) {
  if (message.empty()) message = code.message;
  return std::unexpected<S3Error>(S3Error{code, std::move(message), {}});
}

/// The failing side for a system call: disk full, permission, and so on. Logs it.
[[nodiscard]] std::unexpected<S3Error> refuse_errno(std::string_view what, int saved_errno);

}  // namespace s3rdmafs::target
