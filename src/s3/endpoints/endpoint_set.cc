// SPDX-License-Identifier: Apache-2.0
//
// Why outstanding bytes. They grow if a server is slow, whatever the reason, so its speed need not
// be known. A count of requests would make a listing equal to 8 MiB.
//
// Why real requests as probes. A server that answers a special probe may still fail real requests.
// The request that finds it dead goes to another server at once (RetryRunner).
//
// Cost. A loop over the few servers under one lock; no lock with one server.
#include "s3/endpoints/endpoint_set.h"

#include <algorithm>

namespace s3rdmafs::s3 {
namespace {

bool contains(std::span<const std::size_t> endpoints, std::size_t endpoint) {
  return std::ranges::find(endpoints, endpoint) != endpoints.end();
}

}  // namespace

EndpointSet::EndpointSet(std::size_t count, const Clock& clock)
    : clock_(clock), count_(count), servers_(count) {}

std::size_t EndpointSet::begin(std::uint64_t bytes, const Preference& preference) {
  if (count_ == 1) return 0;
  const MutexLock lock(mutex_);
  const std::size_t chosen = choose(preference);
  Server& server = servers_.at(chosen);
  server.outstanding_bytes += kRequestBytes + bytes;
  if (server.state == State::kDead && clock_.now() >= server.probe_at) {
    server.state = State::kProbing;
  }
  return chosen;
}

std::size_t EndpointSet::choose(const Preference& preference) {
  const auto is_alive = [&](std::size_t at) REQUIRES(mutex_) {
    return servers_.at(at).state == State::kAlive && !contains(preference.excluded, at);
  };
  if (preference.preferred && is_alive(*preference.preferred)) return *preference.preferred;
  if (const auto probe = due_probe(preference)) return *probe;
  std::optional<std::size_t> best;
  const std::size_t first = next_++;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t at = (first + i) % count_;
    if (!is_alive(at) || at == preference.avoided) continue;
    if (!best || load_of(servers_.at(at)) < load_of(servers_.at(*best))) best = at;
  }
  if (best) return *best;
  if (preference.avoided && is_alive(*preference.avoided)) return *preference.avoided;
  return least_recently_failed(preference);
}

std::optional<std::size_t> EndpointSet::due_probe(const Preference& preference) const {
  const auto now = clock_.now();
  for (std::size_t at = 0; at < count_; ++at) {
    const Server& server = servers_.at(at);
    if (at == preference.avoided || contains(preference.excluded, at)) continue;
    if (server.state == State::kDead && now >= server.probe_at) return at;
  }
  return std::nullopt;
}

std::uint64_t EndpointSet::load_of(Server& server) {
  if (server.given_up_bytes > 0 && clock_.now() >= server.given_up_until) server.given_up_bytes = 0;
  return server.outstanding_bytes + server.given_up_bytes;
}

std::size_t EndpointSet::least_recently_failed(const Preference& preference) const {
  std::optional<std::size_t> oldest;
  for (std::size_t at = 0; at < count_; ++at) {
    if (contains(preference.excluded, at)) continue;
    if (!oldest || servers_.at(at).failed_at < servers_.at(*oldest).failed_at) oldest = at;
  }
  return oldest.value_or(0);
}

std::optional<EndpointSet::State> EndpointSet::end(std::size_t endpoint, std::uint64_t bytes,
                                                   Outcome outcome) {
  if (count_ == 1 && !is_failure(outcome) && is_spotless_.load(std::memory_order_relaxed))
    return {};
  const MutexLock lock(mutex_);
  Server& server = servers_.at(endpoint);
  if (count_ > 1) server.outstanding_bytes -= kRequestBytes + bytes;
  const State before = server.state;
  const bool is_slow_probe = outcome == Outcome::kGivenUp && before == State::kProbing;
  if (is_failure(outcome) || is_slow_probe) {
    note_failure(server, outcome);
  } else if (outcome == Outcome::kAnswered) {
    server.state = State::kAlive;
    server.failures = 0;
    server.pause = kPauseFirst;
  } else if (before == State::kProbing) {
    server.state = State::kDead;  // this request told nothing: the next one probes
  }
  if (outcome == Outcome::kGivenUp) {
    server.given_up_bytes += kRequestBytes + bytes;
    server.given_up_until = clock_.now() + kGivenUpTime;
  }
  is_spotless_.store(server.state == State::kAlive && server.failures == 0,
                     std::memory_order_relaxed);
  if ((before == State::kAlive) == (server.state == State::kAlive)) return std::nullopt;
  return server.state;
}

bool EndpointSet::is_failure(Outcome outcome) {
  return outcome == Outcome::kServerError || outcome == Outcome::kNoAnswer ||
         outcome == Outcome::kNotReached;
}

// Requests that were in flight when the server died fail after that and tell nothing new. Only the
// probe makes the next pause longer.
void EndpointSet::note_failure(Server& server, Outcome outcome) {
  const auto now = clock_.now();
  server.failed_at = now;
  ++server.failures;
  const bool is_dead = outcome == Outcome::kNotReached || server.failures >= kFailuresMax;
  if (server.state == State::kProbing) {
    server.pause = std::min(server.pause * 2, kPauseMax);
  } else if (server.state != State::kAlive || !is_dead) {
    return;
  }
  server.state = State::kDead;
  server.probe_at = now + server.pause;
}

bool EndpointSet::has_other_alive(std::size_t endpoint,
                                  std::span<const std::size_t> excluded) const {
  if (count_ == 1) return false;
  const MutexLock lock(mutex_);
  for (std::size_t at = 0; at < count_; ++at) {
    if (at == endpoint || contains(excluded, at)) continue;
    if (servers_.at(at).state == State::kAlive) return true;
  }
  return false;
}

EndpointSet::State EndpointSet::state(std::size_t endpoint) const {
  const MutexLock lock(mutex_);
  return servers_.at(endpoint).state;
}

}  // namespace s3rdmafs::s3
