// SPDX-License-Identifier: Apache-2.0
//
// A Job owns its exchange and moves with the callback that continues it: into the engine, into a
// timer, and back. So it always has one owner, and needs no table and no lock.
#include "s3/exchanges/retry_runner.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

/// The judgement of an endpoint by the outcome of an attempt.
EndpointSet::Outcome judge(const HttpOutcome& outcome) {
  using Outcome = EndpointSet::Outcome;
  if (outcome) {
    // 501 is an answer: this server does not do this.
    return outcome->status >= 500 && outcome->status != 501 ? Outcome::kServerError
                                                            : Outcome::kAnswered;
  }
  const HttpFailure& failure = outcome.error();
  if (failure.no_connection_from_source) return Outcome::kNothing;  // it may be the rail's fault
  if (failure.was_hedged) return Outcome::kGivenUp;
  if (failure.may_have_reached_server && failure.error.code != ErrorCode::kCancelled) {
    return Outcome::kNoAnswer;
  }
  const bool is_its_fault =
      failure.error.code == ErrorCode::kUnreachable || failure.error.code == ErrorCode::kConfig;
  return is_its_fault ? Outcome::kNotReached : Outcome::kNothing;
}

}  // namespace

RetryRunner::RetryRunner(HttpEngine& engine, Endpoints& endpoints, RetryPolicy policy,
                         const Clock& clock, StoreMetrics& metrics)
    : engine_(engine),
      endpoints_(endpoints),
      policy_(policy),
      clock_(clock),
      metrics_(metrics),
      budget_(clock) {}

void RetryRunner::run(std::unique_ptr<Exchange> exchange, Deadline deadline,
                      const Endpoint* preferred) {
  budget_.on_request();
  metrics_.in_flight.add(1);
  attempt({.exchange = std::move(exchange),
           .deadline = deadline,
           .preference = {.preferred = preferred}});
}

void RetryRunner::attempt(Job job) {
  if (clock_.now() >= job.deadline) {
    return fail(std::move(job), {ErrorCode::kTimedOut, "the deadline passed before an attempt"});
  }
  Exchange& exchange = *job.exchange;
  const Deadline deadline = job.deadline;
  Endpoints::Preference preference = job.preference;
  preference.excluded = job.excluded;
  job.lease = endpoints_.lease(exchange.transfer_bytes(), preference);
  Endpoint& endpoint = job.lease.endpoint();
  exchange.next_request(endpoint, deadline,
                        [this, job = std::move(job)](Result<HttpRequest> request) mutable {
                          send(std::move(job), std::move(request));
                        });
}

void RetryRunner::send(Job job, Result<HttpRequest> request) {
  if (!request) {
    job.lease.end(EndpointSet::Outcome::kNothing);
    if (request.error().code == ErrorCode::kUnsupported) {
      return leave_out(std::move(job), std::move(request.error()));
    }
    if (may_move(job, request.error())) return move(std::move(job));
    return retry_or_fail(
        std::move(job),
        {.step = Exchange::Next::Step::kFailed, .error = std::move(request.error())},
        Reach::kNowhere);
  }
  job.lease.endpoint().requests.add();
  request->deadline = job.deadline;
  job.sent = {
      .operation = request->operation, .has_token = request->has_rdma_token, .at = clock_.now()};
  engine_.send(std::move(*request), [this, job = std::move(job)](HttpOutcome outcome) mutable {
    on_outcome(std::move(job), std::move(outcome));
  });
}

