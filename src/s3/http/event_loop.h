// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <curl/curl.h>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// One thread around one curl_multi: transfers, timers, and tasks that other threads hand in.
/// Members marked [loop] may be used on the loop's own thread only.
class EventLoop {
 public:
  using Task = std::move_only_function<void()>;
  using Timers = std::multimap<std::chrono::steady_clock::time_point, Task>;
  using TimerId = Timers::iterator;

  /// The owner's callbacks; both run on the loop's thread and may use all of [loop].
  struct Hooks {
    std::move_only_function<void(CURL*, CURLcode)> on_transfer_done;
    /// Ends every transfer. May be called several times after is_stopping() has become true.
    std::move_only_function<void()> on_stop;
  };

  /// Starts the thread, "s3-event-N". Borrows the clock.
  /// @param connections_kept  how many stay open between transfers
  EventLoop(const Clock& clock, unsigned number, unsigned connections_kept, Hooks hooks);
  /// Stops and joins.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Any thread. Wakes the loop only if it sleeps, since a wake-up costs three system calls. False
  /// once the loop is stopping; then `task` is unchanged.
  [[nodiscard]] bool post(Task& task);
  [[nodiscard]] bool is_current_thread() const;
  [[nodiscard]] bool is_stopping() const { return is_stopping_.load(std::memory_order_acquire); }

  /// Any thread but the loop's own. From here on the loop accepts no task, and timers run at once,
  /// so that their owners see the stop.
  void request_stop();
  /// Returns when the last task has run.
  void join();

  [[nodiscard]] TimerId call_at(std::chrono::steady_clock::time_point when, Task task);  // [loop]
  void cancel(TimerId timer);                                                            // [loop]
  [[nodiscard]] CURLM* multi() { return multi_.get(); }                                  // [loop]

 private:
  struct MultiCleanup {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
  };

  void run();
  void run_posted();
  void run_timers();
  void run_transfers();
  [[nodiscard]] bool has_posted();
  [[nodiscard]] bool may_sleep();
  [[nodiscard]] int poll_timeout_ms() const;

  const Clock& clock_;
  Hooks hooks_;
  std::unique_ptr<CURLM, MultiCleanup> multi_;
  std::atomic<std::thread::id> thread_id_;
  std::atomic<bool> is_stopping_{false};  // written under mutex_, so that post() and it agree

  Mutex mutex_;  // lock order 4
  std::vector<Task> posted_ GUARDED_BY(mutex_);
  bool is_asleep_ GUARDED_BY(mutex_) = false;  ///< or about to be; a task must wake it

  Timers timers_;       // [loop]
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace s3rdmafs::s3
