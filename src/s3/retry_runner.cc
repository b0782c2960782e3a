// SPDX-License-Identifier: Apache-2.0
//
// A Job owns its exchange and travels with the callback that will go on with it: into the engine,
// into a timer, and back. So it has one owner at any time, and nothing has to be looked up or
// locked.
#include "s3/retry_runner.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

RetryRunner::RetryRunner(HttpEngine& engine, RetryPolicy policy, const Clock& clock,
                         StoreMetrics& metrics)
    : engine_(engine), policy_(policy), clock_(clock), metrics_(metrics), budget_(clock) {}

void RetryRunner::run(std::unique_ptr<Exchange> exchange, Deadline deadline) {
  budget_.on_request();
  metrics_.in_flight.add(1);
  attempt({.exchange = std::move(exchange), .deadline = deadline});
}

void RetryRunner::attempt(Job job) {
  if (clock_.now() >= job.deadline) {
    return fail(std::move(job), {ErrorCode::kTimedOut, "the deadline passed before an attempt"});
  }
  Exchange& exchange = *job.exchange;
  const Deadline deadline = job.deadline;
  exchange.next_request(deadline,
                        [this, job = std::move(job)](Result<HttpRequest> request) mutable {
                          send(std::move(job), std::move(request));
                        });
}

void RetryRunner::send(Job job, Result<HttpRequest> request) {
  ++job.attempts_made;
  if (!request) {
    return retry_or_fail(std::move(job), {.step = Exchange::Next::Step::kFailed,
                                          .error = std::move(request.error())});
  }
  request->deadline = job.deadline;
  engine_.send(std::move(*request), [this, job = std::move(job)](HttpOutcome outcome) mutable {
    on_outcome(std::move(job), std::move(outcome));
  });
}

void RetryRunner::on_outcome(Job job, HttpOutcome outcome) {
  if (!outcome) metrics_.on_attempt_failed(outcome.error().error.code);
  const bool is_answered = outcome.has_value();
  Exchange::Next next = job.exchange->on_outcome(std::move(outcome));
  switch (next.step) {
    case Exchange::Next::Step::kFinished:
      return finish(std::move(job));
    case Exchange::Next::Step::kSendAgain:
      --job.attempts_made;
      return attempt(std::move(job));
    case Exchange::Next::Step::kFailed:
      if (is_answered && is_retryable(next.error.code)) {
        metrics_.on_attempt_failed(next.error.code);
      }
      return retry_or_fail(std::move(job), std::move(next));
  }
}

void RetryRunner::retry_or_fail(Job job, Exchange::Next next) {
  if (!is_retryable(next.error.code)) return fail(std::move(job), std::move(next.error));
  const auto when = policy_.next_attempt(job.attempts_made, clock_.now(), job.deadline,
                                         next.retry_after, jitter());
  if (!when) {
    next.error.detail +=
        fmt::format(" (given up after {} of {} attempts)", job.attempts_made, policy_.attempts_max);
    return fail(std::move(job), std::move(next.error));
  }
  if (!budget_.try_spend()) {
    metrics_.retries_refused.add();
    next.error.detail += " (not tried again: too many requests fail, and retries would add to it)";
    return fail(std::move(job), std::move(next.error));
  }
  metrics_.retries.add();
  engine_.call_at(*when, [this, job = std::move(job)]() mutable { attempt(std::move(job)); });
}

void RetryRunner::fail(Job job, Error error) {
  job.exchange->fail(std::move(error));
  finish(std::move(job));
}

void RetryRunner::finish(Job job) {
  metrics_.in_flight.add(-1);
  job.exchange->finish();
}

double RetryRunner::jitter() {
  const MutexLock lock(mutex_);
  return std::uniform_real_distribution<double>(0, 1)(random_);
}

}  // namespace s3rdmafs::s3
