// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "s3/wire/http_message.h"
#include "s3/wire/operation.h"
#include "s3rdmafs/metrics/registry.h"
#include "s3rdmafs/metrics/size_class.h"

namespace s3rdmafs::s3 {

/// How long requests took, from their hand-over to the HTTP engine to the complete answer: by
/// operation, and where bytes move by fabric and size. Answers that report a fault of the server
/// (5xx) are not among them, since they come sooner or later than those that do what was asked;
/// neither are requests without an answer. Thread-safe.
class RequestTimes {
 public:
  /// A request under way.
  struct Sent {
    Operation operation = Operation::kHead;
    bool has_token = false;
    std::chrono::steady_clock::time_point at;
  };

  /// @param fabric  the name of the one that tokens are of; static
  RequestTimes(metrics::Registry& registry, std::string_view fabric);

  /// @param bytes  what the request was to move
  void on_outcome(const Sent& sent, const HttpOutcome& outcome, std::uint64_t bytes,
                  std::chrono::steady_clock::time_point now) noexcept;

 private:
  static constexpr std::size_t kOperations = decltype(kOperationNames)::kCount;
  static constexpr std::size_t kSizes = decltype(metrics::kSizeClassNames)::kCount;
  enum Way : std::size_t { kHttp, kToken, kWays };
  using BySize = std::array<metrics::Histogram*, kSizes>;

  std::array<std::array<BySize, kWays>, kOperations> times_{};
};

}  // namespace s3rdmafs::s3
