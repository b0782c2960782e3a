// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "s3/object_writer.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// The requests that can carry a condition on the key that they change. Servers learned them one
/// after the other, so each is judged by itself.
enum class ConditionKind { kPut, kCompleteUpload, kCopy, kDelete, kRename };

/// Whether one endpoint compares the conditions of requests that change a key. An answer of success
/// says nothing, since some servers ignore the headers in silence. So the key's state is asked for
/// by HEAD before each such request until the endpoint is known to compare: by its answer to a
/// probe, or by an HTTP 412. Some servers know If-None-Match only, which came first, so both
/// headers are judged one by one. Valid for as long as the mount lives. Thread-safe.
class ConditionSupport {
 public:
  using Header = Precondition::Kind;  ///< kAbsent or kMatches

  /// Whether the header may be trusted, so that no HEAD is needed.
  [[nodiscard]] bool compares(ConditionKind kind, Header header) const;
  /// Whether the header must not be sent: the endpoint refused a request because of it.
  [[nodiscard]] bool refuses(ConditionKind kind, Header header) const;

  /// True for one caller, which probes If-Match and tells the finding by one of the functions
  /// below. Others do not wait for it. Always false for kinds that have no harmless probe: all but
  /// kPut.
  [[nodiscard]] bool begin_probe(ConditionKind kind);

  /// If-Match: then it compares If-None-Match too.
  void on_compared(ConditionKind kind, Header header);
  void on_ignored(ConditionKind kind, Header header);
  void on_refused(ConditionKind kind, Header header);
  void on_probe_lost(ConditionKind kind);  ///< no finding: another may probe

 private:
  enum class State { kUnknown, kProbing, kCompares, kIgnores, kRefuses };
  struct States {
    State absent = State::kUnknown;
    State matches = State::kUnknown;
  };

  [[nodiscard]] State state(ConditionKind kind, Header header) const;
  void enter(ConditionKind kind, Header header, State state);

  mutable Mutex mutex_;  // leaf
  std::array<States, 5> states_ GUARDED_BY(mutex_){};
};

}  // namespace s3rdmafs::s3
