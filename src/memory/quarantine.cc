// SPDX-License-Identifier: Apache-2.0
#include "memory/quarantine.h"

#include <chrono>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::memory {

Quarantine::Quarantine(Arena& arena, std::string thread_name,
                       std::function<void(std::uint32_t)> on_fenced, std::function<void()> on_tick)
    : arena_(arena),
      thread_name_(std::move(thread_name)),
      on_fenced_(std::move(on_fenced)),
      on_tick_(std::move(on_tick)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Quarantine::~Quarantine() {
  thread_.request_stop();
  {
    const MutexLock lock(mutex_);
    added_ = true;
  }
  wake_.notify_all();
}

void Quarantine::fence_later(std::uint32_t slab) {
  {
    const MutexLock lock(mutex_);
    waiting_.insert(slab);
    added_ = true;
  }
  wake_.notify_all();
}

std::set<std::uint32_t> Quarantine::wait_for_work() {
  constexpr std::chrono::seconds kTick{1};
  const auto deadline = std::chrono::steady_clock::now() + kTick;
  const MutexLock lock(mutex_);
  while (!added_ && wake_.wait_until(mutex_, deadline)) {
  }
  added_ = false;
  return std::exchange(waiting_, {});
}

void Quarantine::run(const std::stop_token& stop) {
  set_thread_name(thread_name_);
  while (!stop.stop_requested()) {
    for (const std::uint32_t slab : wait_for_work()) {
      if (auto renewed = arena_.region(slab).fence()) {
        on_fenced_(slab);
      } else {
        spdlog::debug("{}: slab {} stays in quarantine: {}", thread_name_, slab,
                      renewed.error().detail);
        const MutexLock lock(mutex_);
        waiting_.insert(slab);  // without waking: tried again at the next tick
      }
    }
    on_tick_();
  }
}

}  // namespace s3rdmafs::memory
