// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cache/resident_objects.h"
#include "cache/whole/object_fetch.h"
#include "cache/whole/object_file.h"
#include "cache/whole/object_pool.h"
#include "memory/quarantine.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/base/worker_thread.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::cache {

/// Objects that are in memory as a whole, each in a file of its own, under one budget. Thread-safe.
class ObjectCache final : public ResidentObjects {
 public:
  struct Options {
    ObjectPool::Limits limits;
    /// Of what an open fetches; at least 1. What is kept may have any size.
    std::uint64_t object_bytes_min = 0;
    std::uint64_t object_bytes_max = 0;
    /// For files that are made ahead of the opens that need them.
    std::uint64_t spare_bytes_max = 0;
    memory::MemoryLock lock = memory::MemoryLock::kTry;
  };
  /// An empty file without a name on a tmpfs. Called on either thread of the cache.
  using MakeFile = std::function<Result<UniqueFd>()>;

  /// Borrows the store, the fabric, the clock and the registry.
  ObjectCache(MakeFile make_file, s3::ObjectStore& store, rdma::Fabric& fabric, const Clock& clock,
              metrics::Registry& metrics, Options options);
  /// What it gave out is gone.
  ~ObjectCache() override;

  void open(ObjectVersion version, Deadline deadline,
            Done<std::shared_ptr<const ResidentObject>> done) override EXCLUDES(mutex_);

  enum class Kept { kWasThere, kFetched };
  struct KeepTerms {
    std::chrono::milliseconds part_timeout{};  ///< of each part of the object
    /// As FetchTerms::on_part; not called where the object is there, or somebody else fetches it.
    std::function<bool(std::uint64_t bytes)> on_part = {};
  };
  /// Makes an object of any size of at least 1 resident, and keeps it so until let_go(); earlier
  /// versions of it are let go. Errors: kNoMemory, with what to raise; kStale; kCancelled; and
  /// those of ObjectStore::get.
  void keep(ObjectVersion version, KeepTerms terms, Done<Kept> done) EXCLUDES(mutex_);

  struct Amount {
    std::size_t objects = 0;
    std::uint64_t bytes = 0;  ///< of the objects, not of their files
  };
  /// What was kept becomes as any other resident object. Returns what was.
  /// @param covers  chooses by key; called with the cache's lock held
  Amount let_go(const std::function<bool(std::string_view key)>& covers) EXCLUDES(mutex_);

