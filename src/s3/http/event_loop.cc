// SPDX-License-Identifier: Apache-2.0
//
// A request is sent, answered, retried and completed on one thread, so it needs neither locks nor
// hand-overs. Other threads reach the loop by its queue of posted tasks only.
//
// Stopping. The flag and the queue share a lock: a task is either accepted before the flag is set,
// and then runs, or refused. After that only the loop itself can add work, and that fails at once
// (HttpReactor::submit). So the loop runs out of work and ends.
#include "s3/http/event_loop.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::s3 {
namespace {

/// Wake-ups and timers end a wait sooner. This only bounds the cost of a lost wake-up.
constexpr std::chrono::milliseconds kPollMax{1000};

}  // namespace

EventLoop::EventLoop(const Clock& clock, unsigned number, unsigned connections_kept, Hooks hooks)
    : clock_(clock), hooks_(std::move(hooks)), multi_(curl_multi_init()) {
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(connections_kept));
  thread_ = std::thread([this, number] {
    set_thread_name("s3-event-" + std::to_string(number));
    thread_id_.store(std::this_thread::get_id(), std::memory_order_release);
    run();
    thread_id_.store({}, std::memory_order_release);  // the next thread may get the same id
  });
}

EventLoop::~EventLoop() {
  request_stop();
  join();
}

bool EventLoop::post(Task& task) {
  bool is_asleep = false;
  {
    const MutexLock lock(mutex_);
    if (is_stopping()) return false;
    posted_.push_back(std::move(task));
    // The first post wakes the loop for all posts until the loop reads the queue.
    is_asleep = std::exchange(is_asleep_, false);
  }
  if (is_asleep) curl_multi_wakeup(multi_.get());
  return true;
}

bool EventLoop::is_current_thread() const {
  return thread_id_.load(std::memory_order_acquire) == std::this_thread::get_id();
}

void EventLoop::request_stop() {
  {
    const MutexLock lock(mutex_);
    is_stopping_.store(true, std::memory_order_release);
  }
  curl_multi_wakeup(multi_.get());
}

void EventLoop::join() {
  if (thread_.joinable()) thread_.join();
}

EventLoop::TimerId EventLoop::call_at(std::chrono::steady_clock::time_point when, Task task) {
  return timers_.emplace(when, std::move(task));
}

void EventLoop::cancel(TimerId timer) { timers_.erase(timer); }

void EventLoop::run() {
  while (true) {
    // Read before the queue: the last round must run all that was posted before the stop.
    const bool is_last_round = is_stopping();
    run_posted();
    run_timers();
    run_transfers();
    if (is_last_round) {
      hooks_.on_stop();
      if (timers_.empty() && !has_posted()) return;
      continue;
    }
    if (may_sleep()) {
      curl_multi_poll(multi_.get(), nullptr, 0, poll_timeout_ms(), nullptr);
    }
  }
}

void EventLoop::run_posted() {
  std::vector<Task> tasks;
  {
    const MutexLock lock(mutex_);
    is_asleep_ = false;
    tasks.swap(posted_);
  }
  for (Task& task : tasks) task();
}

void EventLoop::run_timers() {
  const auto now = clock_.now();
  while (!timers_.empty() && (is_stopping() || timers_.begin()->first <= now)) {
    // Taken out of the map before it runs, since it may set or cancel other timers.
    auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
}

void EventLoop::run_transfers() {
  int running = 0;
  curl_multi_perform(multi_.get(), &running);
  int queued = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &queued)) {
    if (message->msg != CURLMSG_DONE) continue;
    // Copied, since removing the handle destroys the message.
    CURL* easy = message->easy_handle;
    const CURLcode code = message->data.result;
    hooks_.on_transfer_done(easy, code);
  }
}

bool EventLoop::may_sleep() {
  const MutexLock lock(mutex_);
  is_asleep_ = posted_.empty();
  return is_asleep_;
}

bool EventLoop::has_posted() {
  const MutexLock lock(mutex_);
  return !posted_.empty();
}

int EventLoop::poll_timeout_ms() const {
  auto wait = kPollMax;
  if (!timers_.empty()) {
    const auto until = timers_.begin()->first - clock_.now();
    wait = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(until),
                      std::chrono::milliseconds(0), kPollMax);
  }
  return static_cast<int>(wait.count());
}

}  // namespace s3rdmafs::s3
