// SPDX-License-Identifier: Apache-2.0
// A pinned object is one that the cache itself uses: busy in the pool, so that no open evicts it.
// It counts under the same budget; where all of the budget is pinned, opens find no room and are
// answered as they would be without passthrough. One version of a key is pinned: a request for
// another version shows that the first is gone.
#include "cache/whole/object_table.h"

#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::cache {

ObjectTable::Entry ObjectTable::find(const ObjectPart& part) const {
  const auto found = entries_.find(index_key(part));
  return found == entries_.end() ? nullptr : found->second;
}

std::optional<ObjectTable::NewEntry> ObjectTable::add(const ObjectPart& part) {
  const auto room =
      pool_.take(file_bytes(part.length_bytes), [this](ObjectPool::FileId id) REQUIRES(mutex) {
        return slots_.at(id).file->is_held_elsewhere();
      });
  if (!room) return std::nullopt;
  NewEntry made;
  made.dropped_bytes = room->dropped_bytes;
  for (const ObjectPool::FileId id : room->dropped) made.dropped.push_back(forget(id));
  Slot slot;
  if (room->reused) slot.file = forget(room->file);
  made.file = slot.file.get();
  made.entry = std::make_shared<ObjectEntry>();
  made.entry->part = part;
  made.entry->file_id = room->file;
  slot.entry = made.entry;
  entries_.emplace(index_key(part), made.entry);
  slots_.emplace(room->file, std::move(slot));
  update_gauges();
  return made;
}

std::unique_ptr<ObjectFile> ObjectTable::forget(ObjectPool::FileId id) {
  auto node = slots_.extract(id);
  if (node.mapped().entry) entries_.erase(index_key(node.mapped().entry->part));
  return std::move(node.mapped().file);
}

void ObjectTable::forget_entry(const ObjectEntry& entry) {
  entries_.erase(index_key(entry.part));
  slots_.at(entry.file_id).entry = nullptr;
}

void ObjectTable::add_user(ObjectEntry& entry) {
  if (entry.users++ == 0) pool_.set_busy(entry.file_id);
}

void ObjectTable::remove_user(ObjectEntry& entry) {
  if (--entry.users == 0) pool_.set_idle(entry.file_id);
}

void ObjectTable::pin(const Entry& entry) {
  if (std::exchange(entry->is_pinned, true)) return;
  unpin_other_versions(entry->part.version);  // one may have become resident while this was fetched
  add_user(*entry);
  pinned_.emplace(entry->part.version.key, entry);
  metrics.pinned_objects.add(1);
  metrics.pinned_bytes.add(static_cast<std::int64_t>(entry->part.length_bytes));
}

void ObjectTable::end_pin(ObjectEntry& entry) {
  entry.is_pinned = false;
  remove_user(entry);
  metrics.pinned_objects.add(-1);
  metrics.pinned_bytes.add(-static_cast<std::int64_t>(entry.part.length_bytes));
}

void ObjectTable::unpin_other_versions(const ObjectVersion& version) {
  const auto found = pinned_.find(version.key);
  if (found == pinned_.end() || found->second->part.version.etag == version.etag) return;
  end_pin(*found->second);
  pinned_.erase(found);
}

ObjectTable::Amount ObjectTable::unpin(const std::function<bool(std::string_view key)>& covers) {
  Amount amount;
  for (auto at = pinned_.begin(); at != pinned_.end();) {
    if (!covers(at->first)) {
      ++at;
      continue;
    }
    amount.objects += 1;
    amount.bytes += at->second->part.length_bytes;
    end_pin(*at->second);
    at = pinned_.erase(at);
  }
  return amount;
}

std::optional<ObjectPool::FileId> ObjectTable::reserve(std::uint64_t capacity_bytes) {
  const auto id = pool_.reserve(capacity_bytes);
  if (id) slots_.emplace(*id, Slot{});
  return id;
}

void ObjectTable::remove(ObjectPool::FileId id) {
  slots_.erase(id);
  pool_.remove(id);
  update_gauges();
}

void ObjectTable::set_empty(ObjectPool::FileId id) {
  pool_.set_empty(id);
  update_gauges();
}

bool ObjectTable::may_fit_after_spare(std::uint64_t length_bytes) const {
  if (spare_in_the_making == 0) return false;
  const std::uint64_t busy_then = pool_.busy_bytes() - spare_in_the_making;
  return busy_then + file_bytes(length_bytes) <= bytes_max();
}

Error ObjectTable::no_room_for(std::uint64_t size_bytes) const {
  constexpr std::string_view kAdvice = "raise cache.resident_size (and cache.size, which it is of)";
  const std::uint64_t wanted = file_bytes(size_bytes);
  if (wanted > bytes_max()) {
    return {ErrorCode::kNoMemory,
            fmt::format("it takes {}, and whole objects have {} in all: {}", format_size(wanted),
                        format_size(bytes_max()), kAdvice)};
  }
  return {ErrorCode::kNoMemory,
          fmt::format("it takes {}, and of the {} for whole objects {} are pinned or in use: {}",
                      format_size(wanted), format_size(bytes_max()),
                      format_size(pool_.busy_bytes()), kAdvice)};
}

void ObjectTable::update_gauges() {
  metrics.bytes.set(static_cast<std::int64_t>(pool_.bytes()));
  metrics.files.set(static_cast<std::int64_t>(pool_.files()));
}

}  // namespace s3rdmafs::cache
