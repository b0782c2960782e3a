// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "journal/upload_journal.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::upload {

/// Multipart uploads that will never be completed. Their parts take up room on the server until
/// they are aborted, and the usual reason for abandoning an upload is a dead server. So each is
/// aborted at once, and where that fails, again every few seconds until the mount ends. The log
/// names those that are left then; a lifecycle rule of the bucket can remove them
/// (AbortIncompleteMultipartUpload). A journal, where there is one, remembers every upload that is
/// neither completed nor aborted, for the next mount. Thread-safe.
class AbandonedUploads : public std::enable_shared_from_this<AbandonedUploads> {
 public:
  /// Borrows all.
  /// @param attempt_timeout  how long one abort may take, with its retries
  /// @param journal          null: none is remembered
  AbandonedUploads(s3::ObjectWriter& writer, const Clock& clock, metrics::Registry& metrics,
                   std::chrono::milliseconds attempt_timeout,
                   journal::UploadJournal* journal = nullptr);

  /// ObjectWriter::create_upload, remembered from before it is sent.
  void create(std::string key, s3::UserMetadata metadata, Deadline deadline,
              Done<std::string> done);
  /// The upload has become an object.
  void completed(const std::string& upload_id);
  /// Aborts what an earlier mount began and did not end, as the journal says.
  void add_left();

  /// Aborts the upload, now or later. None of its parts is still being sent.
  void add(std::string key, std::string upload_id);
  /// Tries one failed abort again; to be called about once a second.
  void on_tick();
  /// The mount ends: waits until `deadline` for aborts under way, and logs what is left. Blocks.
  void end(Deadline deadline);

 private:
  struct Upload {
    std::string key;
    std::string id;
  };
  void abort(Upload upload);

  s3::ObjectWriter& writer_;
  const Clock& clock_;
  const std::chrono::milliseconds attempt_timeout_;
  journal::UploadJournal* const journal_;
  metrics::Gauge& left_;

  Mutex mutex_;  // leaf
  CondVar settled_;
  std::deque<Upload> due_ GUARDED_BY(mutex_);  ///< whose last abort failed
  std::size_t in_flight_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::upload
