// SPDX-License-Identifier: Apache-2.0
// An object is first opened whole, as an open of the mount does. The cache that declines, by the
// object's size or for want of room, leaves it to reads by pieces.
//
// Lanes. Each has one object and one read of it under way, so a lane's memory is one read's. The
// caller's thread alone begins reads, since it waits for the pace; threads of the cache end them.
//
// Lifetime. Reads under way share the run; the caller leaves only when all have ended.
#include "daemon/resident/read_objects.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Small objects wait for one answer each: as many at a time as fill a server that takes 1 ms.
constexpr std::size_t kReadLanes = 16;
// The most that one read gives.
constexpr std::uint64_t kReadBytes = 4 * kMiB;
// The pace at which a person sees the progress move.
constexpr std::chrono::milliseconds kReadProgressInterval{200};

class ReadRun : public std::enable_shared_from_this<ReadRun> {
 public:
  ReadRun(const ReadInto& into, const std::vector<s3::ObjectInfo>& objects,
          std::chrono::milliseconds part_timeout)
      : into_(into), objects_(objects), part_timeout_(part_timeout), lanes_(kReadLanes) {}

  struct Piece {
    std::size_t lane = 0;
    const s3::ObjectInfo* object = nullptr;
    std::shared_ptr<cache::ObjectReader> reader;  ///< null for the first of an object
    bool is_whole = false;                        ///< an attempt to have all of it at once
    std::uint64_t offset_bytes = 0;
    std::size_t length = 0;
  };

