// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "s3/object_writer.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/worker_thread.h"
#include "upload/early/postponed_jobs.h"
#include "upload/staged/byte_ranges.h"
#include "upload/staged/stored_parts.h"
#include "upload/uploader.h"

namespace s3rdmafs::upload {

class EarlyUpload;

/// Where the bytes of a staged object come from: the staging file, and its base version where that
/// lacks them. Thread-safe: several reads of one object are under way at once.
class StagedSource {
 public:
  virtual ~StagedSource() = default;
  /// Fills the whole of `out` with the object's bytes from `offset_bytes` on. The range lies within
  /// the object, up to a whole part; `out` stays valid until `done`. May block for a local file: it
  /// is called on the threads of StagedUploads. `done` rules as in base/callback.h.
  virtual void read(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline deadline,
                    Done<void> done) = 0;
};

/// An object to store, as it is when store() is called.
struct StagedObject {
  std::string key;
  std::uint64_t size_bytes = 0;
  /// The version that the bytes outside of `changed` belong to; its key is the one copied from.
  /// Nothing: every byte is changed.
  std::optional<s3::ObjectInfo> base = {};
  /// Contains every byte at and beyond the base's size.
  ByteRanges changed = {};
  s3::Precondition when = {};
  s3::UserMetadata metadata = {};
  /// Of a file that may have changed at fewer places than `changed` says; null: of others.
  std::shared_ptr<StoredParts> parts = {};

  /// Of a file that was written in order: an upload under way that may have parts of it. It is
  /// completed, or abandoned, with the store. Null: none.
  std::shared_ptr<EarlyUpload> early = {};
  /// The bytes that have not changed since `early` began to read them.
  ByteRanges as_sent = {};
  /// The source has no more all of as_sent: `early` must be completed.
  bool needs_early = false;

  /// Whether the server has all bytes already: only the metadata differs.
  [[nodiscard]] bool has_bytes_of_base() const {
    return base && changed.empty() && size_bytes == base->size_bytes;
  }
};

/// Stores staged objects: what fits one part is one PUT; of a larger one changed parts are sent by
/// RDMA or HTTP out of the mount's part buffers, and the rest is copied on the server. Where the
/// metadata alone differs, the object is copied onto itself, or sent again if it fits one part.
/// Takes no memory beyond those buffers. A caller keeps its staged bytes until `done` says success.
/// Made by Uploads. Thread-safe.
class StagedUploads {
 public:
  /// Borrows what the context borrows.
  explicit StagedUploads(const Uploader::Context& context);
  /// No store is under way.
  ~StagedUploads();

  /// Ends the threads, which may answer callers: afterwards only the store's threads do. A store
  /// that still needs them fails with kCancelled. Blocks for a local file.
  void shut_down();

  /// Stores one object; it becomes visible whole, or not at all. Holds `source` until `done`. At
  /// most parallel_parts of one object are under way at once. `done` gets the new ETag, on any
  /// thread, when no request of the object is under way. After an error nothing of it is visible,
  /// unless the last answer was lost, and its upload is aborted now or later (AbandonedUploads).
  /// Errors: kStale (another client changed the key, by `object.when`, or the base is gone),
  ///         kUnsupported (the metadata alone differs, and the server copies no objects),
  ///         kTooLarge, kNoMemory (no part buffer came free), those of the writer and the source.
  ///         Where object.needs_early, an error loses the bytes that the upload has alone; so one
  ///         that may pass is tried again, as long as Patience lasts.
  void store(StagedObject object, std::shared_ptr<StagedSource> source, Done<std::string> done);

  /// An object that is not complete yet.
  struct EarlyObject {
    std::string key;
    s3::UserMetadata metadata;
    std::uint64_t run = 0;             ///< EarlyUpload::run()
    std::uint64_t part_bytes_max = 0;  ///< as far as the sizes of parts allow
  };
  [[nodiscard]] std::shared_ptr<EarlyUpload> begin_early(EarlyObject object);
  /// A file of more than this is worth to be begun so.
  [[nodiscard]] std::uint64_t first_part_bytes() const { return context_.part_sizes.first_bytes; }

 private:
  /// Ends the early upload first, which then is completed or abandoned.
  void store_early(std::shared_ptr<StagedObject> object, std::shared_ptr<StagedSource> source,
                   Done<std::string> done);
  struct EarlyStore;
  void complete_early(const std::shared_ptr<EarlyStore>& store);
  void on_early_failed(const std::shared_ptr<EarlyStore>& store, Error error);
  void end_early_in_vain(EarlyStore& store, Error error);
  void abandon(EarlyStore& store);
  /// Whether to look first which parts have changed.
  [[nodiscard]] bool may_have_parts(const StagedObject& object) const;
  void attempt(std::shared_ptr<const StagedObject> object, std::shared_ptr<StagedSource> source,
               Done<std::string> done);
  [[nodiscard]] static std::unexpected<Error> failed(const StagedObject& object, Error error);

  const Uploader::Context context_;
  /// Remembers that the server lacks a kind of copy, with one warning. False: another attempt would
  /// cost too much.
  [[nodiscard]] bool may_go_without_copy(const StagedObject& object);

  std::atomic<bool> lacks_part_copies_{false};    ///< the server has no UploadPartCopy
  std::atomic<bool> lacks_object_copies_{false};  ///< the server has no CopyObject
  std::atomic<std::size_t> next_thread_{0};
  PostponedJobs postponed_;  ///< run by the first thread
  // Two keep one store busy: one copies out of the page cache while the other computes a checksum.
  std::array<WorkerThread, 2> threads_;  // last: their jobs use the rest
};

}  // namespace s3rdmafs::upload
