// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/error.h"

#include <cstring>

#include "s3rdmafs/base/enum_names.h"

namespace s3rdmafs {
namespace {

constexpr std::string_view kBeforeAdvice = "; ";

constexpr EnumNames<ErrorCode::kSystem> kErrorNames({{ErrorCode::kNotFound, "NotFound"},
                                                     {ErrorCode::kStale, "Stale"},
                                                     {ErrorCode::kAccessDenied, "AccessDenied"},
                                                     {ErrorCode::kThrottled, "Throttled"},
                                                     {ErrorCode::kServerError, "ServerError"},
                                                     {ErrorCode::kUnreachable, "Unreachable"},
                                                     {ErrorCode::kTimedOut, "TimedOut"},
                                                     {ErrorCode::kCancelled, "Cancelled"},
                                                     {ErrorCode::kProtocol, "Protocol"},
                                                     {ErrorCode::kCorrupt, "Corrupt"},
                                                     {ErrorCode::kInvalidArgument,
                                                      "InvalidArgument"},
                                                     {ErrorCode::kConfig, "Config"},
                                                     {ErrorCode::kUnsupported, "Unsupported"},
                                                     {ErrorCode::kNoMemory, "NoMemory"},
                                                     {ErrorCode::kExists, "Exists"},
                                                     {ErrorCode::kIsDirectory, "IsDirectory"},
                                                     {ErrorCode::kNotDirectory, "NotDirectory"},
                                                     {ErrorCode::kNotEmpty, "NotEmpty"},
                                                     {ErrorCode::kBusy, "Busy"},
                                                     {ErrorCode::kSequentialOnly, "SequentialOnly"},
                                                     {ErrorCode::kTooLarge, "TooLarge"},
                                                     {ErrorCode::kNoSpace, "NoSpace"},
                                                     {ErrorCode::kReadOnly, "ReadOnly"},
                                                     {ErrorCode::kNameTooLong, "NameTooLong"},
                                                     {ErrorCode::kNoAttribute, "NoAttribute"},
                                                     {ErrorCode::kTooManyKeys, "TooManyKeys"},
                                                     {ErrorCode::kNoCredentials, "NoCredentials"},
                                                     {ErrorCode::kSystem, "System"}});

}  // namespace

std::string_view error_code_name(ErrorCode code) noexcept { return kErrorNames[code]; }

bool is_retryable(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kThrottled:
    case ErrorCode::kServerError:
    case ErrorCode::kUnreachable:
      return true;
    default:
      return false;  // kTimedOut included: it means that the whole deadline is spent
  }
}

std::string_view Error::problem() const noexcept {
  std::string_view text = detail;
  const std::size_t tail = kBeforeAdvice.size() + advice.size();
  // A layer above may have appended its own words to `detail`.
  if (!advice.empty() && text.size() > tail && text.ends_with(advice)) text.remove_suffix(tail);
  return text;
}

std::unexpected<Error> fail_with_advice(ErrorCode code, std::string_view problem,
                                        std::string advice) {
  std::string detail = std::string(problem) + std::string(kBeforeAdvice) + advice;
  return std::unexpected<Error>(Error{code, std::move(detail), std::move(advice)});
}

std::unexpected<Error> fail_errno(std::string_view what, int saved_errno) {
  return fail(ErrorCode::kSystem, std::string(what) + ": " + std::strerror(saved_errno));
}

std::unexpected<Error> fail_with_context(std::string_view context, Error error) {
  error.detail = std::string(context) + ": " + error.detail;
  return std::unexpected<Error>(std::move(error));
}

}  // namespace s3rdmafs
