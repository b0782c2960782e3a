// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::vfs {

/// Orders the work on one file: some work runs side by side, other work alone. Work that has to
/// wait does so without a thread, in order of arrival, and runs on the thread that ends the work
/// before it. Thread-safe.
class Turns {
 public:
  using Work = std::move_only_function<void()>;

  /// Runs the work, now or later, beside other shared work; end() ends it.
  void share(Work work) { take({std::move(work), /*is_alone=*/false}); }
  /// Runs the work, now or later, while no other runs; end() ends it.
  void alone(Work work) { take({std::move(work), /*is_alone=*/true}); }
  /// True: the caller's shared work runs now, and end() ends it. False: it would have to wait.
  [[nodiscard]] bool try_share();
  /// Work has ended. Runs what may run now.
  void end();

  /// Whether work runs alone, or waits for that.
  [[nodiscard]] bool is_held() const;

 private:
  struct Turn {
    Work work;
    bool is_alone = false;
  };

  void take(Turn turn);
  /// The next work that waits and may run; nothing: the next end() looks again.
  [[nodiscard]] std::optional<Work> take_next();
  [[nodiscard]] bool may_run(const Turn& turn) const REQUIRES(mutex_);
  void begin(const Turn& turn) REQUIRES(mutex_);

  mutable Mutex mutex_;  // leaf
  std::size_t shared_ GUARDED_BY(mutex_) = 0;
  bool is_alone_ GUARDED_BY(mutex_) = false;
  bool is_beginning_ GUARDED_BY(mutex_) = false;  ///< a thread runs what waited
  std::deque<Turn> waiting_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
