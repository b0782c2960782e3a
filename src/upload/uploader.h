// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "upload/object_parts.h"
#include "upload/part_sizes.h"

namespace s3rdmafs::upload {

/// Writes one object from its first byte to its last. Bytes fill part buffers as they come; full
/// parts are sent while the next fills; finish() makes the object visible, whole. An object that
/// was never finished never shows. Thread-safe; `done` rules as in base/callback.h.
class Uploader : public std::enable_shared_from_this<Uploader> {
 public:
  struct Metrics {
    metrics::Counter& rdma_bytes;
    metrics::Counter& http_bytes;
    metrics::Counter& copied_bytes;  ///< on the server, from a base version
    metrics::Gauge& in_progress;
  };
  /// Shared by all uploads of a mount; borrowed.
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

  /// The state of the key when the object begins, as far as the caller knows.
  enum class Start {
    kReplacing,  ///< anything: the object takes its place
    kIfAbsent,   ///< nothing: where another client stored something since, finish() fails
    kStored,     ///< an empty object, which counts as stored until bytes come
  };

  Uploader(const Context& context, std::string key, Start start = Start::kReplacing);
  ~Uploader();

  /// Takes bytes at the object's end. Bytes that find no room in a buffer are copied and wait for
  /// one until `deadline`; `done` when all were taken, or have a place in a buffer: they are read
  /// until this returns, which may be after `done`. One call at a time, until its `done`.
  /// Errors: kSequentialOnly (offset_bytes is not the end; or the object is complete and too large
  /// to begin again, see finish), kTooLarge, kBusy (another call is not yet done), kNoMemory, and
  /// any error of a part. The last two are final: every later call and finish() fail too.
  void append(std::uint64_t offset_bytes, std::span<const std::byte> bytes, Deadline deadline,
              Done<void> done);

  /// Makes the object visible with the bytes so far. Costs nothing where they are visible already.
  /// An object that still fits one part may be appended to afterwards, and be finished again; a
  /// larger one is complete for good, since S3 cannot append.
  /// Errors: those of the writer; kStale: the key is not in the state that require() names, since
  /// another client changed it.
  void finish(Done<void> done);

  /// The state of the key that the server must find when the object becomes visible; kAbsent to
  /// begin with after kIfAbsent, and the version that was stored last after a finish().
  void require(s3::Precondition when);

  /// As if a request had failed with `error`: nothing more of it becomes visible, and finish()
  /// fails with it. Does nothing where all bytes are stored.
  void give_up(Error error);

  /// The object is not wanted: nothing more of it becomes visible, and bytes appended from now on
  /// are dropped. `done` when none of its requests is under way; what was finished before stays.
  void discard(Done<void> done);

  /// As discard(), but a later finish() fails with kCancelled unless all bytes are stored.
  void cancel(Done<void> done);

  [[nodiscard]] std::uint64_t size_bytes() const;
  /// Whether every finish() from now on fails.
  [[nodiscard]] bool has_failed() const;
  /// Whether all bytes so far are visible.
  [[nodiscard]] bool is_stored() const;
  /// The ETag of the version that the last finish() stored; empty before.
  [[nodiscard]] std::string stored_etag() const;
  [[nodiscard]] const std::string& key() const noexcept { return key_; }

 private:
  /// enter() has the transitions.
  enum class Phase {
    kAppending,  ///< takes bytes
    kStoring,    ///< the PUT or the completion is under way: bytes wait
    kComplete,   ///< visible, and cannot be begun again: bytes are refused
    kFailed,     ///< nothing new begins; every caller gets error_
    kDiscarded,  ///< nothing new begins; bytes are dropped
  };
  /// Bytes of append() that wait for a buffer.
  struct Append {
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
    Deadline deadline;
    Done<void> done;
  };
  using Action = std::move_only_function<void()>;

  // In uploader.cc: what callers ask for, and what to do next.

