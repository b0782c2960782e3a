// SPDX-License-Identifier: Apache-2.0
// The pool of object files against its model, which is a list: whatever is taken, closed, emptied
// and held in whatever order, the budget is kept, busy and held files stay, and room is refused
// only where there is none.
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cache/whole/object_pool.h"

namespace s3rdmafs::cache {

/// One step of a run; `which` chooses a file, `bytes` is a capacity.
struct PoolStep {
  enum class Kind {
    kTake,
    kSetIdle,
    kSetBusy,
    kSetEmpty,
    kRemove,
    kHold,
    kLetGo,
    kReserve,
    kClosed
  };
  Kind kind = Kind::kTake;
  std::size_t which = 0;
  std::uint64_t bytes = 1;
};

std::ostream& operator<<(std::ostream& out, const PoolStep& step) {
  constexpr const char* kNames[] = {"take", "idle",   "busy",    "empty", "remove",
                                    "hold", "let go", "reserve", "closed"};
  return out << kNames[static_cast<int>(step.kind)] << ' ' << step.which << ' ' << step.bytes;
}

namespace {

constexpr ObjectPool::Limits kLimits{.bytes_max = 20, .files_max = 6};

class CheckedPool {
 public:
  void step(const PoolStep& step) {
    if (step.kind == PoolStep::Kind::kTake) return take(step.bytes);
    if (step.kind == PoolStep::Kind::kReserve) return reserve(step.bytes);
    if (step.kind == PoolStep::Kind::kClosed) {
      pool_.set_closed(std::exchange(closing_bytes_, 0));
      return;
    }
    if (files_.empty()) return;
    const auto chosen = std::next(files_.begin(), static_cast<long>(step.which % files_.size()));
    const ObjectPool::FileId id = chosen->first;
    File& file = chosen->second;
    switch (step.kind) {
      case PoolStep::Kind::kSetIdle:
        file.is_busy = false;
        return pool_.set_idle(id);
      case PoolStep::Kind::kSetBusy:
        file.is_busy = true;
        return pool_.set_busy(id);
      case PoolStep::Kind::kSetEmpty:
        file.is_busy = false;
        return pool_.set_empty(id);
      case PoolStep::Kind::kRemove:
        files_.erase(chosen);
        return pool_.remove(id);
      case PoolStep::Kind::kHold:
        file.is_held = true;
        return;
      case PoolStep::Kind::kLetGo:
        file.is_held = false;
        return;
      case PoolStep::Kind::kTake:
      case PoolStep::Kind::kReserve:
      case PoolStep::Kind::kClosed:
        return;
    }
  }

  void check_budget() const {
    RC_ASSERT(pool_.bytes() <= kLimits.bytes_max);
    RC_ASSERT(pool_.files() <= kLimits.files_max);
    RC_ASSERT(pool_.bytes() == bytes());
    RC_ASSERT(pool_.files() == files_.size());
  }

 private:
  struct File {
    std::uint64_t bytes = 0;
    bool is_busy = true;
    bool is_held = false;
  };

  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [id, file] : files_) sum += file.bytes;
    return sum;
  }

  // Whether any way of taking files that may go would make room.
  [[nodiscard]] bool could_take(std::uint64_t wanted) const {
    std::uint64_t kept_bytes = 0;
    std::size_t kept_files = 0;
    for (const auto& [id, file] : files_) {
      if (!file.is_busy && !file.is_held) continue;
      kept_bytes += file.bytes;
      ++kept_files;
    }
    return kept_bytes + wanted <= kLimits.bytes_max && kept_files < kLimits.files_max;
  }

  void take(std::uint64_t wanted) {
    const bool possible = could_take(wanted);
    const auto room =
        pool_.take(wanted, [this](ObjectPool::FileId id) { return files_.at(id).is_held; });
    RC_ASSERT(room.has_value() == possible);
    if (!room) return;
    closing_bytes_ += room->dropped_bytes;
    for (const ObjectPool::FileId id : room->dropped) {
      RC_ASSERT(!files_.at(id).is_busy);
      RC_ASSERT(!files_.at(id).is_held);
      files_.erase(id);
    }
    if (room->reused) {
      File& file = files_.at(room->file);
      RC_ASSERT(!file.is_busy);
      RC_ASSERT(!file.is_held);
      RC_ASSERT(file.bytes == wanted);
      RC_ASSERT(room->dropped.empty());
      file.is_busy = true;
    } else {
      RC_ASSERT(!files_.contains(room->file));
      files_.emplace(room->file, File{.bytes = wanted});
    }
  }

  // Never at the expense of a file, nor in memory that another one has not yet given back.
  void reserve(std::uint64_t wanted) {
    const bool possible =
        bytes() + closing_bytes_ + wanted <= kLimits.bytes_max && files_.size() < kLimits.files_max;
    const auto id = pool_.reserve(wanted);
    RC_ASSERT(id.has_value() == possible);
    if (!id) return;
    RC_ASSERT(!files_.contains(*id));
    files_.emplace(*id, File{.bytes = wanted});
  }

  ObjectPool pool_{kLimits};
  std::uint64_t closing_bytes_ = 0;
  std::map<ObjectPool::FileId, File> files_;
};

RC_GTEST_PROP(ObjectPoolProperty, TheBudgetIsKeptAndRoomIsFoundWhereThereIsSome, ()) {
  const auto steps = *rc::gen::container<std::vector<PoolStep>>(rc::gen::build<PoolStep>(
      // Half of the steps take room: the others are about files that have been taken.
      rc::gen::set(&PoolStep::kind,
                   rc::gen::weightedElement<PoolStep::Kind>({{6, PoolStep::Kind::kTake},
                                                             {4, PoolStep::Kind::kSetIdle},
                                                             {1, PoolStep::Kind::kSetBusy},
                                                             {1, PoolStep::Kind::kSetEmpty},
                                                             {1, PoolStep::Kind::kRemove},
                                                             {1, PoolStep::Kind::kHold},
                                                             {1, PoolStep::Kind::kLetGo},
                                                             {2, PoolStep::Kind::kReserve},
                                                             {1, PoolStep::Kind::kClosed}})),
      rc::gen::set(&PoolStep::which, rc::gen::inRange<std::size_t>(0, 8)),
      rc::gen::set(&PoolStep::bytes, rc::gen::inRange<std::uint64_t>(1, 10))));
  CheckedPool pool;
  for (const PoolStep& step : steps) {
    pool.step(step);
    pool.check_budget();
  }
}

}  // namespace
}  // namespace s3rdmafs::cache
