// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// Whether one endpoint does RDMA, learned from its answers, since no answer announces it
/// (s3rdmafs-protocol(7)). A "no" is believed for a while, so that not every request pays for it;
/// then one request tries again. Thread-safe.
class Capability {
 public:
  enum class State { kUnknown, kWorks, kDeclines, kRejectsTokens };

  /// How long a "no" is believed. Short enough that a server restarted with RDMA is found while its
  /// administrator still watches; one request in half a minute costs next to nothing.
  static constexpr std::chrono::seconds kProbeInterval{30};
  /// A server that does RDMA may still answer some requests in the body (cached or staged objects).
  /// This many in a row mean that it has stopped. Transfers shorter than any that went by RDMA do
  /// not count: some servers keep small objects where their NIC does not reach.
  static constexpr unsigned kBodyAnswersMax = 8;
  /// This many failed transfers in a row mean a broken fabric, not a lost request.
  static constexpr unsigned kFailuresMax = 3;

  explicit Capability(const Clock& clock) : clock_(clock) {}

  /// Whether this request, for `bytes`, should carry a token. Also true for the one request in each
  /// kProbeInterval that tests whether a "no" still holds.
  [[nodiscard]] bool should_try(std::uint64_t bytes);

  /// Whether should_try() would say yes, without being the request that tests a "no".
  [[nodiscard]] bool is_worth_trying(std::uint64_t bytes) const;

  void on_rdma_done(std::uint64_t bytes);
  /// The data came in the body, at no extra cost. Says nothing about longer transfers.
  void on_body_answer(std::uint64_t bytes);
  void on_declined();         ///< the request has to be sent again without a token
  void on_transfer_failed();  ///< the server tried, and it or the fabric failed
  void on_token_rejected();   ///< a fault of configuration
  [[nodiscard]] State state() const;

 private:
  static constexpr std::uint64_t kAnyLength = std::numeric_limits<std::uint64_t>::max();

  [[nodiscard]] bool is_believed(std::uint64_t bytes) const REQUIRES(mutex_);
  /// @param up_to_bytes  the longest transfer for which that is known
  void give_up(State state, std::uint64_t up_to_bytes = kAnyLength) REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;  // leaf
  State state_ GUARDED_BY(mutex_) = State::kUnknown;
  std::uint64_t no_up_to_bytes_ GUARDED_BY(mutex_) = kAnyLength;  // the "no" of state_
  std::uint64_t rdma_bytes_min_ GUARDED_BY(mutex_) = kAnyLength;  // the shortest by RDMA
  unsigned body_answers_ GUARDED_BY(mutex_) = 0;                  // in a row
  unsigned failures_ GUARDED_BY(mutex_) = 0;                      // in a row
  std::chrono::steady_clock::time_point probe_at_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::s3
