// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s3/object_writer.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/worker_thread.h"
#include "upload/early/early_upload.h"
#include "upload/object_parts.h"
#include "upload/staged/staged_uploads.h"
#include "upload/staged/upload_plan.h"

namespace s3rdmafs::upload {

/// One attempt to store one staged object, from its plan to the answer. Lives as long as its
/// requests; StagedUploads decides whether another follows.
class StagedAttempt : public std::enable_shared_from_this<StagedAttempt> {
 public:
  /// Borrows all.
  struct Context {
    const Uploader::Context& uploads;
    WorkerThread& thread;  ///< reads and computes checksums
    bool copies = false;   ///< whether the server may be asked to copy from the base
    /// Of an upload that has parts of the object, which this attempt completes. Nothing: a new one.
    std::optional<EarlyUpload::Sent> begun = {};
  };
  struct Outcome {
    Result<std::string> etag;
    bool copy_was_refused = false;  ///< the server has no such copies
    /// After an error, where the bytes have no other copy: the upload, for another attempt, which
    /// else was abandoned. The caller owns it.
    std::optional<EarlyUpload::Sent> begun = {};
  };
  using AttemptDone = std::move_only_function<void(Outcome)>;

  static void start(Context context, std::shared_ptr<const StagedObject> object,
                    std::shared_ptr<StagedSource> source, AttemptDone done);

 private:
  using Action = std::move_only_function<void()>;
  using PartPtr = std::shared_ptr<Part>;

  StagedAttempt(Context context, std::shared_ptr<const StagedObject> object,
                std::shared_ptr<StagedSource> source, AttemptDone done)
      : context_(std::move(context)),
        object_(std::move(object)),
        source_(std::move(source)),
        done_(std::move(done)) {}

  void plan();
  /// Whether the server has all bytes already, and copies them.
  [[nodiscard]] bool is_metadata_only() const;
  /// Of the base, which has the same bytes; else none.
  [[nodiscard]] s3::StoredHeaders kept_headers() const;
  void copy_whole();
  /// Carries out next_action() until there is none.
  void advance();
  [[nodiscard]] Action next_action() REQUIRES(mutex_);
  [[nodiscard]] Action next_part() REQUIRES(mutex_);
  [[nodiscard]] Action end_in_failure() REQUIRES(mutex_);
  /// The begun upload, with the parts that this attempt has added.
  [[nodiscard]] EarlyUpload::Sent begun_with_parts() REQUIRES(mutex_);
  void fail_with(Error error) REQUIRES(mutex_);
  void succeed(std::string etag);

  void send_create();
  void copy_part(ByteRange bytes, unsigned number, const std::string& upload_id);
  /// The parts that begun uploads and this one have, and those of the plan that they lack.
  [[nodiscard]] Result<std::vector<PlannedPart>> make_plan();
  void read_bytes(ByteRange bytes, unsigned number);
  void part_failed(Error error);
  void send_bytes(const PartPtr& part);
  void send_put(const PartPtr& part);
  void send_complete();
  [[nodiscard]] Deadline request_deadline() const;

  const Context context_;
  const std::shared_ptr<const StagedObject> object_;
  const std::shared_ptr<StagedSource> source_;
  // Complete before the first request.
  std::vector<PlannedPart> plan_;
  bool is_single_put_ = false;

  Mutex mutex_;  // leaf
  AttemptDone done_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);  ///< the first
  bool copy_was_refused_ GUARDED_BY(mutex_) = false;
  bool creating_ GUARDED_BY(mutex_) = false;
  bool completing_ GUARDED_BY(mutex_) = false;
  std::string upload_id_ GUARDED_BY(mutex_);
  std::size_t next_ GUARDED_BY(mutex_) = 0;    ///< place in the plan
  unsigned under_way_ GUARDED_BY(mutex_) = 0;  ///< parts, from the wait for a buffer on
  std::map<unsigned, s3::UploadedPart> sent_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::upload
