// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "s3/endpoints/endpoint.h"
#include "s3/wire/http_message.h"
#include "s3rdmafs/base/callback.h"

namespace s3rdmafs::s3 {

/// One S3 operation as its attempts see it. Used by one thread at a time.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Bytes of objects that an attempt moves.
  [[nodiscard]] virtual std::uint64_t transfer_bytes() const { return 0; }

  /// Makes the next attempt, for `endpoint`, and hands it to `ready`, as its last deed: the
  /// exchange may be gone when that returns. May wait for an RDMA session, until `deadline` at
  /// most. Where no attempt can be made it counts as one that failed: it is made again if the
  /// error's code says so. kUnsupported means that this endpoint cannot do it: another is asked.
  virtual void next_request(Endpoint& endpoint, Deadline deadline, Done<HttpRequest> ready) = 0;

  /// What is left to do after an attempt.
  struct Next {
    enum class Step {
      kFinished,   ///< the exchange keeps the result for finish()
      kSendAgain,  ///< at once: another request, not a retry of the same; to the same endpoint
      kElsewhere,  ///< at once: the same, to another endpoint
      kLeaveOut,   ///< at once: the same, and never to this endpoint again; `error` if none is left
      kFailed,     ///< `error`; made again if its code says so
    };
    Step step = Step::kFinished;
    Error error = {};
    std::optional<std::chrono::seconds> retry_after = {};
  };
  [[nodiscard]] virtual Next on_outcome(HttpOutcome outcome) = 0;

  /// No attempt is left: keep `error` for finish().
  virtual void fail(Error error) = 0;

  /// Calls the operation's Done. Called once, last.
  virtual void finish() = 0;
};

}  // namespace s3rdmafs::s3
