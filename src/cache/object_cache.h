// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cache/job_thread.h"
#include "cache/object_file.h"
#include "cache/object_pool.h"
#include "cache/resident_objects.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::cache {

/// Objects that are in memory as a whole, each in a file of its own, under one budget. Thread-safe.
class ObjectCache final : public ResidentObjects {
 public:
  struct Options {
    ObjectPool::Limits limits;
    std::uint64_t object_bytes_min = 0;  ///< at least 1
    std::uint64_t object_bytes_max = 0;
    MemoryLock lock = MemoryLock::kTry;
  };
  /// An empty file without a name on a tmpfs. Called on the thread of the cache.
  using MakeFile = std::function<Result<UniqueFd>()>;

  /// Borrows the store, the fabric, the clock and the registry.
  ObjectCache(MakeFile make_file, s3::ObjectStore& store, rdma::Fabric& fabric, const Clock& clock,
              metrics::Registry& metrics, Options options);
  /// What it gave out is gone.
  ~ObjectCache() override;

  void open(ObjectVersion version, Deadline deadline,
            Done<std::shared_ptr<const ResidentObject>> done) override EXCLUDES(mutex_);

  /// Answers every open that waits, and every later one, with an error where it needs the store.
  /// The store has been shut down. Blocks for what the fabric takes to let go of the memory.
  void shut_down() EXCLUDES(mutex_);

 private:
  using Opened = Done<std::shared_ptr<const ResidentObject>>;
  class Handle;

  /// An object with a file: being filled, or resident.
  struct Entry {
    ObjectVersion version;
    ObjectPool::FileId file_id = 0;
    bool is_resident = false;
    std::size_t users = 0;
    std::vector<Opened> waiters;  // only while it is filled
  };
  struct Slot {
    std::unique_ptr<ObjectFile> file;  // none while the thread makes it
    std::shared_ptr<Entry> entry;      // none where the file is empty or not yet fenced
  };
  /// What the thread is to do for a new entry.
  struct Preparation {
    std::shared_ptr<Entry> entry;
    std::vector<std::unique_ptr<ObjectFile>> dropped;  // closed first: the budget is hard
    ObjectFile* reused = nullptr;
    Deadline deadline;
  };

  [[nodiscard]] std::shared_ptr<Preparation> begin(ObjectVersion version, Deadline deadline,
                                                   Opened& done) REQUIRES(mutex_);
  [[nodiscard]] std::unique_ptr<ObjectFile> forget(ObjectPool::FileId id) REQUIRES(mutex_);
  void unpin(const std::shared_ptr<Entry>& entry) EXCLUDES(mutex_);

  // On the thread.
  void prepare(Preparation& preparation) EXCLUDES(mutex_);
  [[nodiscard]] Result<ObjectFile*> ready_file(Preparation& preparation) EXCLUDES(mutex_);
  void finish(const std::shared_ptr<Entry>& entry, ObjectFile& file,
              std::expected<void, s3::GetFailure> outcome) EXCLUDES(mutex_);
  void publish(const std::shared_ptr<Entry>& entry) EXCLUDES(mutex_);
  void fail_waiters(const std::shared_ptr<Entry>& entry, const Error& error) EXCLUDES(mutex_);
  void fence_late_writes() EXCLUDES(mutex_);
  [[nodiscard]] bool empty(ObjectPool::FileId id, ObjectFile& file) EXCLUDES(mutex_);

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
  metrics::Counter& late_writes_;
  metrics::Gauge& bytes_;
  metrics::Gauge& files_;

  mutable Mutex mutex_;  // leaf; held over the lease probe
  bool is_shut_down_ GUARDED_BY(mutex_) = false;
  ObjectPool pool_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_ GUARDED_BY(mutex_);
  std::unordered_map<ObjectPool::FileId, Slot> slots_ GUARDED_BY(mutex_);

  /// Files that a server may still write to; the thread's own.
  std::unordered_map<ObjectPool::FileId, ObjectFile*> unfenced_;

  JobThread thread_;  // last: its jobs use the rest
};

}  // namespace s3rdmafs::cache
