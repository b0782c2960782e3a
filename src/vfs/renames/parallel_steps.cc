// SPDX-License-Identifier: Apache-2.0
// One thread at a time begins steps, in a loop: a step that answers at once must not begin the next
// one on top of its own stack, of which there may be a hundred thousand.
#include "vfs/renames/parallel_steps.h"

#include <memory>
#include <utility>

#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::vfs {
namespace {

class ParallelSteps : public std::enable_shared_from_this<ParallelSteps> {
 public:
  ParallelSteps(std::size_t count, std::size_t width,
                std::move_only_function<void(std::size_t, Done<void>)> step, Done<void> done)
      : count_(count), width_(width), step_(std::move(step)), done_(std::move(done)) {}

  void begin_steps() {
    {
      const MutexLock lock(mutex_);
      if (std::exchange(is_beginning_, true)) return;  // that thread looks again
    }
    for (;;) {
      switch (take_next()) {
        case Next::kStep:
          step_(current_, [self = shared_from_this()](Result<void> outcome) {
            self->on_step_ended(std::move(outcome));
          });
          break;
        case Next::kNothing:
          return;
        case Next::kEnd:
          return done_(take_outcome());
      }
    }
  }

 private:
  enum class Next { kStep, kNothing, kEnd };

  /// After kNothing and kEnd the next thread may begin steps. All is decided under one lock:
  /// between two, the last step under way could end, and those that have not begun be forgotten.
  Next take_next() {
    const MutexLock lock(mutex_);
    const bool has_more = next_ < count_ && outcome_;
    if (has_more && active_ < width_) {
      current_ = next_++;
      ++active_;
      return Next::kStep;
    }
    is_beginning_ = false;
    if (has_more || active_ > 0 || std::exchange(has_ended_, true)) return Next::kNothing;
    return Next::kEnd;
  }

  Result<void> take_outcome() {
    const MutexLock lock(mutex_);
    return std::move(outcome_);
  }

  void on_step_ended(Result<void> outcome) {
    {
      const MutexLock lock(mutex_);
      --active_;
      if (!outcome && outcome_) outcome_ = std::move(outcome);
    }
    begin_steps();
  }

  const std::size_t count_;
  const std::size_t width_;
  std::move_only_function<void(std::size_t, Done<void>)> step_;
  Done<void> done_;
  std::size_t current_ = 0;  ///< of the thread that begins steps

  Mutex mutex_;  // leaf
  std::size_t next_ GUARDED_BY(mutex_) = 0;
  std::size_t active_ GUARDED_BY(mutex_) = 0;
  bool is_beginning_ GUARDED_BY(mutex_) = false;
  bool has_ended_ GUARDED_BY(mutex_) = false;
  Result<void> outcome_ GUARDED_BY(mutex_);
};

}  // namespace

void run_in_parallel(std::size_t count, std::size_t width,
                     std::move_only_function<void(std::size_t, Done<void>)> step, Done<void> done) {
  std::make_shared<ParallelSteps>(count, width, std::move(step), std::move(done))->begin_steps();
}

}  // namespace s3rdmafs::vfs
