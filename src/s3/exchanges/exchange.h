// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "s3/endpoints/endpoint.h"
#include "s3/wire/http_message.h"
#include "s3/wire/s3_error.h"
#include "s3rdmafs/base/callback.h"

namespace s3rdmafs::s3 {

/// One S3 operation as its attempts see it. Used by one thread at a time.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Bytes of objects that an attempt moves.
  [[nodiscard]] virtual std::uint64_t transfer_bytes() const { return 0; }

  /// Makes the request of the next attempt, for `endpoint`, and calls `ready` with it as its last
  /// action: the exchange may be gone when that returns. May wait for an RDMA session, until
  /// `deadline` at most. An error counts as an attempt that failed; its code decides whether there
  /// is another one. kUnsupported means that this endpoint cannot do it: another is asked.
  virtual void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) = 0;

  /// The step to take after an attempt.
  struct Next {
    enum class Step {
      kFinished,   ///< the exchange keeps the result for finish()
      kSendAgain,  ///< at once: another request, not a retry of the same; to the same endpoint
      kElsewhere,  ///< at once: the same, to another endpoint
      kLeaveOut,   ///< at once: the same, and never to this endpoint again; `error` if none is left
      kFailed,     ///< `error`; its code decides whether there is another attempt
    };
    Step step = Step::kFinished;
    Error error = {};
    std::optional<std::chrono::seconds> retry_after = {};
  };
  [[nodiscard]] virtual Next on_outcome(HttpOutcome outcome) = 0;

  /// There are no more attempts: keep `error` for finish().
  virtual void fail(Error error) = 0;

  /// Calls the operation's Done. Called once, last.
  virtual void finish() = 0;

  // Steps, also made by the helpers of exchanges.

  [[nodiscard]] static Next finished() { return {.step = Next::Step::kFinished}; }
  [[nodiscard]] static Next send_again() { return {.step = Next::Step::kSendAgain}; }
  [[nodiscard]] static Next failed(Error error) {
    return {.step = Next::Step::kFailed, .error = std::move(error)};
  }
  [[nodiscard]] static Next failed(ErrorCode code, std::string detail) {
    return failed(Error{code, std::move(detail)});
  }
  /// `endpoint` answered `verb` for `subject` (a key, or a listing's prefix) with an S3 error.
  [[nodiscard]] static Next refused(const Endpoint& endpoint, std::string_view verb,
                                    std::string_view subject, const HttpResponse& response,
                                    const S3Error& error);
};

}  // namespace s3rdmafs::s3
