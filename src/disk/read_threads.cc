// SPDX-License-Identifier: Apache-2.0
#include "disk/read_threads.h"

#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::disk {

ReadThreads::ReadThreads(const Clock& clock, Options options) : clock_(clock), options_(options) {
  for (unsigned i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this, i] {
      set_thread_name(fmt::format("disk-read-{}", i));
      run();
    });
  }
  threads_.emplace_back([this, first_look = clock_.now() + options_.patience] {
    set_thread_name("disk-late");
    watch(first_look);
  });
}

ReadThreads::~ReadThreads() { finish(); }

bool ReadThreads::try_post(Job& job) {
  {
    const MutexLock lock(mutex_);
    if (finishing_ || queue_.size() >= options_.queue_max) return false;
    queue_.push_back({.job = std::move(job), .since = clock_.now()});
  }
  wake_.notify_one();
  return true;
}

std::vector<ReadThreads::Waiting> ReadThreads::take_late(
    std::chrono::steady_clock::time_point since_before) {
  std::vector<Waiting> late;
  const MutexLock lock(mutex_);
  while (!queue_.empty() && queue_.front().since < since_before) {
    late.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return late;
}

void ReadThreads::finish() {
  {
    const MutexLock lock(mutex_);
    finishing_ = true;
  }
  wake_.notify_all();
  ending_.notify_all();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  for (Waiting& waiting : take_late(std::chrono::steady_clock::time_point::max())) {
    waiting.job(nullptr);
  }
}

void ReadThreads::run() {
  Scratch scratch;
  for (;;) {
    Waiting taken;
    {
      // Only a bound for the wait; nothing happens at its end.
      constexpr std::chrono::seconds kTick{1};
      const MutexLock lock(mutex_);
      while (queue_.empty() && !finishing_) {
        clock_.wait_until(wake_, mutex_, clock_.now() + kTick);
      }
      if (finishing_) return;
      taken = std::move(queue_.front());
      queue_.pop_front();
    }
    taken.job(taken.since < late_before() ? nullptr : &scratch);
  }
}

// Never touches the disk.
void ReadThreads::watch(Deadline next_look) {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      while (!finishing_ && clock_.wait_until(ending_, mutex_, next_look)) {
      }
      if (finishing_) return;
    }
    for (Waiting& waiting : take_late(late_before())) waiting.job(nullptr);
    next_look = clock_.now() + options_.patience;
  }
}

}  // namespace s3rdmafs::disk
