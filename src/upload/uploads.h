// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "journal/upload_journal.h"
#include "memory/arena.h"
#include "rdma/fabric.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/abandoned_uploads.h"
#include "upload/buffer_pool.h"
#include "upload/unanswered_uploads.h"
#include "upload/uploader.h"

namespace s3rdmafs::upload {

class StagedUploads;

/// The writing half of a mount. Owns the part buffers, which are allocated and registered at mount,
/// and makes an Uploader for each object. Thread-safe.
class Uploads {
 public:
  struct Options {
    std::uint64_t part_bytes = 0;    ///< of the first parts; a multiple of a small page
    std::uint64_t buffer_bytes = 0;  ///< registered memory; at least two parts
    unsigned parallel_parts = 0;     ///< of one object
    std::chrono::milliseconds request_timeout{};  ///< of one request, with its retries
    memory::Arena::Lock lock = memory::Arena::Lock::kTry;
    /// Remembers multipart uploads for the next mount. Borrowed; null: none is remembered.
    journal::UploadJournal* journal = nullptr;
  };

  /// Allocates the memory. Borrows all but the options. Errors: as memory::Arena::create.
  [[nodiscard]] static Result<std::unique_ptr<Uploads>> create(s3::ObjectWriter& writer,
                                                               rdma::Fabric& fabric,
                                                               const Clock& clock,
                                                               metrics::Registry& metrics,
                                                               const Options& options);
  ~Uploads();

  /// A new object, empty so far. Destroy the Uploader before this.
  [[nodiscard]] std::shared_ptr<Uploader> begin(
      std::string key, Uploader::Start start = Uploader::Start::kReplacing);

  /// Stores objects from staging files, out of the same buffers; made by the first call, which is
  /// the mount's main thread's. Lives as long as this.
  [[nodiscard]] StagedUploads& staged();

  /// Aborts the uploads that the journal says an earlier mount left, now or later.
  void abort_left();

  /// The deadline of a request that begins now.
  [[nodiscard]] Deadline request_deadline() const;

  /// Ends every wait for a buffer, and waits until `deadline` for the aborts under way. Call it
  /// before the store is shut down. Blocks.
  void shut_down(Deadline deadline);

 private:
  Uploads(std::unique_ptr<memory::Arena> arena, s3::ObjectWriter& writer, const Clock& clock,
          metrics::Registry& metrics, const Options& options);
  void on_tick();

  // In order of dependency.
  const std::unique_ptr<memory::Arena> arena_;
  journal::UploadJournal* const journal_;
  const std::shared_ptr<AbandonedUploads> abandoned_;
  const std::shared_ptr<UnansweredUploads> unanswered_;  ///< null: there is no journal
  BufferPool buffers_;
  const Uploader::Context context_;
  std::unique_ptr<StagedUploads> staged_;
};

}  // namespace s3rdmafs::upload
