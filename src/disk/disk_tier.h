// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "disk/chunk_store.h"
#include "disk/read_threads.h"
#include "disk/write_ring.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::disk {

/// An ObjectStore that keeps bytes read from another one on a local disk. Thread-safe.
///
/// get() is answered from the disk if its whole range is there and all checksums are right, else by
/// the other store. A thread of the tier writes those bytes to the disk afterwards, or drops them
/// if it cannot keep up. All other requests go to the other store.
class DiskTier final : public s3::ObjectStore {
 public:
  struct Options {
    std::string path;   ///< the folder; made if only its last part is missing
    std::string scope;  ///< server and bucket: another scope's bytes are never served
    std::uint64_t size_bytes = 0;
    std::uint64_t reserve_bytes = 0;
    std::uint64_t segment_bytes = 0;  ///< 0: chosen by size_bytes
    /// Memory for copies that wait to be written: 16 chunks, which arrive in 20 ms at the 3 GB/s
    /// that a disk takes.
    std::uint64_t write_buffer_bytes = 64 * kMiB;
    /// How long the tier is unused after a failed read of the disk, and takes nothing new after a
    /// failed write.
    std::chrono::milliseconds rest{60'000};
  };

  /// Takes the folder and indexes its contents. Errors: as CacheFolder::take(); kNoMemory.
  /// Borrows all but the options; destroy it after shut_down() and before the other store.
  [[nodiscard]] static Result<std::unique_ptr<DiskTier>> open(const Options& options,
                                                              s3::ObjectStore& store,
                                                              const Clock& clock,
                                                              metrics::Registry& metrics);
  ~DiskTier() override;

  void head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) override {
    store_.head(std::move(key), deadline, std::move(done));
  }
  void describe(std::string key, Deadline deadline, Done<s3::ObjectDescription> done) override {
    store_.describe(std::move(key), deadline, std::move(done));
  }
  void list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) override {
    store_.list(std::move(request), deadline, std::move(done));
  }
  void get(s3::GetRequest request, Deadline deadline, s3::GetDone done) override;
  /// This ETag of the key may now stand for other bytes: from now on the other store answers, and
  /// its bytes are not kept.
  void invalidate(std::string_view key, std::string_view etag);
  /// Also shuts the other store down, and gives the copies a short time to reach the disk.
  void shut_down() override;

  /// Waits until every copy has been written or dropped; false if the deadline passes first.
  [[nodiscard]] bool wait_for_writes(Deadline deadline) {
    return ring_->wait_until_empty(deadline);
  }

 private:
  struct Counts {
    explicit Counts(metrics::Registry& metrics);
    metrics::Counter& hits;
    metrics::Counter& misses;
    metrics::Counter& bypasses;
    metrics::Counter& read_bytes;
    metrics::Counter& written_bytes;
    metrics::Counter& corrupt;
    metrics::Counter& errors;
    metrics::Counter& dropped;
    metrics::Gauge& up;
  };

  DiskTier(const Options& options, std::unique_ptr<ChunkStore> chunks,
           std::unique_ptr<WriteRing> ring, s3::ObjectStore& store, const Clock& clock,
           metrics::Registry& metrics);

  void read_from_disk(std::vector<Piece> pieces, s3::GetRequest request, Deadline deadline,
                      s3::GetDone done);
  void read_from_store(const ObjectId& object, s3::GetRequest request, Deadline deadline,
                       s3::GetDone done);
  [[nodiscard]] bool read_pieces(const std::vector<Piece>& pieces, const rdma::Window& window,
                                 Scratch& scratch);
  void keep(const ObjectId& object, std::uint64_t offset_bytes, std::span<const std::byte> bytes);
  void write_behind();
  enum class RestFrom { kWrites, kAll };
  void rest(RestFrom what, const Error& cause);
  [[nodiscard]] bool reads_rest() const;
  [[nodiscard]] bool is_distrusted(const ObjectId& object) const;
  [[nodiscard]] bool writes_rest() const;
  void end_rest();

  const std::string scope_;
  const std::chrono::milliseconds rest_;
  s3::ObjectStore& store_;
  const Clock& clock_;
  Counts counts_;
  const std::unique_ptr<ChunkStore> chunks_;
  const std::unique_ptr<WriteRing> ring_;
  std::atomic<std::chrono::steady_clock::time_point> reads_rest_until_{};
  std::atomic<std::chrono::steady_clock::time_point> writes_rest_until_{};  // never the earlier one
  std::atomic<bool> closing_ = false;
  std::atomic<bool> distrusts_any_ = false;
  mutable Mutex mutex_;  // leaf
  std::set<ObjectId> distrusted_ GUARDED_BY(mutex_);
  bool distrusts_all_ GUARDED_BY(mutex_) = false;  ///< they became too many
  ReadThreads readers_;
  std::jthread writer_;  // last: ends before what it uses
};

}  // namespace s3rdmafs::disk
