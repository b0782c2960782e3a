// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/keep_objects.h"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::daemon {
namespace {

// With four parts of 8 MiB each, these fill a link with objects of any size; more would delay the
// reads of programs.
constexpr std::size_t kParallelObjects = 4;
// The pace at which a person sees the progress move.
constexpr std::chrono::milliseconds kProgressInterval{200};
// The others fail for the same reasons.
constexpr std::size_t kProblemsMax = 5;

class Run : public std::enable_shared_from_this<Run> {
 public:
  Run(cache::ObjectCache& cache, std::chrono::milliseconds part_timeout)
      : cache_(cache), part_timeout_(part_timeout) {}

  void start(const s3::ObjectInfo& object) {
    if (object.size_bytes == 0) {
      const MutexLock lock(mutex_);
      ++outcome_.were_there.objects;
      return;
    }
    {
      const MutexLock lock(mutex_);
      ++under_way_;
    }
    const auto came = std::make_shared<std::atomic<std::uint64_t>>(0);
    cache_.pin(
        {.key = object.key, .etag = object.etag, .size_bytes = object.size_bytes},
        {.part_timeout = part_timeout_,
         .on_part =
             [self = shared_from_this(), came](std::uint64_t bytes) {
               *came += bytes;
               self->bytes_under_way_ += bytes;
               return !self->is_cancelled_;
             }},
        [self = shared_from_this(), object, came](const Result<cache::ObjectCache::Pinned>& kept) {
          self->bytes_under_way_ -= *came;
          self->end(object, kept);
        });
  }

  void cancel() {
    is_cancelled_ = true;
    const MutexLock lock(mutex_);
    outcome_.was_cancelled = true;
  }

  /// Waits until fewer than this many are under way, or until the deadline.
  /// @return whether fewer are under way
  bool wait_for_fewer_than(std::size_t objects, std::chrono::steady_clock::time_point deadline) {
    const MutexLock lock(mutex_);
    while (under_way_ >= objects) {
      if (!changed_.wait_until(mutex_, deadline)) return under_way_ < objects;
    }
    return true;
  }

  [[nodiscard]] KeepProgress so_far() {
    const MutexLock lock(mutex_);
    return {.objects = outcome_.fetched.objects + outcome_.were_there.objects,
            .bytes = outcome_.fetched.bytes + outcome_.were_there.bytes + bytes_under_way_};
  }

  [[nodiscard]] KeepOutcome outcome() {
    const MutexLock lock(mutex_);
    return outcome_;
  }

 private:
  void end(const s3::ObjectInfo& object, const Result<cache::ObjectCache::Pinned>& kept) {
    {
      const MutexLock lock(mutex_);
      --under_way_;
      count(object, kept);
    }
    changed_.notify_all();
  }

  void count(const s3::ObjectInfo& object, const Result<cache::ObjectCache::Pinned>& kept)
      REQUIRES(mutex_) {
    if (kept) {
      const bool was_there = *kept == cache::ObjectCache::Pinned::kWasResident;
      KeepProgress& to = was_there ? outcome_.were_there : outcome_.fetched;
      ++to.objects;
      to.bytes += object.size_bytes;
      return;
    }
    if (kept.error().code == ErrorCode::kCancelled && outcome_.was_cancelled) return;
    outcome_.add_failure(object, kept.error());
  }

  cache::ObjectCache& cache_;
  const std::chrono::milliseconds part_timeout_;
  std::atomic<bool> is_cancelled_{false};
  std::atomic<std::uint64_t> bytes_under_way_{0};

  Mutex mutex_;  // leaf
  CondVar changed_;
  std::size_t under_way_ GUARDED_BY(mutex_) = 0;
  KeepOutcome outcome_ GUARDED_BY(mutex_);
};

KeepProgress sum(const KeepProgress& a, const KeepProgress& b) {
  return {.objects = a.objects + b.objects, .bytes = a.bytes + b.bytes};
}

}  // namespace

void KeepOutcome::add_failure(const s3::ObjectInfo& object, const Error& error) {
  if (error.code == ErrorCode::kStale) {
    replaced.push_back(object);
    return;
  }
  if (error.code == ErrorCode::kNoMemory) {
    ++no_room.objects;
    no_room.bytes += object.size_bytes;
  } else {
    ++failed;
  }
  if (problems.size() < kProblemsMax) {
    problems.push_back(fmt::format("{}: {}", object.key, error.detail));
  }
}

void KeepOutcome::fail_replaced() {
  for (const s3::ObjectInfo& object : std::exchange(replaced, {})) {
    add_failure(object, {ErrorCode::kNotFound, "it was replaced or removed meanwhile"});
  }
}

void KeepOutcome::add(KeepOutcome other) {
  fetched = sum(fetched, other.fetched);
  were_there = sum(were_there, other.were_there);
  no_room = sum(no_room, other.no_room);
  failed += other.failed;
  was_cancelled = was_cancelled || other.was_cancelled;
  replaced.insert(replaced.end(), other.replaced.begin(), other.replaced.end());
  for (std::string& problem : other.problems) {
    if (problems.size() < kProblemsMax) problems.push_back(std::move(problem));
  }
}

KeepOutcome keep_objects(cache::ObjectCache& cache, const std::vector<s3::ObjectInfo>& objects,
                         std::chrono::milliseconds part_timeout, Pace pace,
                         const std::function<bool(const KeepProgress& so_far)>& on_progress) {
  using SteadyClock = std::chrono::steady_clock;
  const auto run = std::make_shared<Run>(cache, part_timeout);
  auto next_progress = SteadyClock::now() + kProgressInterval;
  std::size_t next = 0;
  std::optional<Deadline> may_begin;  // of the next object
  bool goes_on = true;
  // One more round at the end waits for the objects still under way.
  while (next <= objects.size()) {
    const bool is_last = next == objects.size() || !goes_on;
    const bool has_turn = run->wait_for_fewer_than(is_last ? 1 : kParallelObjects, next_progress);
    if (has_turn && is_last) break;
    if (has_turn) {
      if (!may_begin) may_begin = pace.next(SteadyClock::now(), objects[next].size_bytes);
      std::this_thread::sleep_until(std::min(*may_begin, next_progress));
      if (SteadyClock::now() >= *may_begin) {
        run->start(objects[next++]);
        may_begin.reset();
      }
    }
    if (SteadyClock::now() < next_progress) continue;
    next_progress = SteadyClock::now() + kProgressInterval;
    if (goes_on && !on_progress(run->so_far())) {
      goes_on = false;
      run->cancel();
    }
  }
  return run->outcome();
}

}  // namespace s3rdmafs::daemon
