// SPDX-License-Identifier: Apache-2.0
// A file fits an object only if both have the same number of huge pages: a larger one would hold
// memory that nobody uses.
#include "cache/object_pool.h"

#include <utility>

namespace s3rdmafs::cache {

std::optional<ObjectPool::Room> ObjectPool::take(std::uint64_t capacity_bytes,
                                                 const std::function<bool(FileId)>& is_held) {
  Room room;
  std::uint64_t dropped_bytes = 0;
  // A held file is in use: it goes to the end, and the walk ends where the first of them is.
  std::size_t left = order_.size();
  for (auto at = order_.begin();
       left > 0 && !has_room(capacity_bytes, dropped_bytes, room.dropped.size()); --left) {
    const auto candidate = at++;
    if (is_held(*candidate)) {
      order_.splice(order_.end(), order_, candidate);
      continue;
    }
    if (files_.at(*candidate).capacity_bytes == capacity_bytes) {
      const FileId file = *candidate;
      set_busy(file);
      return Room{.file = file, .reused = true};  // and nothing has to go
    }
    dropped_bytes += files_.at(*candidate).capacity_bytes;
    room.dropped.push_back(*candidate);
  }
  if (!has_room(capacity_bytes, dropped_bytes, room.dropped.size())) return std::nullopt;

  for (const FileId file : room.dropped) remove(file);
  room.file = ++last_;
  files_.emplace(room.file, File{.capacity_bytes = capacity_bytes, .place = {}});
  bytes_ += capacity_bytes;
  return room;
}

bool ObjectPool::has_room(std::uint64_t more_bytes, std::uint64_t fewer_bytes,
                          std::size_t fewer_files) const {
  return bytes_ - fewer_bytes + more_bytes <= limits_.bytes_max &&
         files_.size() - fewer_files < limits_.files_max;
}

void ObjectPool::set_busy(FileId file) { leave_order(files_.at(file)); }

void ObjectPool::set_idle(FileId file) {
  File& found = files_.at(file);
  leave_order(found);
  found.place = order_.insert(order_.end(), file);
}

void ObjectPool::set_empty(FileId file) {
  File& found = files_.at(file);
  leave_order(found);
  found.place = order_.insert(order_.begin(), file);
}

void ObjectPool::remove(FileId file) {
  const auto found = files_.find(file);
  leave_order(found->second);
  bytes_ -= found->second.capacity_bytes;
  files_.erase(found);
}

void ObjectPool::leave_order(File& file) {
  if (const auto place = std::exchange(file.place, std::nullopt)) order_.erase(*place);
}

}  // namespace s3rdmafs::cache
