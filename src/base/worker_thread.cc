// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/worker_thread.h"

#include <utility>

#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs {

WorkerThread::WorkerThread(std::string name, const Clock& clock, std::function<void()> on_tick)
    : name_(std::move(name)), clock_(clock), on_tick_(std::move(on_tick)) {
  // The first second begins now, not when the thread has come to run.
  thread_ = std::jthread([this, first_tick = clock_.now() + kTick] { run(first_tick); });
}

WorkerThread::~WorkerThread() { finish(); }

bool WorkerThread::post(Job job) {
  {
    const MutexLock lock(mutex_);
    if (ended_) return false;
    jobs_.push_back(std::move(job));
  }
  wake_.notify_all();
  return true;
}

void WorkerThread::finish() {
  {
    const MutexLock lock(mutex_);
    finishing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool WorkerThread::is_finishing() const {
  const MutexLock lock(mutex_);
  return finishing_;
}

// Empty where no job comes by the deadline, and at the end.
std::deque<WorkerThread::Job> WorkerThread::wait_for_work(Deadline deadline) {
  const MutexLock lock(mutex_);
  while (jobs_.empty() && !finishing_ && clock_.wait_until(wake_, mutex_, deadline)) {
  }
  return std::exchange(jobs_, {});
}

void WorkerThread::run(Deadline next_tick) {
  set_thread_name(name_);
  for (;;) {
    std::deque<Job> jobs = wait_for_work(next_tick);
    for (Job& job : jobs) job();
    if (jobs.empty()) {
      const MutexLock lock(mutex_);
      ended_ = finishing_ && jobs_.empty();
      if (ended_) return;
    }
    if (clock_.now() < next_tick) continue;
    on_tick_();
    next_tick = clock_.now() + kTick;
  }
}

}  // namespace s3rdmafs
