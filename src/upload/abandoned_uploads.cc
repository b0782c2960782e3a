// SPDX-License-Identifier: Apache-2.0
#include "upload/abandoned_uploads.h"

#include <chrono>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::upload {

AbandonedUploads::AbandonedUploads(s3::ObjectWriter& writer, const Clock& clock,
                                   metrics::Registry& metrics,
                                   std::chrono::milliseconds attempt_timeout,
                                   journal::UploadJournal* journal)
    : writer_(writer),
      clock_(clock),
      attempt_timeout_(attempt_timeout),
      journal_(journal),
      left_(metrics.gauge("upload_abandoned",
                          "Abandoned uploads whose parts the server still holds.")) {}

void AbandonedUploads::create(std::string key, s3::UserMetadata metadata, Deadline deadline,
                              Done<std::string> done) {
  const std::uint64_t number = journal_ == nullptr ? 0 : journal_->asked(key);
  auto created = [self = shared_from_this(), key, number,
                  done = std::move(done)](Result<std::string> id) mutable {
    if (self->journal_ != nullptr) {
      if (id) self->journal_->begun(key, *id);
      // A mount that ends does not wait for the answer.
      const bool is_answered = id || id.error().code != ErrorCode::kCancelled;
      if (is_answered) self->journal_->answered(number);
    }
    done(std::move(id));
  };
  writer_.create_upload(std::move(key), std::move(metadata), deadline, std::move(created));
}

void AbandonedUploads::completed(const std::string& upload_id) {
  if (journal_ != nullptr) journal_->ended(upload_id);
}

void AbandonedUploads::add_left() {
  if (journal_ == nullptr || journal_->left().empty()) return;
  log::info("upload: an earlier mount left {} multipart uploads; aborting them",
            journal_->left().size());
  for (const journal::UploadJournal::Upload& upload : journal_->left()) {
    add(upload.key, upload.id);
  }
}

void AbandonedUploads::add(std::string key, std::string upload_id) {
  left_.add(1);
  abort({std::move(key), std::move(upload_id)});
}

void AbandonedUploads::abort(Upload upload) {
  {
    const MutexLock lock(mutex_);
    ++in_flight_;
  }
  const std::string key = upload.key;
  const std::string id = upload.id;
  writer_.abort_upload(
      key, id, clock_.now() + attempt_timeout_,
      [self = shared_from_this(), upload = std::move(upload)](Result<void> aborted) mutable {
        if (aborted) {
          self->left_.add(-1);
          if (self->journal_ != nullptr) self->journal_->ended(upload.id);
        } else {
          log::debug("upload: abort of '{}' failed: {}; retrying later", upload.key,
                     aborted.error().detail);
        }
        const MutexLock lock(self->mutex_);
        if (!aborted) self->due_.push_back(std::move(upload));
        if (--self->in_flight_ == 0) self->settled_.notify_all();
      });
}

void AbandonedUploads::on_tick() {
  std::deque<Upload> due;
  {
    const MutexLock lock(mutex_);
    // One at a time: while the server is dead, each is a request that times out.
    if (in_flight_ > 0 || due_.empty()) return;
    due.push_back(std::move(due_.front()));
    due_.pop_front();
  }
  abort(std::move(due.front()));
}

void AbandonedUploads::end(Deadline deadline) {
  const MutexLock lock(mutex_);
  while (in_flight_ > 0 && settled_.wait_until(mutex_, deadline)) {
  }
  for (const Upload& upload : due_) {
    log::warn(
        "upload: mount ends before '{}' was aborted (upload {}): the server still holds parts of "
        "it; abort it, or let a lifecycle rule (AbortIncompleteMultipartUpload) do so",
        upload.key, upload.id);
  }
}

}  // namespace s3rdmafs::upload
