// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <random>

#include "s3/http_engine.h"
#include "s3/retry_budget.h"
#include "s3/retry_policy.h"
#include "s3/store_metrics.h"
#include "s3rdmafs/base/callback.h"

namespace s3rdmafs::s3 {

/// One S3 operation as its attempts see it. Used by one thread at a time.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// Makes the next attempt and hands it to `ready`, as its last deed: the exchange may be gone
  /// when that returns. May wait for an RDMA session, until `deadline` at most. Where no attempt
  /// can be made it counts as one that failed: it is made again if the error's code says so.
  virtual void next_request(Deadline deadline, Done<HttpRequest> ready) = 0;

  /// What is left to do after an attempt.
  struct Next {
    enum class Step {
      kFinished,   ///< the exchange keeps the result for finish()
      kSendAgain,  ///< at once: another request, not a retry of the same
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

/// Makes an exchange's attempts until it is finished, its deadline near, or the retries spent.
/// Waits are timers of the engine. Thread-safe.
class RetryRunner {
 public:
  /// Borrows engine, clock and metrics.
  RetryRunner(HttpEngine& engine, RetryPolicy policy, const Clock& clock, StoreMetrics& metrics);

  void run(std::unique_ptr<Exchange> exchange, Deadline deadline);

 private:
  struct Job {
    std::unique_ptr<Exchange> exchange;
    Deadline deadline;
    unsigned attempts_made = 0;
  };

  void attempt(Job job);
  void send(Job job, Result<HttpRequest> request);
  void on_outcome(Job job, HttpOutcome outcome);
  void retry_or_fail(Job job, Exchange::Next next);
  void fail(Job job, Error error);
  void finish(Job job);
  [[nodiscard]] double jitter();

  HttpEngine& engine_;
  const RetryPolicy policy_;
  const Clock& clock_;
  StoreMetrics& metrics_;
  RetryBudget budget_;

  Mutex mutex_;  // leaf
  std::minstd_rand random_ GUARDED_BY(mutex_){std::random_device{}()};
};

}  // namespace s3rdmafs::s3