  void enter(Phase next) REQUIRES(mutex_);
  void fail_with(Error error) REQUIRES(mutex_);
  [[nodiscard]] Result<void> check_append(std::uint64_t offset_bytes, std::size_t bytes) const
      REQUIRES(mutex_);
  /// Begins the next part where the bytes of an append need it, so that they need not wait aside.
  /// Returns whether it did so; the append then counts as arriving_, lest the object ends with an
  /// empty part.
  [[nodiscard]] bool begin_part_for(std::uint64_t offset_bytes, std::size_t bytes,
                                    Deadline deadline);
  /// A place for all of the bytes; none where they do not fit the part that fills.
  [[nodiscard]] std::optional<Landing> reserve(std::size_t bytes) REQUIRES(mutex_);
  void land(Landing landing, std::span<const std::byte> bytes);
  /// Takes what there is room for now; returns how many bytes that was.
  std::size_t take_now(std::span<const std::byte> bytes) REQUIRES(mutex_);
  [[nodiscard]] std::unexpected<Error> complete_already() const;

  /// Carries out next_action() until there is none.
  void advance();
  [[nodiscard]] Action next_action() REQUIRES(mutex_);
  [[nodiscard]] Action next_for_append() REQUIRES(mutex_);
  [[nodiscard]] Action next_for_parts() REQUIRES(mutex_);
  [[nodiscard]] Action next_for_finish() REQUIRES(mutex_);
  [[nodiscard]] Action next_when_over() REQUIRES(mutex_);
  [[nodiscard]] Action end_append() REQUIRES(mutex_);
  [[nodiscard]] static Action answer_all(std::vector<Done<void>>& waiting, Result<void> outcome);

  [[nodiscard]] bool is_over() const REQUIRES(mutex_);
  [[nodiscard]] bool is_idle() const REQUIRES(mutex_);
  [[nodiscard]] bool is_single_put() const REQUIRES(mutex_);

  // In uploader_requests.cc: requests and their ends.

  void send_take(std::size_t size_bytes, Deadline deadline);
  void on_buffer(Result<PartBuffer> buffer);
  void send_create();
  void on_created(Result<std::string> upload_id);
  void send_part(std::string upload_id, const std::shared_ptr<Part>& part);
  void on_part(Part& part, s3::PutOutcome outcome);
  void send_put(const s3::PutBody& body, const s3::Precondition& when);
  void on_put(std::size_t length, s3::PutOutcome outcome);
  void on_stored(std::string etag) REQUIRES(mutex_);
  [[nodiscard]] Error as_conflict(Error error) const;
  void send_complete(const std::string& upload_id, std::vector<s3::UploadedPart> parts,
                     const s3::Precondition& when);
  void on_completed(const Result<std::string>& etag);

  [[nodiscard]] Deadline request_deadline() const;
  void count(s3::Path path, std::size_t bytes);

  const Context context_;
  const std::string key_;

  mutable Mutex mutex_;  // leaf; held while bytes are copied that cross from part to part, for
                         // which only this file's writers wait
  Phase phase_ GUARDED_BY(mutex_) = Phase::kAppending;
  std::optional<Error> error_ GUARDED_BY(mutex_);  ///< the first; kept in every later phase
  std::uint64_t size_bytes_ GUARDED_BY(mutex_) = 0;
  std::optional<Append> append_ GUARDED_BY(mutex_);
  ObjectParts parts_ GUARDED_BY(mutex_);
  std::string upload_id_ GUARDED_BY(mutex_);
  unsigned requests_ GUARDED_BY(mutex_) = 0;  ///< parts, PUTs and completions under way
  unsigned arriving_ GUARDED_BY(mutex_) = 0;  ///< appends whose bytes are on their way into a part
  bool taking_ GUARDED_BY(mutex_) = false;    ///< a buffer is asked for
  bool creating_ GUARDED_BY(mutex_) = false;  ///< the upload is being created
  bool stored_ GUARDED_BY(mutex_);            ///< all bytes so far are visible
  std::string stored_etag_ GUARDED_BY(mutex_);
  s3::Precondition when_ GUARDED_BY(mutex_);
  std::vector<Done<void>> finishers_ GUARDED_BY(mutex_);
  std::vector<Done<void>> discarders_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::upload