  /// The next read to begin; nothing where none can begin before the deadline.
  std::optional<Piece> next_piece(Deadline deadline) {
    const MutexLock lock(mutex_);
    for (;;) {
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        if (auto piece = piece_of(i)) return piece;
      }
      if (is_over() || !changed_.wait_until(mutex_, deadline)) return std::nullopt;
    }
  }

  void begin(Piece piece) {
    const Deadline deadline = into_.clock.now() + part_timeout_;
    cache::ObjectVersion version{.key = piece.object->key,
                                 .etag = piece.object->etag,
                                 .size_bytes = piece.object->size_bytes};
    if (piece.is_whole) {
      return into_.whole->open(std::move(version), deadline,
                               [self = shared_from_this(), lane = piece.lane](const auto& whole) {
                                 self->end_whole(lane, whole);
                               });
    }
    if (!piece.reader) {
      piece.reader = into_.blocks.open(std::move(version));
      const MutexLock lock(mutex_);
      lanes_[piece.lane].reader = piece.reader;
    }
    piece.reader->read(piece.offset_bytes, piece.length, deadline,
                       [self = shared_from_this(), lane = piece.lane](
                           Result<cache::PinnedBytes> bytes) { self->end(lane, bytes); });
  }

  /// The sizes of objects whose attempt to have them whole cost no request, since the last call.
  [[nodiscard]] std::vector<std::uint64_t> take_declined() {
    const MutexLock lock(mutex_);
    return std::exchange(declined_, {});
  }

  /// A piece that is not begun after all.
  void give_back(const Piece& piece) {
    const MutexLock lock(mutex_);
    lanes_[piece.lane] = {};
  }

  void cancel() {
    const MutexLock lock(mutex_);
    outcome_.was_cancelled = true;
  }

  [[nodiscard]] bool has_ended() {
    const MutexLock lock(mutex_);
    return is_over();
  }

  [[nodiscard]] KeepProgress so_far() {
    const MutexLock lock(mutex_);
    return {.objects = outcome_.fetched.objects, .bytes = read_bytes_};
  }

  [[nodiscard]] KeepOutcome outcome() {
    const MutexLock lock(mutex_);
    return std::move(outcome_);
  }

 private:
  struct Lane {
    const s3::ObjectInfo* object = nullptr;
    std::shared_ptr<cache::ObjectReader> reader = {};
    std::uint64_t next_bytes = 0;  ///< read so far
    bool was_declined = false;     ///< as a whole
    bool is_busy = false;
  };

  // A read that ends because the caller has left has not failed.
  [[nodiscard]] bool was_cancelled_by(const Error& error) const REQUIRES(mutex_) {
    return outcome_.was_cancelled && error.code == ErrorCode::kCancelled;
  }

  [[nodiscard]] bool is_over() const REQUIRES(mutex_) {
    const bool is_idle =
        std::ranges::none_of(lanes_, [](const Lane& lane) { return lane.object != nullptr; });
    return is_idle && (next_object_ == objects_.size() || outcome_.was_cancelled);
  }

  std::optional<Piece> piece_of(std::size_t index) REQUIRES(mutex_) {
    Lane& lane = lanes_[index];
    if (lane.is_busy) return std::nullopt;
    if (outcome_.was_cancelled) {
      lane = {};
      return std::nullopt;
    }
    while (lane.object == nullptr && next_object_ < objects_.size()) {
      const s3::ObjectInfo& object = objects_[next_object_++];
      if (object.size_bytes == 0) {
        ++outcome_.were_there.objects;
        continue;
      }
      lane.object = &object;
    }
    if (lane.object == nullptr) return std::nullopt;
    lane.is_busy = true;
    const bool is_whole = into_.whole != nullptr && !lane.was_declined;
    const std::uint64_t left = lane.object->size_bytes - lane.next_bytes;
    return Piece{.lane = index,
                 .object = lane.object,
                 .reader = lane.reader,
                 .is_whole = is_whole,
                 .offset_bytes = lane.next_bytes,
                 .length = static_cast<std::size_t>(is_whole ? left : std::min(left, kReadBytes))};
  }

  void end_whole(std::size_t index,
                 const Result<std::shared_ptr<const cache::ResidentObject>>& whole) {
    {
      const MutexLock lock(mutex_);
      Lane& lane = lanes_[index];
      lane.is_busy = false;
      if (whole) {
        read_bytes_ += lane.object->size_bytes;
        ++outcome_.fetched.objects;
        outcome_.fetched.bytes += lane.object->size_bytes;
        lane = {};
      } else if (was_cancelled_by(whole.error())) {
        lane = {};
      } else if (whole.error().code == ErrorCode::kStale) {
        outcome_.add_failure(*lane.object, whole.error());
        lane = {};
      } else {
        lane.was_declined = true;
        declined_.push_back(lane.object->size_bytes);
      }
    }
    changed_.notify_all();
  }

  void end(std::size_t index, const Result<cache::PinnedBytes>& bytes) {
    std::shared_ptr<cache::ObjectReader> last;  // destroyed without the lock
    {
      const MutexLock lock(mutex_);
      Lane& lane = lanes_[index];
      lane.is_busy = false;
      if (bytes && bytes->size_bytes() > 0) {
        lane.next_bytes += bytes->size_bytes();
        read_bytes_ += bytes->size_bytes();
      }
      const bool is_short = bytes && bytes->size_bytes() == 0;
      const bool is_done = bytes && lane.next_bytes >= lane.object->size_bytes;
      if (is_done) {
        ++outcome_.fetched.objects;
        outcome_.fetched.bytes += lane.object->size_bytes;
      } else if (is_short || (!bytes && !was_cancelled_by(bytes.error()))) {
        outcome_.add_failure(*lane.object,
                             bytes ? Error{ErrorCode::kCorrupt, "it ends early"} : bytes.error());
      }
      if (is_done || is_short || !bytes) {
        last = std::move(lane.reader);
        lane = {};
      }
    }
    changed_.notify_all();
  }

  const ReadInto into_;
  const std::vector<s3::ObjectInfo>& objects_;
  const std::chrono::milliseconds part_timeout_;

  Mutex mutex_;  // leaf
  CondVar changed_;
  std::vector<Lane> lanes_ GUARDED_BY(mutex_);
  std::size_t next_object_ GUARDED_BY(mutex_) = 0;
  std::uint64_t read_bytes_ GUARDED_BY(mutex_) = 0;
  std::vector<std::uint64_t> declined_ GUARDED_BY(mutex_);
  KeepOutcome outcome_ GUARDED_BY(mutex_);
};

}  // namespace

KeepOutcome read_objects(const ReadInto& into, const std::vector<s3::ObjectInfo>& objects,
                         std::chrono::milliseconds part_timeout, Pace pace,
                         const std::function<bool(const KeepProgress& so_far)>& on_progress) {
  const auto run = std::make_shared<ReadRun>(into, objects, part_timeout);
  auto next_progress = SteadyClock::now() + kReadProgressInterval;
  std::optional<ReadRun::Piece> planned;
  Deadline may_begin{};
  while (!run->has_ended()) {
    if (!planned) {
      planned = run->next_piece(next_progress);
      for (const std::uint64_t bytes : run->take_declined()) pace.give_back(bytes);
      if (planned) may_begin = pace.next(SteadyClock::now(), planned->length);
    }
    if (planned) {
      std::this_thread::sleep_until(std::min(may_begin, next_progress));
      if (SteadyClock::now() >= may_begin) run->begin(*std::exchange(planned, std::nullopt));
    }
    if (SteadyClock::now() < next_progress) continue;
    next_progress = SteadyClock::now() + kReadProgressInterval;
    if (on_progress(run->so_far())) continue;
    run->cancel();
    if (planned) run->give_back(*std::exchange(planned, std::nullopt));
  }
  return run->outcome();
}

}  // namespace s3rdmafs::daemon
