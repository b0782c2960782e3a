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
/// they are aborted; and the usual reason for giving up an upload is a server that is gone. So each
/// is aborted now, and where that fails, again every few seconds until the mount ends. What is left
/// then is named in the log, and a lifecycle rule of the bucket can remove it
/// (AbortIncompleteMultipartUpload). Thread-safe.
class AbandonedUploads : public std::enable_shared_from_this<AbandonedUploads> {
 public:
  /// Borrows all. @param attempt_timeout  how long one abort may take, with its retries
  AbandonedUploads(s3::ObjectWriter& writer, const Clock& clock, metrics::Registry& metrics,
                   std::chrono::milliseconds attempt_timeout);

  void add(std::string key, std::string upload_id);
  /// To be called about once a second: tries again what is due.
  void on_tick();
  /// The mount ends: gives aborts under way until `deadline`, and logs what is left. Blocks.
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
  std::deque<Upload> due_ GUARDED_BY(mutex_);
  std::size_t in_flight_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::upload
