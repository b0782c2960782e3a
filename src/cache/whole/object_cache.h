// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/resident_objects.h"
#include "cache/resident_parts.h"
#include "cache/whole/object_fetch.h"
#include "cache/whole/object_file.h"
#include "cache/whole/object_table.h"
#include "cache/whole/spare_files.h"
#include "memory/quarantine.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/worker_thread.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::cache {

/// Objects that are in memory as a whole, and parts of objects, each in a file of its own, under
/// one budget. Thread-safe.
class ObjectCache final : public ResidentObjects, public ResidentParts {
 public:
  struct Options {
    ObjectPool::Limits limits;
    /// The sizes that an open fetches; at least 1. A pinned object may have any size.
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
  /// The objects that it gave out are gone.
  ~ObjectCache() override;

  void open(ObjectVersion version, Deadline deadline,
            Done<std::shared_ptr<const ResidentObject>> done) override;
  bool prefetch(ObjectVersion version, Deadline deadline) override;

  void open_part(ObjectPart part, Deadline deadline,
                 Done<std::shared_ptr<const ResidentObject>> done) override;
  bool prefetch_part(ObjectPart part, Deadline deadline) override;
  [[nodiscard]] bool has_whole(const ObjectVersion& version) const override;
  [[nodiscard]] std::uint64_t memory_bytes_max() const override { return bytes_max(); }

  using Pinned = cache::Pinned;
  struct PinTerms {
    std::chrono::milliseconds part_timeout{};  ///< of each part of the object
    /// As FetchTerms::on_part; not called where the object is resident, or an open fetches it.
    std::function<bool(std::uint64_t bytes)> on_part = {};
  };
  /// Makes an object of any size of at least 1 resident, and keeps it so until unpin(). Unpins
  /// other versions of it. Errors: kNoMemory, with what to raise; kStale; kCancelled; and those of
  /// ObjectStore::get.
  void pin(ObjectVersion version, PinTerms terms, Done<Pinned> done);

  using Amount = ObjectTable::Amount;
  /// Pinned objects become as other resident objects. Returns what was unpinned.
  /// @param covers  chooses by key; called with the cache's lock held
  Amount unpin(const std::function<bool(std::string_view key)>& covers);

  /// The budget, and what the file of an object takes of it.
  [[nodiscard]] std::uint64_t bytes_max() const noexcept { return table_.bytes_max(); }
  [[nodiscard]] static std::uint64_t file_bytes(std::uint64_t size_bytes) noexcept {
    return ObjectTable::file_bytes(size_bytes);
  }

  /// Answers every open and pin that waits, and every later one that needs the store, with an
  /// error. The store has been shut down. Blocks while the fabric ends its registrations.
  void shut_down();

 private:
  using Entry = ObjectTable::Entry;
  using Opened = ObjectEntry::Opened;
  class Handle;

  struct OpenRequest {
    ObjectPart part;
    Deadline deadline;
    bool may_have_any_length = false;  ///< else Options has the limits
    bool is_ahead = false;             ///< nothing waits for it yet
  };
  /// A new entry, and how to fetch its object.
  struct Fetch {
    ObjectTable::NewEntry work;
    FetchTerms terms;
    bool is_ahead = false;  ///< no open waits for it yet
  };
  // The outcomes of a request: decided under the lock, acted on after it is released.
  struct Resident {
    Entry entry;
    int fd = -1;
  };
  struct Waiting {};  ///< `done` has been stored, and is called later
  struct Declined {
    Error error;
  };
  using Outcome = std::variant<Resident, Waiting, Declined, std::shared_ptr<Fetch>>;

  void serve_open(OpenRequest request, Opened done);
  bool fetch_ahead(const OpenRequest& request);
  [[nodiscard]] bool is_for_open(const OpenRequest& request) const noexcept;
  /// An entry for the part, where it has none and there is room; its fetch is to be started.
  [[nodiscard]] std::shared_ptr<Fetch> begin_for_open(const OpenRequest& request)
      REQUIRES(table_.mutex);
  void start_for_open(std::shared_ptr<Fetch> fetch);
  /// Moves from both where the request is stored.
  [[nodiscard]] Outcome decide_open(OpenRequest& request, Opened& done);
  [[nodiscard]] Outcome join(const Entry& entry, const OpenRequest& request, Opened& done)
      REQUIRES(table_.mutex);
  [[nodiscard]] Outcome decide_pin(ObjectVersion& version, PinTerms& terms, Done<Pinned>& done);
  [[nodiscard]] std::shared_ptr<Fetch> fetch_of(ObjectTable::NewEntry work, FetchTerms terms) const;
  void start(std::shared_ptr<Fetch> fetch);
  void release(const Entry& entry);

  // On the thread.
  void prepare(const std::shared_ptr<Fetch>& fetch);
  [[nodiscard]] Result<ObjectFile*> file_for(Fetch& fetch);
  void give_up(const Entry& entry, const Error& error);
  void finish(const Entry& entry, ObjectFile& file, std::expected<void, s3::GetFailure> outcome);
  void publish(const Entry& entry);
  void fail_waiters(const Entry& entry, const Error& error, metrics::Counter& declined);
  void empty(ObjectPool::FileId id, ObjectFile& file);

  // On either thread.
  void fill(Fetch& fetch);
  [[nodiscard]] Result<std::unique_ptr<ObjectFile>> make_file(std::uint64_t capacity_bytes) const;

  const MakeFile make_file_;
  s3::ObjectStore& store_;
  rdma::Fabric& fabric_;
  const Clock& clock_;
  const Options options_;

  ObjectTable table_;
  SpareFiles spares_;
  memory::Quarantine quarantine_{thread_};

  // Last: their jobs use the rest.
  WorkerThread thread_;
  WorkerThread makers_;  // makes what no open waits for, or waits long for: spare and large files
};

}  // namespace s3rdmafs::cache
