// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "s3/object_writer.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/abandoned_uploads.h"
#include "upload/buffer_pool.h"
#include "upload/part_sizes.h"

namespace s3rdmafs::upload {

/// Writes one object from its first byte to its last. Bytes fill part buffers as they come; full
/// ones travel while the next fills; finish() makes the object visible, whole. What was never
/// finished never shows. Thread-safe; `done` rules as in base/callback.h.
class Uploader : public std::enable_shared_from_this<Uploader> {
 public:
  struct Metrics {
    metrics::Counter& rdma_bytes;
    metrics::Counter& http_bytes;
    metrics::Gauge& in_progress;
  };
  /// What all uploads of a mount share; borrowed.
  struct Context {
    s3::ObjectWriter& writer;
    BufferPool& buffers;
    AbandonedUploads& abandoned;
    const Clock& clock;
    Metrics metrics;
    PartSizes part_sizes;
    unsigned parallel_parts;                    ///< of one object
    std::chrono::milliseconds request_timeout;  ///< of one request, with its retries
  };

  /// What its key has when it begins, as far as whoever begins it knows.
  enum class Start {
    kReplacing,  ///< anything: the object takes its place
    kIfAbsent,   ///< nothing: where another client stored something since, finish() fails
    kStored,     ///< an empty object, which is as good as stored until bytes come
  };

  Uploader(const Context& context, std::string key, Start start = Start::kReplacing);
  ~Uploader();

  /// Takes bytes at the object's end. Those that find no room in a buffer are copied and wait for
  /// one until `deadline`; `done` when all were taken. One at a time.
  /// Errors: kSequentialOnly (offset_bytes is not the end; or the object is complete and too large
  /// to begin again, see finish), kTooLarge, kNoMemory, and whatever a part failed with. All but
  /// the first two are final: every later call and finish() fail too.
  void append(std::uint64_t offset_bytes, std::span<const std::byte> bytes, Deadline deadline,
              Done<void> done);

  /// Makes the object visible with the bytes so far. Costs nothing where they are already. An
  /// object that still fits one part may be appended to afterwards, and be finished again; a larger
  /// one is complete for good, since S3 cannot append.
  /// Errors: those of the writer; kStale: it began with kIfAbsent, the object was one part, and the
  /// server says that the key has another client's object by now.
  void finish(Done<void> done);

  /// As if a request had failed with `error`: nothing more of it becomes visible, and whoever
  /// finishes it is told. Nothing, where all of it is stored.
  void give_up(Error error);

  /// The object is not wanted: nothing more of it becomes visible, bytes appended from now on are
  /// dropped. `done` when no request of it is under way; what was finished before stays.
  void discard(Done<void> done);

  /// As discard(), but whoever finishes it later is told: kCancelled.
  void cancel(Done<void> done);

  [[nodiscard]] std::uint64_t size_bytes() const;
  /// Whether every finish() from now on fails.
  [[nodiscard]] bool has_failed() const;
  /// Whether all bytes so far are visible.
  [[nodiscard]] bool is_stored() const;
  /// Of the version that the last finish() stored; empty before.
  [[nodiscard]] std::string stored_etag() const;
  /// Whether the next finish() is one PUT, which says itself that the key must be absent.
  [[nodiscard]] bool stores_if_absent() const;
  [[nodiscard]] const std::string& key() const noexcept { return key_; }

 private:
  struct Part {
    unsigned number = 0;
    PartBuffer buffer;
    std::size_t length = 0;
    std::uint64_t crc64nvme = 0;
  };
  struct Append {
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
    Deadline deadline;
    Done<void> done;
  };
  using Action = std::move_only_function<void()>;

  /// Carries out next_action() until there is none.
  void advance();
  [[nodiscard]] Action next_action() REQUIRES(mutex_);
  [[nodiscard]] Action next_for_append() REQUIRES(mutex_);
  [[nodiscard]] Action next_for_parts() REQUIRES(mutex_);
  [[nodiscard]] Action next_for_finish() REQUIRES(mutex_);
  [[nodiscard]] Action answer_all(Result<void> outcome) REQUIRES(mutex_);
  [[nodiscard]] Action next_when_stopped() REQUIRES(mutex_);

  /// Copies what fits into the part that is filling; how much that was.
  std::size_t fill(std::span<const std::byte> bytes) REQUIRES(mutex_);
  [[nodiscard]] bool is_idle() const REQUIRES(mutex_);
  [[nodiscard]] bool is_stopped() const REQUIRES(mutex_) { return error_ || discarded_; }
  [[nodiscard]] bool is_single_put() const REQUIRES(mutex_);
  void fail_with(Error error) REQUIRES(mutex_);
  void count(s3::Path path, std::size_t bytes);

  [[nodiscard]] Deadline request_deadline() const;
  void send_take(std::size_t size_bytes, Deadline deadline);
  void send_create();
  void send_part(const std::shared_ptr<Part>& part);
  void send_put(s3::PutBody body, bool only_if_absent);
  void on_put_failed(Error error, bool may_drop_condition) REQUIRES(mutex_);
  void send_complete(std::vector<s3::UploadedPart> parts);

  const Context context_;
  const std::string key_;

  mutable Mutex mutex_;  // leaf; held while up to 1 MiB is copied: one file's writers wait, only
  std::uint64_t size_bytes_ GUARDED_BY(mutex_) = 0;
  std::optional<Append> append_ GUARDED_BY(mutex_);  ///< waits for a buffer
  Part filling_ GUARDED_BY(mutex_);
  unsigned parts_begun_ GUARDED_BY(mutex_) = 0;
  std::deque<std::shared_ptr<Part>> ready_ GUARDED_BY(mutex_);  ///< full, to be sent
  std::map<unsigned, s3::UploadedPart> sent_ GUARDED_BY(mutex_);
  std::string upload_id_ GUARDED_BY(mutex_);
  unsigned requests_ GUARDED_BY(mutex_) = 0;  ///< under way; put and complete count too
  bool taking_ GUARDED_BY(mutex_) = false;
  bool creating_ GUARDED_BY(mutex_) = false;
  bool finishing_ GUARDED_BY(mutex_) = false;  ///< the put or completion is under way
  bool stored_ GUARDED_BY(mutex_);             ///< what was appended so far is visible
  std::string stored_etag_ GUARDED_BY(mutex_);
  bool only_if_absent_ GUARDED_BY(mutex_);  ///< the PUT must not replace anything
  bool sealed_ GUARDED_BY(mutex_) = false;  ///< and cannot be begun again
  bool discarded_ GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ GUARDED_BY(mutex_);
  std::vector<Done<void>> finishers_ GUARDED_BY(mutex_);
  std::vector<Done<void>> discarders_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::upload
