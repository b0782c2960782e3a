// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// The requests that can carry a condition on the key that they change. Servers learned them one
/// after the other, so each is judged by itself.
enum class ConditionKind { kPut, kCompleteUpload, kCopy, kDelete };

/// Whether one endpoint compares the conditions of requests that change a key. An answer of success
/// says nothing, since some servers ignore the headers in silence. So the key's state is asked for
/// by HEAD before each such request until the endpoint is known to compare: by its answer to a
/// probe, or by an HTTP 412. Valid for as long as the mount lives. Thread-safe.
class ConditionSupport {
 public:
  /// Whether the headers may be trusted, so that no HEAD is needed.
  [[nodiscard]] bool compares(ConditionKind kind) const;
  /// Whether the headers must not be sent: the endpoint refused a request because of them.
  [[nodiscard]] bool refuses(ConditionKind kind) const;

  /// True for one caller, which probes the endpoint and tells the finding by one of the functions
  /// below. Others do not wait for it. Always false for kinds that have no harmless probe: all but
  /// kPut.
  [[nodiscard]] bool begin_probe(ConditionKind kind);

  void on_compared(ConditionKind kind);
  void on_ignored(ConditionKind kind);
  void on_refused(ConditionKind kind);
  void on_probe_lost(ConditionKind kind);  ///< no finding: another may probe

 private:
  enum class State { kUnknown, kProbing, kCompares, kIgnores, kRefuses };

  [[nodiscard]] State state(ConditionKind kind) const;
  void enter(ConditionKind kind, State state);

  mutable Mutex mutex_;  // leaf
  std::array<State, 4> states_ GUARDED_BY(mutex_){};
};

}  // namespace s3rdmafs::s3
