// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "credentials/key_source.h"
#include "s3/wire/credentials.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::credentials {

/// Keys that end, or that their source may replace: gets new ones ahead of their end, on a thread
/// of its own. get() answers from memory. Thread-safe.
class RotatingCredentials final : public s3::CredentialSource {
 public:
  /// How often a source is asked whether it has others, and the time of day is looked at.
  static constexpr std::chrono::seconds kLook{5};
  /// New keys are asked for so long before the end, or in the last quarter of their time.
  static constexpr std::chrono::minutes kAheadMax{10};
  /// After a failure the next attempt comes after the first of these, then after twice as long. A
  /// source that gives the same keys again is asked again after an eighth of the time that is left,
  /// within these bounds.
  static constexpr std::chrono::seconds kRetryMin{1};
  static constexpr std::chrono::seconds kRetryMax{30};

  /// Starts with these keys, which the source gave just now. Borrows the clock and the metrics.
  /// @param origin  for the log
  RotatingCredentials(std::unique_ptr<KeySource> source, FetchedKeys first, std::string origin,
                      const Clock& clock, metrics::Registry& metrics);
  /// Waits for a fetch that is under way.
  ~RotatingCredentials() override = default;

  /// Errors: kNoCredentials: the keys have ended, and no new ones came.
  [[nodiscard]] Result<s3::Credentials> get() override EXCLUDES(mutex_);

 private:
  using Time = std::chrono::system_clock::time_point;

  void run(const std::stop_token& stop);
  /// Waits until `time`, a call that found ended keys, or the end of the thread.
  void wait(const std::stop_token& stop, Deadline time) EXCLUDES(mutex_);
  void fetch(const std::stop_token& stop);
  /// Whether they are others than before.
  bool take(FetchedKeys fetched) EXCLUDES(mutex_);
  void on_failure(Error error) EXCLUDES(mutex_);
  /// When the keys are to be replaced; nothing: not because of their end.
  [[nodiscard]] std::optional<Time> renewal_time() const EXCLUDES(mutex_);

  const std::unique_ptr<KeySource> source_;  // the thread's own
  const std::string origin_;
  const Clock& clock_;
  metrics::Counter& renewals_;
  metrics::Counter& failures_;
  metrics::Gauge& end_;

  // The thread's own.
  Deadline not_before_{};  // the next attempt
  std::chrono::seconds retry_{kRetryMin};
  std::string last_warning_;

  mutable Mutex mutex_;  // leaf
  CondVar wake_;
  FetchedKeys keys_ GUARDED_BY(mutex_);
  Time fetched_at_ GUARDED_BY(mutex_);
  std::string last_error_ GUARDED_BY(mutex_);  ///< since the last keys came; empty: none
  bool is_wanted_ GUARDED_BY(mutex_) = false;  ///< a call has found that they have ended

  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace s3rdmafs::credentials