  /// The budget, and what the file of an object takes of it.
  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return options_.limits.bytes_max; }
  [[nodiscard]] static std::uint64_t file_bytes(std::uint64_t size_bytes) noexcept {
    return round_up(size_bytes, memory::kHugePageBytes);
  }

  /// Answers every open that waits, and every later one, with an error where it needs the store.
  /// The store has been shut down. Blocks for what the fabric takes to let go of the memory.
  void shut_down() EXCLUDES(mutex_);

 private:
  using Opened = Done<std::shared_ptr<const ResidentObject>>;
  using Keeping = Done<Kept>;
  class Handle;

  /// An object with a file: being filled, or resident.
  struct Entry {
    ObjectVersion version;
    ObjectPool::FileId file_id = 0;
    bool is_resident = false;
    bool is_for_open = false;      // its fetch ends in an open's time, so others may wait for it
    bool is_kept = false;          // which makes one of the users
    std::size_t users = 0;         // 0 while it is filled
    std::vector<Opened> waiters;   // only while it is filled
    std::vector<Keeping> keepers;  // and these too
  };
  struct Slot {
    std::unique_ptr<ObjectFile> file;  // none while the thread makes it
    std::shared_ptr<Entry> entry;      // none where the file is empty or not yet fenced
  };
  /// What the thread is to do for a new entry.
  struct Preparation {
    std::shared_ptr<Entry> entry;
    std::vector<std::unique_ptr<ObjectFile>> dropped;  // closed first: the budget is hard
    std::uint64_t dropped_bytes = 0;
    ObjectFile* file = nullptr;  // where one is used again; else the thread makes it
    FetchTerms terms;
  };

  [[nodiscard]] std::optional<ObjectPool::Room> take_room(const ObjectVersion& version)
      REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<Preparation> begin(const ObjectPool::Room& room,
                                                   ObjectVersion version, FetchTerms terms)
      REQUIRES(mutex_);
  [[nodiscard]] std::unique_ptr<ObjectFile> forget(ObjectPool::FileId id) REQUIRES(mutex_);
  void start(std::shared_ptr<Preparation> preparation) EXCLUDES(mutex_);
  void unpin(const std::shared_ptr<Entry>& entry) EXCLUDES(mutex_);

  // In object_cache_keep.cc.
  void mark_kept(const std::shared_ptr<Entry>& entry) REQUIRES(mutex_);
  void end_keep(Entry& entry) REQUIRES(mutex_);
  void end_keep_of_others(const ObjectVersion& version) REQUIRES(mutex_);
  [[nodiscard]] Error no_room_for(std::uint64_t size_bytes) const REQUIRES(mutex_);

  // On the thread.
  void prepare(const std::shared_ptr<Preparation>& preparation) EXCLUDES(mutex_);
  [[nodiscard]] Result<ObjectFile*> file_for(Preparation& preparation) EXCLUDES(mutex_);
  void give_up(const std::shared_ptr<Entry>& entry, const Error& error) EXCLUDES(mutex_);
  void finish(const std::shared_ptr<Entry>& entry, ObjectFile& file,
              std::expected<void, s3::GetFailure> outcome) EXCLUDES(mutex_);
  void publish(const std::shared_ptr<Entry>& entry) EXCLUDES(mutex_);
  void fail_waiters(const std::shared_ptr<Entry>& entry, const Error& error,
                    metrics::Counter& declined) EXCLUDES(mutex_);
  void empty(ObjectPool::FileId id, ObjectFile& file) EXCLUDES(mutex_);

  // On either thread.
  void fill(Preparation& preparation) EXCLUDES(mutex_);
  [[nodiscard]] Result<std::unique_ptr<ObjectFile>> make_file(std::uint64_t capacity_bytes) const;

  // In object_cache_spares.cc.
  [[nodiscard]] bool may_fit_after_spare(const ObjectVersion& version) const REQUIRES(mutex_);
  void want_spares(std::uint64_t capacity_bytes) EXCLUDES(mutex_);
  void make_spare() EXCLUDES(mutex_);
  void end_spare() EXCLUDES(mutex_);

  void update_gauges() REQUIRES(mutex_);

  const MakeFile make_file_;
  s3::ObjectStore& store_;
  rdma::Fabric& fabric_;
  const Clock& clock_;
  const Options options_;

  metrics::Counter& hits_;
  metrics::Counter& fetches_;
  metrics::Counter& no_room_;
  metrics::Counter& fetch_failed_;
  metrics::Counter& no_file_;
  metrics::Counter& being_fetched_;
  metrics::Counter& late_writes_;
  metrics::Gauge& bytes_;
  metrics::Gauge& files_;
  metrics::Gauge& kept_bytes_;
  metrics::Gauge& kept_objects_;
  metrics::Counter& spares_made_;

  mutable Mutex mutex_;  // leaf; held over the lease probe
  bool is_shut_down_ GUARDED_BY(mutex_) = false;
  ObjectPool pool_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_ GUARDED_BY(mutex_);
  std::unordered_map<ObjectPool::FileId, Slot> slots_ GUARDED_BY(mutex_);
  /// Of entries_, those that are kept, by key: one version of each.
  std::unordered_map<std::string, std::shared_ptr<Entry>> kept_ GUARDED_BY(mutex_);
  std::uint64_t spare_capacity_ GUARDED_BY(mutex_) = 0;  // of the file that was needed last
  bool is_making_spares_ GUARDED_BY(mutex_) = false;
  std::uint64_t spare_in_the_making_ GUARDED_BY(mutex_) = 0;  // bytes of room that it has taken
  /// Who found no room for that: asked again when it is made, or could not be.
  std::vector<WorkerThread::Job> after_spare_ GUARDED_BY(mutex_);

  memory::Quarantine quarantine_{thread_};
  // Last: their jobs use the rest.
  WorkerThread thread_;
  WorkerThread makers_;  // makes what nobody waits for, or waits for long: spares and large files
};

}  // namespace s3rdmafs::cache
