// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/probes/load.h"

#include "daemon/doctor/context.h"
#include "s3rdmafs/base/cpu_time.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::daemon::doctor {
namespace {

/// Counts the requests in flight and their outcomes.
class Flight {
 public:
  /// Waits until fewer than `in_flight_max` are in flight. False after a failure.
  [[nodiscard]] bool take_off(unsigned in_flight_max) {
    const MutexLock lock(mutex_);
    while (in_flight_ >= in_flight_max) changed_.wait_until(mutex_, next_look());
    if (failures_ > 0) return false;
    ++in_flight_;
    return true;
  }
  void land(bool is_good) {
    const MutexLock lock(mutex_);
    --in_flight_;
    ++(is_good ? good_ : failures_);
    changed_.notify_all();  // under the lock: the waiter may destroy this once it is released
  }
  /// Waits for all requests, each of which has a deadline.
  void wait() {
    const MutexLock lock(mutex_);
    while (in_flight_ > 0) changed_.wait_until(mutex_, next_look());
  }
  [[nodiscard]] unsigned good() const {
    const MutexLock lock(mutex_);
    return good_;
  }
  [[nodiscard]] unsigned failures() const {
    const MutexLock lock(mutex_);
    return failures_;
  }

 private:
  static Deadline next_look() { return std::chrono::steady_clock::now() + std::chrono::seconds(1); }

  mutable Mutex mutex_;  // leaf
  CondVar changed_;
  unsigned in_flight_ GUARDED_BY(mutex_) = 0;
  unsigned good_ GUARDED_BY(mutex_) = 0;
  unsigned failures_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

LoadResult run_load(Context& context, const ReadPath& path, Load load,
                    std::chrono::milliseconds time) {
  Flight flight;
  const auto begin = context.clock.now();
  const double cpu_before = process_cpu_seconds();
  const std::size_t places = path.memory.landing_bytes() / load.request_bytes;
  std::size_t number = 0;
  while (context.clock.now() < begin + time && flight.take_off(load.in_flight)) {
    const std::size_t offset = number++ % places * load.request_bytes;
    path.store.get({.key = context.object->key,
                    .etag = context.object->etag,
                    .offset_bytes = 0,
                    .window = path.memory.landing(load.request_bytes, offset)},
                   context.clock.now() + kQuestionTimeout,
                   [&flight](const GetResult& got) { flight.land(got.has_value()); });
  }
  flight.wait();
  return {.bytes = std::uint64_t{flight.good()} * load.request_bytes,
          .failures = flight.failures(),
          .seconds = std::chrono::duration<double>(context.clock.now() - begin).count(),
          .cpu_seconds = process_cpu_seconds() - cpu_before};
}

}  // namespace s3rdmafs::daemon::doctor
