// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// Whether one endpoint does RDMA, learned from its answers: nothing announces it
/// (s3rdmafs-protocol(7)). A "no" is believed for a while, so that it is paid for once and not by
/// every request; then one request tries again. Thread-safe.
class Capability {
 public:
  enum class State { kUnknown, kWorks, kDeclines, kRejectsTokens };

  /// How long a "no" is believed. Short enough that a server restarted with RDMA is found while its
  /// administrator still watches; one request in half a minute costs nothing.
  static constexpr std::chrono::seconds kProbeInterval{30};
  /// A server that works may still answer some requests in the body (cached or staged objects). So
  /// many in a row mean that it has stopped. Shorter ones than ever went by RDMA do not count: some
  /// servers keep small objects where their NIC does not reach.
  static constexpr unsigned kBodyAnswersMax = 8;
  /// So many failed transfers in a row mean a broken fabric, not a lost request.
  static constexpr unsigned kFailuresMax = 3;

  explicit Capability(const Clock& clock) : clock_(clock) {}

  /// Whether this request, for `bytes`, should carry a token. True also for the one request in
  /// kProbeInterval that finds out whether a "no" still holds.
  [[nodiscard]] bool should_try(std::uint64_t bytes);

  /// Whether should_try() would say yes; takes nobody's turn.
  [[nodiscard]] bool is_worth_trying(std::uint64_t bytes) const;

  void on_rdma_done(std::uint64_t bytes);
  /// The data came by HTTP, at no extra cost. Says nothing about longer transfers.
  void on_body_answer(std::uint64_t bytes);
  void on_declined();         ///< the request has to be sent again without a token
  void on_transfer_failed();  ///< the server tried; the fabric failed, or the server did
  void on_token_rejected();   ///< configuration fault
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

/// The operations that move an object's bytes. A server may do one by RDMA and not another:
/// versitygw has no UploadPart (s3rdmafs-protocol(7)).
enum class TransferKind { kGet, kPut, kUploadPart };

/// What one endpoint can do, learned for each kind.
class Capabilities {
 public:
  /// How long a server that takes neither parts nor whole objects by token is not asked again: that
  /// is how it was built, and a probe stores an object.
  static constexpr std::chrono::seconds kRefusalTime{15 * 60};

  explicit Capabilities(const Clock& clock)
      : clock_(clock), get_(clock), put_(clock), upload_part_(clock) {}

  [[nodiscard]] Capability& of(TransferKind kind) {
    if (kind == TransferKind::kGet) return get_;
    return kind == TransferKind::kPut ? put_ : upload_part_;
  }

  /// Whether the endpoint is known to read our memory. Only then may a whole object go by token: a
  /// server that ignores tokens takes that for an empty object and destroys what was there.
  [[nodiscard]] bool is_known_to_read() const {
    return !has_spoiled() && (put_.state() == Capability::State::kWorks ||
                              upload_part_.state() == Capability::State::kWorks);
  }

  /// HTTP 501 for a part with a token: this server may still take whole objects (versitygw).
  void on_parts_refused();
  /// A probe of a whole object ended without a yes, which is believed for so long.
  void on_whole_puts_refused(std::chrono::seconds how_long);
  [[nodiscard]] bool should_probe_whole_puts() const;
  [[nodiscard]] bool refuses_whole_puts() const;

  /// A whole object was stored wrong. That is once too often: none goes by token any more, for as
  /// long as this lives.
  void on_spoiled() { has_spoiled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool has_spoiled() const { return has_spoiled_.load(std::memory_order_relaxed); }

  /// A whole object was stored with other bytes than those it was to be read from, and the server
  /// said that all was well: nothing is stored by token any more, parts included.
  void on_stored_wrong() {
    on_spoiled();
    stores_wrong_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool stores_wrong() const { return stores_wrong_.load(std::memory_order_relaxed); }

 private:
  const Clock& clock_;
  Capability get_;
  Capability put_;
  Capability upload_part_;
  std::atomic<bool> has_spoiled_{false};
  std::atomic<bool> stores_wrong_{false};

  mutable Mutex mutex_;  // leaf
  bool refuses_parts_ GUARDED_BY(mutex_) = false;
  std::optional<std::chrono::steady_clock::time_point> whole_puts_refused_until_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::s3
