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

/// The RDMA abilities of one endpoint, learned for each kind of transfer. Thread-safe.
class Capabilities {
 public:
  /// How long a server that takes neither parts nor whole objects by token is not asked again: a
  /// server is built that way, and a probe stores an object.
  static constexpr std::chrono::seconds kRefusalTime{15 * 60};

  /// Borrows the clock.
  explicit Capabilities(const Clock& clock)
      : clock_(clock), get_(clock), put_(clock), upload_part_(clock) {}

  [[nodiscard]] Capability& of(TransferKind kind) {
    if (kind == TransferKind::kGet) return get_;
    return kind == TransferKind::kPut ? put_ : upload_part_;
  }

  /// Whether the endpoint is known to read our memory. Only then may a whole object go by token: a
  /// server that ignores tokens takes the PUT for one of an empty object and destroys what was
  /// there.
  [[nodiscard]] bool is_known_to_read() const {
    return !has_unconfirmed_put() && (put_.state() == Capability::State::kWorks ||
                                      upload_part_.state() == Capability::State::kWorks);
  }

  /// HTTP 501 for a part with a token: this server may still take whole objects (versitygw).
  void on_parts_refused();
  /// A probe of a whole object did not succeed; none is made for `how_long`.
  void on_whole_puts_refused(std::chrono::seconds how_long);
  [[nodiscard]] bool should_probe_whole_puts() const;
  [[nodiscard]] bool refuses_whole_puts() const;

  /// The server reported that a whole object was stored, but not that it had read the bytes. Once
  /// is enough: no whole object goes by token any more, as long as this lives.
  void on_unconfirmed_put() { has_unconfirmed_put_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool has_unconfirmed_put() const {
    return has_unconfirmed_put_.load(std::memory_order_relaxed);
  }

  /// The server reported success for an object whose bytes turned out to be others: nothing is
  /// stored by token any more, parts included.
  void on_wrong_bytes() {
    on_unconfirmed_put();
    stores_wrong_bytes_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool stores_wrong_bytes() const {
    return stores_wrong_bytes_.load(std::memory_order_relaxed);
  }

 private:
  const Clock& clock_;
  Capability get_;
  Capability put_;
  Capability upload_part_;
  std::atomic<bool> has_unconfirmed_put_{false};
  std::atomic<bool> stores_wrong_bytes_{false};

  mutable Mutex mutex_;  // leaf
  bool refuses_parts_ GUARDED_BY(mutex_) = false;
  std::optional<std::chrono::steady_clock::time_point> whole_puts_refused_until_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::s3
