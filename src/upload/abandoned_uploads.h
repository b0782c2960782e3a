// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "s3/object_writer.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::upload {

/// Multipart uploads that will never be completed. Their parts take up room on the server until
/// they are aborted, and the usual reason for abandoning an upload is a dead server. So each is
/// aborted at once, and where that fails, again every few seconds until the mount ends. The log
/// names those that are left then; a lifecycle rule of the bucket can remove them
/// (AbortIncompleteMultipartUpload). Thread-safe.
class AbandonedUploads : public std::enable_shared_from_this<AbandonedUploads> {
 public:
  /// Borrows all.
  /// @param attempt_timeout  how long one abort may take, with its retries
  AbandonedUploads(s3::ObjectWriter& writer, const Clock& clock, metrics::Registry& metrics,
                   std::chrono::milliseconds attempt_timeout);

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
  metrics::Gauge& left_;

  Mutex mutex_;  // leaf
  CondVar settled_;
  std::deque<Upload> due_ GUARDED_BY(mutex_);  ///< whose last abort failed
  std::size_t in_flight_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::upload
