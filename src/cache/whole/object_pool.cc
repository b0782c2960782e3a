// SPDX-License-Identifier: Apache-2.0
// A file fits an object only if both have the same number of huge pages: a larger file would hold
// memory that is not used.
#include "cache/whole/object_pool.h"

#include <utility>

namespace s3rdmafs::cache {

std::optional<ObjectPool::Room> ObjectPool::take(std::uint64_t capacity_bytes,
                                                 const std::function<bool(FileId)>& is_held) {
  if (const auto empty = find_empty(capacity_bytes, is_held)) {
    set_busy(*empty);
    return Room{.file = *empty, .reused = true};
  }
  Room room;
  // A held file is in use: it moves to the end, where the walk stops before it comes to it again.
  std::size_t left = order_.size();
  for (auto at = order_.begin();
       left > 0 && !has_room(capacity_bytes, room.dropped_bytes, room.dropped.size()); --left) {
    const auto candidate = at++;
    if (is_held(*candidate)) {
      order_.splice(order_.end(), order_, candidate);
      files_.at(*candidate).is_empty = false;
      continue;
    }
    if (files_.at(*candidate).capacity_bytes == capacity_bytes) {
      const FileId file = *candidate;
      set_busy(file);
      return Room{.file = file, .reused = true};  // and no file has to go
    }
    room.dropped_bytes += files_.at(*candidate).capacity_bytes;
    room.dropped.push_back(*candidate);
  }
  if (!has_room(capacity_bytes, room.dropped_bytes, room.dropped.size())) return std::nullopt;

  for (const FileId file : room.dropped) remove(file);
  closing_bytes_ += room.dropped_bytes;
  room.file = add(capacity_bytes);
  return room;
}

std::optional<ObjectPool::FileId> ObjectPool::reserve(std::uint64_t capacity_bytes) {
  if (!has_room(capacity_bytes + closing_bytes_, 0, 0)) return std::nullopt;
  return add(capacity_bytes);
}

std::optional<ObjectPool::FileId> ObjectPool::find_empty(
    std::uint64_t capacity_bytes, const std::function<bool(FileId)>& is_held) const {
  for (const FileId candidate : order_) {
    const File& file = files_.at(candidate);
    if (!file.is_empty) break;
    if (file.capacity_bytes == capacity_bytes && !is_held(candidate)) return candidate;
  }
  return std::nullopt;
}

ObjectPool::FileId ObjectPool::add(std::uint64_t capacity_bytes) {
  const FileId file = ++last_;
  files_.emplace(file, File{.capacity_bytes = capacity_bytes, .place = {}});
  bytes_ += capacity_bytes;
  return file;
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
  found.is_empty = true;
  found.place = order_.insert(order_.begin(), file);
}

void ObjectPool::remove(FileId file) {
  const auto found = files_.find(file);
  leave_order(found->second);
  bytes_ -= found->second.capacity_bytes;
  files_.erase(found);
}

std::uint64_t ObjectPool::busy_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [id, file] : files_) sum += file.place ? 0 : file.capacity_bytes;
  return sum;
}

std::uint64_t ObjectPool::empty_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [id, file] : files_) sum += file.is_empty ? file.capacity_bytes : 0;
  return sum;
}

void ObjectPool::leave_order(File& file) {
  file.is_empty = false;
  if (const auto place = std::exchange(file.place, std::nullopt)) order_.erase(*place);
}

}  // namespace s3rdmafs::cache
