// SPDX-License-Identifier: Apache-2.0
#include "s3/request_times.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

std::string labels_of(Operation operation, std::string_view fabric, metrics::SizeClass size) {
  const std::string_view name = kOperationNames[operation];
  if (!moves_bytes(operation)) return fmt::format(R"(operation="{}",fabric="http")", name);
  return fmt::format(R"(operation="{}",fabric="{}",size="{}")", name, fabric,
                     metrics::kSizeClassNames[size]);
}

// A server that cannot use the token sends the bytes in its answer.
bool came_by_token(bool has_token, Operation operation, const HttpResponse& response) {
  const bool has_bytes = response.is_success() && response.body_bytes > 0;
  return has_token && !(operation == Operation::kGet && has_bytes);
}

}  // namespace

RequestTimes::RequestTimes(metrics::Registry& registry, std::string_view fabric) {
  for (std::size_t at = 0; at < kOperations; ++at) {
    const auto operation = static_cast<Operation>(at);
    for (const Way way : {kHttp, kToken}) {
      for (std::size_t size = 0; size < kSizes; ++size) {
        times_[at][way][size] =
            &registry.histogram("s3_request_seconds", "Time from an S3 request to its answer",
                                labels_of(operation, way == kToken ? fabric : "http",
                                          static_cast<metrics::SizeClass>(size)));
      }
    }
  }
}

void RequestTimes::on_outcome(const Sent& sent, const HttpOutcome& outcome, std::uint64_t bytes,
                              std::chrono::steady_clock::time_point now) noexcept {
  if (!outcome || outcome->status >= 500) return;
  const Way way = came_by_token(sent.has_token, sent.operation, *outcome) ? kToken : kHttp;
  const auto size = static_cast<std::size_t>(metrics::size_class_of(bytes));
  times_[static_cast<std::size_t>(sent.operation)][way][size]->record(now - sent.at);
}

}  // namespace s3rdmafs::s3
