// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// Which server of a store the next request goes to: of those alive the one with the fewest bytes
/// outstanding. A dead server gets only one request now and then, as a probe. This is the policy
/// alone, and servers are numbers here. Thread-safe.
class EndpointSet {
 public:
  /// The bytes that a request counts besides its own: as many as a 100 Gb/s rail carries in the
  /// 50 us that a small request takes.
  static constexpr std::uint64_t kRequestBytes = 512ULL * 1024;
  /// A server is dead after this many requests in a row without an answer, or with a 5xx. One or
  /// two may be a broken connection or a request that it cannot serve.
  static constexpr unsigned kFailuresMax = 3;
  /// The first pause before a dead server is tried again: about the time of a restart.
  static constexpr std::chrono::milliseconds kPauseFirst{500};
  /// The longest pause. A try may cost one request a connect time-out, which does not matter once
  /// in 15 s. An administrator who repairs a server still sees it being used again.
  static constexpr std::chrono::milliseconds kPauseMax{15'000};
  /// How long the bytes of a request that was given up as slow still count, since the server still
  /// works on it. Ten times the shortest time that counts as slow (HedgePolicy::kFloor).
  static constexpr std::chrono::milliseconds kGivenUpTime{500};

  enum class State {
    kAlive,
    kDead,
    kProbing,  ///< dead, and one request tests it
  };

  /// How a request ended, as far as that tells something about the server.
  enum class Outcome {
    kAnswered,
    kServerError,  ///< 5xx
    kNoAnswer,     ///< it was sent, and the connection broke or the time ran out
    kNotReached,   ///< refused, unreachable, not connected in time, or not trusted
    kGivenUp,      ///< slow: sent to another server
    kNothing,      ///< it was never sent, or cancelled
  };

  struct Preference {
    std::optional<std::size_t> preferred = {};  ///< taken if it is alive
    std::optional<std::size_t> avoided = {};    ///< taken only if no other is alive
    /// Never taken, since they cannot do it. Borrowed for the call; never all servers.
    std::span<const std::size_t> excluded = {};
  };

  /// Borrows the clock.
  /// @param count  of servers, at least 1
  EndpointSet(std::size_t count, const Clock& clock);

  /// Chooses, and counts the request as outstanding until end(). With one server it takes no lock.
  [[nodiscard]] std::size_t begin(std::uint64_t bytes, const Preference& preference);

  /// Returns the new state if it has changed between alive and dead.
  std::optional<State> end(std::size_t endpoint, std::uint64_t bytes, Outcome outcome);

  [[nodiscard]] bool has_other_alive(std::size_t endpoint,
                                     std::span<const std::size_t> excluded = {}) const;
  [[nodiscard]] State state(std::size_t endpoint) const;

 private:
  struct Server {
    State state = State::kAlive;
    std::uint64_t outstanding_bytes = 0;
    std::uint64_t given_up_bytes = 0;
    std::chrono::steady_clock::time_point given_up_until;
    unsigned failures = 0;  // in a row
    std::chrono::milliseconds pause = kPauseFirst;
    std::chrono::steady_clock::time_point failed_at;
    std::chrono::steady_clock::time_point probe_at;
  };

  [[nodiscard]] std::size_t choose(const Preference& preference) REQUIRES(mutex_);
  [[nodiscard]] std::optional<std::size_t> due_probe(const Preference& preference) const
      REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t load_of(Server& server) REQUIRES(mutex_);
  [[nodiscard]] std::size_t least_recently_failed(const Preference& preference) const
      REQUIRES(mutex_);
  static bool is_failure(Outcome outcome);
  void note_failure(Server& server, Outcome outcome) REQUIRES(mutex_);

  const Clock& clock_;
  const std::size_t count_;
  /// Whether the server that a request last ended at was alive and without failures. With one
  /// server this saves the lock.
  std::atomic<bool> is_spotless_{true};

  mutable Mutex mutex_;  // leaf
  std::vector<Server> servers_ GUARDED_BY(mutex_);
  std::size_t next_ GUARDED_BY(mutex_) = 0;  // where to begin looking, so that ties rotate
};

}  // namespace s3rdmafs::s3