void RetryRunner::on_outcome(Job job, HttpOutcome outcome) {
  metrics_.times.on_outcome(job.sent, outcome, job.exchange->transfer_bytes(), clock_.now());
  if (!outcome) metrics_.on_attempt_failed(outcome.error().error.code);
  const bool is_answered = outcome.has_value();
  const Reach reach = reach_of(outcome);
  if (is_answered && !was_answered_.load(std::memory_order_relaxed)) was_answered_ = true;
  job.lease.end(judge(outcome));
  Exchange::Next next = job.exchange->on_outcome(std::move(outcome));
  switch (next.step) {
    case Exchange::Next::Step::kFinished:
      return finish(std::move(job));
    case Exchange::Next::Step::kSendAgain:
      job.preference = {.preferred = &job.lease.endpoint()};
      return attempt(std::move(job));
    case Exchange::Next::Step::kElsewhere:
      job.preference = {.avoided = &job.lease.endpoint()};
      return attempt(std::move(job));
    case Exchange::Next::Step::kLeaveOut:
      return leave_out(std::move(job), std::move(next.error));
    case Exchange::Next::Step::kFailed:
      if (is_answered && is_retryable(next.error.code)) {
        metrics_.on_attempt_failed(next.error.code);
      }
      if (reach == Reach::kNowhere && may_move(job, next.error)) return move(std::move(job));
      return retry_or_fail(std::move(job), std::move(next), reach);
  }
}

/// Whether an attempt that no server has seen may be made at another endpoint at once. That is not
/// a retry, since it adds no load anywhere.
bool RetryRunner::may_move(const Job& job, const Error& error) const {
  // kConfig: the endpoint's certificate is not trusted.
  const bool is_its_fault =
      error.code == ErrorCode::kUnreachable || error.code == ErrorCode::kConfig;
  return is_its_fault && job.moves + 1 < endpoints_.size() &&
         endpoints_.has_other_alive(job.lease.endpoint(), job.excluded);
}

void RetryRunner::move(Job job) {
  ++job.moves;
  job.preference = {.avoided = &job.lease.endpoint()};
  attempt(std::move(job));
}

/// This ends, since each time there is one endpoint less.
void RetryRunner::leave_out(Job job, Error error) {
  if (!endpoints_.has_other_alive(job.lease.endpoint(), job.excluded)) {
    return fail(std::move(job), std::move(error));
  }
  job.excluded.push_back(job.lease.endpoint().number);
  job.preference = {};
  attempt(std::move(job));
}

RetryRunner::Reach RetryRunner::reach_of(const HttpOutcome& outcome) {
  if (outcome || outcome.error().was_silent) return Reach::kTheServer;
  return outcome.error().may_have_reached_server ? Reach::kCutOff : Reach::kNowhere;
}

bool RetryRunner::is_expected_back(Reach reach, const Error& error) const {
  return reach != Reach::kTheServer && error.code == ErrorCode::kUnreachable &&
         was_answered_.load(std::memory_order_relaxed);
}

void RetryRunner::retry_or_fail(Job job, Exchange::Next next, Reach reach) {
  job.preference = {.avoided = &job.lease.endpoint()};
  if (!is_retryable(next.error.code)) return fail(std::move(job), std::move(next.error));
  // During shutdown the engine's timers run at once: an attempt that fails before it is sent, for
  // want of a token, would be repeated without a pause until its deadline.
  if (engine_.is_shutting_down()) {
    return fail(std::move(job), {ErrorCode::kCancelled, "the mount is going down"});
  }
  const bool is_outage = is_expected_back(reach, next.error);
  FailedAttempts& failed = job.failed;
  ++failed.made;
  failed.last_was_counted = !is_outage;
  if (failed.last_was_counted) ++failed.counted;
  const auto when =
      policy_.next_attempt(failed, clock_.now(), job.deadline, next.retry_after, jitter());
  if (!when) {
    next.error.detail += is_outage ? fmt::format(" (given up after {} attempts)", failed.made)
                                   : fmt::format(" (given up after {} of {} attempts)",
                                                 failed.counted, policy_.attempts_max);
    return fail(std::move(job), std::move(next.error));
  }
  // An attempt that no server has seen adds to no server's load.
  const bool is_free = is_outage && reach == Reach::kNowhere;
  if (!is_free && !budget_.try_spend()) {
    metrics_.retries_refused.add();
    next.error.detail +=
        " (not retried: too many requests fail, and retries would add to the load)";
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
