// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "s3/endpoints/endpoints.h"
#include "s3/exchanges/exchange.h"
#include "s3/exchanges/retry_budget.h"
#include "s3/exchanges/retry_policy.h"
#include "s3/http/http_engine.h"
#include "s3/store_metrics.h"

namespace s3rdmafs::s3 {

/// Makes an exchange's attempts until it is finished, its deadline is near, or the retries are
/// spent, and chooses an endpoint for each. After a server of the store has answered once, attempts
/// that cannot reach one are repeated until the deadline. Before that a wrong address is more
/// likely than a restart, and they count as all others do. Waits are timers of the engine.
/// Thread-safe.
class RetryRunner {
 public:
  /// Borrows all but the policy.
  RetryRunner(HttpEngine& engine, Endpoints& endpoints, RetryPolicy policy, const Clock& clock,
              StoreMetrics& metrics);

  /// @param preferred  the first attempt goes there if it is alive
  void run(std::unique_ptr<Exchange> exchange, Deadline deadline,
           const Endpoint* preferred = nullptr);

 private:
  struct Job {
    std::unique_ptr<Exchange> exchange;
    Deadline deadline;
    Endpoints::Preference preference = {};
    EndpointLease lease = {};                // of the attempt under way, or the last one
    std::vector<std::size_t> excluded = {};  // endpoints that cannot do it
    FailedAttempts failed = {};
    RequestTimes::Sent sent = {};  // the attempt under way
    std::size_t moves = 0;         // to another endpoint because one could not be reached
  };

  /// How far a failed attempt came.
  enum class Reach {
    kNowhere,    ///< no server has seen it
    kCutOff,     ///< it was sent, and the connection broke
    kTheServer,  ///< the server answered, or was silent for too long
  };

  void attempt(Job job);
  void send(Job job, Result<HttpRequest> request);
  void on_outcome(Job job, HttpOutcome outcome);
  [[nodiscard]] bool may_move(const Job& job, const Error& error) const;
  void move(Job job);
  void leave_out(Job job, Error error);
  [[nodiscard]] static Reach reach_of(const HttpOutcome& outcome);
  /// Whether the failure looks like that of a server that is being restarted.
  [[nodiscard]] bool is_expected_back(Reach reach, const Error& error) const;
  void retry_or_fail(Job job, Exchange::Next next, Reach reach);
  void fail(Job job, Error error);
  void finish(Job job);
  [[nodiscard]] double jitter();

  HttpEngine& engine_;
  Endpoints& endpoints_;
  const RetryPolicy policy_;
  const Clock& clock_;
  StoreMetrics& metrics_;
  RetryBudget budget_;
  std::atomic<bool> was_answered_{false};  // by any endpoint, ever

  Mutex mutex_;  // leaf
  std::minstd_rand random_ GUARDED_BY(mutex_){std::random_device{}()};
};

}  // namespace s3rdmafs::s3
