// SPDX-License-Identifier: Apache-2.0
// Files made ahead of the opens that need them.
//
// A new file's pages are cleared before anything can be put there, which takes as long as the
// object itself at 20 GB/s, and many times that where the machine is virtual and its host has to
// find the pages first. So while programs read, a thread makes a few more files of the size that
// was needed last: data sets are mostly cut into shards of one size. They are counted in the pool
// from before they are made, only where nothing has to go for them, and are the first to go when
// room is needed. Once the budget is full there are none: then files are used again, with their
// pages.
//
// A file that is still being made cannot be dropped. For whom its room is what is missing, room is
// asked for again when the file is made, before the next one takes any: a file that nobody asked
// for turns nobody away. That may be late, where the machine has to find the memory first; it is
// one file at most.
#include <utility>
#include <vector>

#include "cache/whole/object_cache.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {

// Whether its room is what is missing: the rest is there, or can be evicted.
bool ObjectCache::may_fit_after_spare(const ObjectVersion& version) const {
  if (spare_in_the_making_ == 0) return false;
  const std::uint64_t busy_then = pool_.busy_bytes() - spare_in_the_making_;
  return busy_then + file_bytes(version.size_bytes) <= bytes_max();
}

void ObjectCache::want_spares(std::uint64_t capacity_bytes) {
  {
    const MutexLock lock(mutex_);
    spare_capacity_ = capacity_bytes;
    if (std::exchange(is_making_spares_, true)) return;
  }
  makers_.post([this] { make_spare(); });
}

// One, and then the next: what else waits for the thread goes between.
void ObjectCache::make_spare() {
  std::uint64_t capacity_bytes = 0;
  std::optional<ObjectPool::FileId> id;
  {
    const MutexLock lock(mutex_);
    capacity_bytes = spare_capacity_;
    const bool wanted =
        !is_shut_down_ && pool_.empty_bytes() + capacity_bytes <= options_.spare_bytes_max;
    if (wanted) id = pool_.reserve(capacity_bytes);
    if (!id) {
      is_making_spares_ = false;
      return;
    }
    slots_.emplace(*id, Slot{});
    spare_in_the_making_ = capacity_bytes;
  }
  auto file = make_file(capacity_bytes);
  Result<void> made = file ? (*file)->take_pages() : std::unexpected(file.error());
  if (!made) {
    spdlog::debug("cache: no spare file: {}", made.error().detail);
    if (file) file->reset();  // before its room is given to others
    {
      const MutexLock lock(mutex_);
      slots_.erase(*id);
      pool_.remove(*id);
      spare_in_the_making_ = 0;
      is_making_spares_ = false;
    }
    return end_spare();
  }
  {
    const MutexLock lock(mutex_);
    slots_.at(*id).file = std::move(*file);
    pool_.set_empty(*id);
    spare_in_the_making_ = 0;
    update_gauges();
  }
  spares_made_.add();
  end_spare();
  makers_.post([this] { make_spare(); });
}

// Only the thread makes spares, so none is in the making while these are asked again.
void ObjectCache::end_spare() {
  std::vector<WorkerThread::Job> waiting;
  {
    const MutexLock lock(mutex_);
    waiting = std::exchange(after_spare_, {});
  }
  for (WorkerThread::Job& ask : waiting) ask();
}

}  // namespace s3rdmafs::cache
