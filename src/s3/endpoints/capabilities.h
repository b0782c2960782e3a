// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "s3/endpoints/capability.h"
#include "s3/endpoints/transfer_kind.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

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
