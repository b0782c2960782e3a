// SPDX-License-Identifier: Apache-2.0
// The requests of one object, and what their ends change of its state; uploader.cc decides when
// each is sent. A request holds the Uploader until it has ended.
#include <utility>

#include "upload/uploader.h"

namespace s3rdmafs::upload {

Deadline Uploader::request_deadline() const {
  return context_.clock.now() + context_.request_timeout;
}

void Uploader::count(s3::Path path, std::size_t bytes) {
  (path == s3::Path::kRdma ? context_.metrics.rdma_bytes : context_.metrics.http_bytes).add(bytes);
}

void Uploader::send_take(std::size_t size_bytes, Deadline deadline) {
  context_.buffers.take(size_bytes, deadline,
                        [self = shared_from_this()](Result<PartBuffer> buffer) {
                          self->on_buffer(std::move(buffer));
                        });
}

void Uploader::on_buffer(Result<PartBuffer> buffer) {
  {
    const MutexLock lock(mutex_);
    taking_ = false;
    if (buffer) {
      parts_.begin(std::move(*buffer));
    } else {
      fail_with(std::move(buffer.error()));
    }
  }
  advance();
}

void Uploader::send_create() {
  context_.abandoned.create(key_, /*metadata=*/{}, request_deadline(),
                            [self = shared_from_this()](Result<std::string> upload_id) {
                              self->on_created(std::move(upload_id));
                            });
}

void Uploader::on_created(Result<std::string> upload_id) {
  {
    const MutexLock lock(mutex_);
    creating_ = false;
    if (upload_id) {
      upload_id_ = std::move(*upload_id);
    } else {
      fail_with(std::move(upload_id.error()));
    }
  }
  advance();
}

void Uploader::send_part(std::string upload_id, const std::shared_ptr<Part>& part) {
  context_.writer.upload_part(key_, std::move(upload_id), part->number, part->body(),
                              request_deadline(),
                              [self = shared_from_this(), part](s3::PutOutcome outcome) {
                                self->on_part(*part, std::move(outcome));
                              });
}

void Uploader::on_part(Part& part, s3::PutOutcome outcome) {
  if (outcome.late_read_possible) part.buffer.let_rest();
  if (outcome.etag) count(outcome.path, part.length);
  part.buffer = {};  // before anything else begins: a waiting writer should get this one
  {
    const MutexLock lock(mutex_);
    --requests_;
    if (outcome.etag) {
      parts_.add_sent({.number = part.number,
                       .etag = std::move(*outcome.etag),
                       .crc64nvme = part.crc64nvme,
                       .size_bytes = part.length});
    } else {
      fail_with(std::move(outcome.etag.error()));
    }
  }
  advance();
}

void Uploader::send_put(const s3::PutBody& body, const s3::Precondition& when) {
  context_.writer.put(key_, body, {.when = when}, request_deadline(),
                      [self = shared_from_this(), length = body.window.length](
                          s3::PutOutcome outcome) { self->on_put(length, std::move(outcome)); });
}

void Uploader::on_put(std::size_t length, s3::PutOutcome outcome) {
  if (outcome.etag) count(outcome.path, length);
  ObjectParts::Buffers withheld;  // given back after the lock
  {
    const MutexLock lock(mutex_);
    --requests_;
    enter(Phase::kAppending);
    if (outcome.etag) {
      on_stored(std::move(*outcome.etag));
    } else {
      fail_with(as_conflict(std::move(outcome.etag.error())));
    }
    if (outcome.late_read_possible) {
      withheld = parts_.take_buffers();
      if (withheld.filling) withheld.filling->buffer.let_rest();
      enter(Phase::kComplete);
    }
  }
  advance();
}

Error Uploader::as_conflict(Error error) const {
  if (error.code != ErrorCode::kExists && error.code != ErrorCode::kStale) return error;
  return {ErrorCode::kStale, "'" + key_ + "' was changed by another client"};
}

void Uploader::on_stored(std::string etag) {
  stored_ = true;
  stored_etag_ = std::move(etag);
  when_ = s3::Precondition::matches(stored_etag_);
}

void Uploader::send_complete(const std::string& upload_id, std::vector<s3::UploadedPart> parts,
                             const s3::Precondition& when) {
  const Deadline deadline = request_deadline() + s3::assembly_time(parts);
  context_.writer.complete_upload(
      key_, upload_id, std::move(parts), when, deadline,
      [self = shared_from_this(), upload_id](const Result<std::string>& etag) {
        if (etag) self->context_.abandoned.completed(upload_id);
        self->on_completed(etag);
      });
}

void Uploader::on_completed(const Result<std::string>& etag) {
  {
    const MutexLock lock(mutex_);
    --requests_;
    if (etag) {
      upload_id_.clear();
      on_stored(*etag);
      enter(Phase::kComplete);
    } else {
      fail_with(as_conflict(etag.error()));
    }
  }
  advance();
}

}  // namespace s3rdmafs::upload
