// SPDX-License-Identifier: Apache-2.0
#include "csi/rpc/answer.h"

#include <algorithm>
#include <chrono>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"
#include "s3rdmafs/base/utf8.h"

namespace s3rdmafs::csi {
namespace {

constexpr std::chrono::milliseconds kCallTimeMax = std::chrono::seconds(110);
constexpr std::chrono::milliseconds kAheadMax = std::chrono::seconds(1);

}  // namespace

grpc::StatusCode status_code_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kConfig:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::kExists:
      return grpc::StatusCode::ALREADY_EXISTS;
    case ErrorCode::kUnsupported:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorCode::kBusy:
      return grpc::StatusCode::ABORTED;
    case ErrorCode::kTimedOut:
      return grpc::StatusCode::DEADLINE_EXCEEDED;
    default:
      return grpc::StatusCode::INTERNAL;
  }
}

grpc::Status answer_with(std::string_view call, std::string_view volume,
                         const Result<void>& result) {
  if (result) return grpc::Status::OK;
  const std::string cause = printable(result.error().detail);
  log::warn("{} of volume {} failed: {}; the caller may try again", call,
            printable(volume.substr(0, 128)), cause);
  // gRPC takes UTF-8 alone.
  return {status_code_of(result.error().code), std::string(utf8_beginning(cause))};
}

Deadline deadline_of(const grpc::ServerContext& context, const Clock& clock) {
  using std::chrono::milliseconds;
  const auto until = context.deadline();  // far in the future where the caller has none
  milliseconds left = kCallTimeMax;
  const auto wall = std::chrono::system_clock::now();
  if (until < wall + kCallTimeMax) left = std::chrono::floor<milliseconds>(until - wall);
  left = std::max(left, milliseconds(0));
  return clock.now() + left - std::min(kAheadMax, left / 10);
}

}  // namespace s3rdmafs::csi
