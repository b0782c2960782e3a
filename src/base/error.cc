// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/error.h"

#include <cstring>

namespace s3rdmafs {
namespace {

constexpr std::string_view kBeforeAdvice = "; ";

}  // namespace

std::string_view error_code_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kStale:
      return "Stale";
    case ErrorCode::kAccessDenied:
      return "AccessDenied";
    case ErrorCode::kThrottled:
      return "Throttled";
    case ErrorCode::kServerError:
      return "ServerError";
    case ErrorCode::kUnreachable:
      return "Unreachable";
    case ErrorCode::kTimedOut:
      return "TimedOut";
    case ErrorCode::kCancelled:
      return "Cancelled";
    case ErrorCode::kProtocol:
      return "Protocol";
    case ErrorCode::kCorrupt:
      return "Corrupt";
    case ErrorCode::kInvalidArgument:
      return "InvalidArgument";
    case ErrorCode::kConfig:
      return "Config";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kNoMemory:
      return "NoMemory";
    case ErrorCode::kExists:
      return "Exists";
    case ErrorCode::kIsDirectory:
      return "IsDirectory";
    case ErrorCode::kNotDirectory:
      return "NotDirectory";
    case ErrorCode::kNotEmpty:
      return "NotEmpty";
    case ErrorCode::kBusy:
      return "Busy";
    case ErrorCode::kSequentialOnly:
      return "SequentialOnly";
    case ErrorCode::kTooLarge:
      return "TooLarge";
    case ErrorCode::kReadOnly:
      return "ReadOnly";
    case ErrorCode::kSystem:
      return "System";
  }
  return "Unknown";
}

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
