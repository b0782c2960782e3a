// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/resident_objects.h"
#include "cache/whole/object_file.h"
#include "cache/whole/object_metrics.h"
#include "cache/whole/object_part.h"
#include "cache/whole/object_pool.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/base/worker_thread.h"

namespace s3rdmafs::cache {

/// How an object came to be pinned.
enum class Pinned { kWasResident, kFetched };

/// An object, or a part of one, with a file: being filled, or resident. ObjectTable's lock guards
/// it.
struct ObjectEntry {
  using Opened = Done<std::shared_ptr<const ResidentObject>>;

  ObjectPart part;
  ObjectPool::FileId file_id = 0;
  bool is_resident = false;
  bool is_for_open = false;  ///< its fetch ends in an open's time, so other opens may wait for it
  bool is_pinned = false;    ///< which makes one of the users
  std::size_t users = 0;     ///< 0 while it is filled
  std::vector<Opened> waiters;        ///< only while it is filled
  std::vector<Done<Pinned>> pinners;  ///< only while it is filled
};

/// Which objects have which files: the state that opens, pins and SpareFiles share, under one lock.
/// No operation blocks, except for the lease probe (ObjectFile::is_held_elsewhere).
class ObjectTable {
 public:
  using Entry = std::shared_ptr<ObjectEntry>;

  /// The work that a new entry leaves to do without the lock.
  struct NewEntry {
    Entry entry;
    /// To be closed before a file is made, since the budget is hard; then set_closed() is called.
    std::vector<std::unique_ptr<ObjectFile>> dropped;
    std::uint64_t dropped_bytes = 0;
    ObjectFile* file = nullptr;  ///< one that is used again; null: a file has to be made
  };
  struct Amount {
    std::size_t objects = 0;
    std::uint64_t bytes = 0;  ///< of the objects, not of their files
  };

  ObjectTable(ObjectPool::Limits limits, metrics::Registry& registry)
      : metrics(registry), limits_(limits), pool_(limits) {}

  /// The bytes that the file of an object takes of the budget.
  [[nodiscard]] static std::uint64_t file_bytes(std::uint64_t size_bytes) noexcept {
    return round_up(size_bytes, memory::kHugePageBytes);
  }
  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return limits_.bytes_max; }

  /// Null where the part has no file.
  [[nodiscard]] Entry find(const ObjectPart& part) const REQUIRES(mutex);
  /// Makes an entry for a part that has none. Nothing where there is no room.
  [[nodiscard]] std::optional<NewEntry> add(const ObjectPart& part) REQUIRES(mutex);
  /// Takes the file and its entry out of the table. The room stays taken until remove().
  std::unique_ptr<ObjectFile> forget(ObjectPool::FileId id) REQUIRES(mutex);
  /// Takes the entry out; its file stays busy without one.
  void forget_entry(const ObjectEntry& entry) REQUIRES(mutex);

  /// A user keeps the object from being evicted.
  void add_user(ObjectEntry& entry) REQUIRES(mutex);
  void remove_user(ObjectEntry& entry) REQUIRES(mutex);

  /// Pins a resident whole object; earlier versions of it are unpinned.
  void pin(const Entry& entry) REQUIRES(mutex);
  void unpin_other_versions(const ObjectVersion& version) REQUIRES(mutex);
  Amount unpin(const std::function<bool(std::string_view key)>& covers) REQUIRES(mutex);

  [[nodiscard]] int fd_of(const ObjectEntry& entry) const REQUIRES(mutex) {
    return slots_.at(entry.file_id).file->fd();
  }
  void set_file(ObjectPool::FileId id, std::unique_ptr<ObjectFile> file) REQUIRES(mutex) {
    slots_.at(id).file = std::move(file);
  }
  /// A new busy file, only where nothing has to go for it (ObjectPool::reserve).
  [[nodiscard]] std::optional<ObjectPool::FileId> reserve(std::uint64_t capacity_bytes)
      REQUIRES(mutex);
  void set_closed(std::uint64_t bytes) REQUIRES(mutex) { pool_.set_closed(bytes); }
  /// The file holds no object: any may have it.
  void set_empty(ObjectPool::FileId id) REQUIRES(mutex);
  /// The file was closed, or could not be made: its room is free.
  void remove(ObjectPool::FileId id) REQUIRES(mutex);
  [[nodiscard]] std::uint64_t empty_bytes() const REQUIRES(mutex) { return pool_.empty_bytes(); }

  /// Whether a part of this length would have room if no spare file were in the making.
  [[nodiscard]] bool may_fit_after_spare(std::uint64_t length_bytes) const REQUIRES(mutex);
  /// Why pinning finds no room, and what to raise.
  [[nodiscard]] Error no_room_for(std::uint64_t size_bytes) const REQUIRES(mutex);

  ObjectMetrics metrics;

  mutable Mutex mutex;  // leaf; held over the lease probe
  bool is_shut_down GUARDED_BY(mutex) = false;
  /// The room that a spare file in the making has taken, in bytes.
  std::uint64_t spare_in_the_making GUARDED_BY(mutex) = 0;
  /// Requests that found no room because of it. They are made again when it has ended.
  std::vector<WorkerThread::Job> after_spare GUARDED_BY(mutex);

 private:
  struct Slot {
    std::unique_ptr<ObjectFile> file;  // null while it is made
    Entry entry;                       // null where the file is empty, spare, or not yet fenced
  };

  void end_pin(ObjectEntry& entry) REQUIRES(mutex);
  void update_gauges() REQUIRES(mutex);

  const ObjectPool::Limits limits_;
  ObjectPool pool_ GUARDED_BY(mutex);
  std::unordered_map<std::string, Entry> entries_ GUARDED_BY(mutex);
  std::unordered_map<ObjectPool::FileId, Slot> slots_ GUARDED_BY(mutex);
  /// Of entries_ the pinned ones, by key: one version of each.
  std::unordered_map<std::string, Entry> pinned_ GUARDED_BY(mutex);
};

}  // namespace s3rdmafs::cache
