// SPDX-License-Identifier: Apache-2.0
// Why spare files. The pages of a new file are cleared before anything can be put there. That takes
// as long as the object itself at 20 GB/s, and many times that on a virtual machine whose host has
// to find the pages first. So while programs read, a thread makes a few more files of the size that
// was needed last: data sets are mostly cut into shards of one size.
//
// Room. A spare file counts in the pool from before it is made. It is made only where nothing has
// to go for it, and is the first to go when room is needed. Once the budget is full there are none:
// then files are used again, with their pages.
//
// A file that is still being made cannot be dropped. A request that lacks only its room is made
// again when the file has been made, before the next one takes any room: a file that no request
// asked for declines no request. That may be late where the machine has to find the memory first;
// it is one file at most.
#include "cache/whole/spare_files.h"

#include <utility>
#include <vector>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {

void SpareFiles::want(std::uint64_t capacity_bytes) {
  {
    const MutexLock lock(table_.mutex);
    capacity_bytes_ = capacity_bytes;
    if (std::exchange(is_making_, true)) return;
  }
  thread_.post([this] { make_one(); });
}

// One, and then the next: other jobs of the thread run between them.
void SpareFiles::make_one() {
  const auto spare = reserve();
  if (!spare) return;
  auto file = make_with_pages(spare->capacity_bytes);
  const bool is_made = file.has_value();
  if (is_made) {
    add(*spare, std::move(*file));
  } else {
    log::debug("cache: no spare file: {}", file.error().detail);
    give_up(*spare);
  }
  ask_again();
  if (is_made) thread_.post([this] { make_one(); });
}

std::optional<SpareFiles::Spare> SpareFiles::reserve() {
  const MutexLock lock(table_.mutex);
  std::optional<ObjectPool::FileId> id;
  const bool is_wanted =
      !table_.is_shut_down && table_.empty_bytes() + capacity_bytes_ <= bytes_max_;
  if (is_wanted) id = table_.reserve(capacity_bytes_);
  if (!id) {
    is_making_ = false;
    return std::nullopt;
  }
  table_.spare_in_the_making = capacity_bytes_;
  return Spare{.id = *id, .capacity_bytes = capacity_bytes_};
}

// On an error no file is left: its room can be given to others.
Result<std::unique_ptr<ObjectFile>> SpareFiles::make_with_pages(std::uint64_t capacity_bytes) {
  auto file = make_file_(capacity_bytes);
  if (!file) return file;
  if (auto taken = (*file)->take_pages(); !taken) return std::unexpected(taken.error());
  return file;
}

void SpareFiles::add(const Spare& spare, std::unique_ptr<ObjectFile> file) {
  {
    const MutexLock lock(table_.mutex);
    table_.set_file(spare.id, std::move(file));
    table_.set_empty(spare.id);
    table_.spare_in_the_making = 0;
  }
  table_.metrics.spares_made.add();
}

void SpareFiles::give_up(const Spare& spare) {
  const MutexLock lock(table_.mutex);
  table_.remove(spare.id);
  table_.spare_in_the_making = 0;
  is_making_ = false;
}

// Only this thread makes spare files, so none is in the making while requests are made again.
void SpareFiles::ask_again() {
  std::vector<WorkerThread::Job> requests;
  {
    const MutexLock lock(table_.mutex);
    requests = std::exchange(table_.after_spare, {});
  }
  for (WorkerThread::Job& request : requests) request();
}

}  // namespace s3rdmafs::cache
