// SPDX-License-Identifier: Apache-2.0
// One attempt to store a staged object.
//
// How it works: as Uploader does. Each event changes the state under the lock; then advance() asks
// the state what to do next, and does it without the lock. A part takes a buffer, is read into it
// on a thread that may block for a local file (at once where it is small), and is sent; a copied
// part is one request. At most parallel_parts of them are under way, counted from the wait for a
// buffer on, so an object holds no more buffers than that.
//
// After an error nothing new begins. When the last part has ended (one that arrives after an abort
// would stay on the server) the upload is abandoned, and the caller gets the error.
//
// Late reads. A buffer that the server may still read rests (upload/buffer_pool.cc).
//
// Locks. mutex_ is a leaf.
#include "upload/staged/staged_attempt.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::upload {
namespace {

// Buffers come free as fast as the server takes parts. While it does, a store that waits in line is
// not to fail; where it does not, the requests before it in line fail one after the other.
constexpr int kBufferPatience = 10;  // times the time of a request

// A file of this size was nearly always written just now, so its bytes are in memory, and to read
// them takes less time than to wake another thread.
constexpr std::uint64_t kReadAtOnceMax = 64 * kKiB;

// As assembly_time() in s3/object_writer.h: the speed of a server that copies on a slow disk.
std::chrono::seconds server_copy_time(std::uint64_t bytes) {
  constexpr std::uint64_t kBytesPerSecond = 32 * kMiB;
  return std::chrono::seconds(bytes / kBytesPerSecond + 1);
}

}  // namespace

void StagedAttempt::start(const Context& context, std::shared_ptr<const StagedObject> object,
                          std::shared_ptr<StagedSource> source, AttemptDone done) {
  const std::shared_ptr<StagedAttempt> made(
      new StagedAttempt(context, std::move(object), std::move(source), std::move(done)));
  context.uploads.metrics.in_progress.add(1);
  if (made->object_->parts) made->object_->parts->begin();
  if (made->is_metadata_only()) return made->copy_whole();
  made->plan();
  made->advance();
}

bool StagedAttempt::is_metadata_only() const {
  return context_.copies && object_->has_bytes_of_base();
}

s3::StoredHeaders StagedAttempt::kept_headers() const {
  const bool has_any = object_->has_bytes_of_base() && object_->base->headers;
  return has_any ? *object_->base->headers : s3::StoredHeaders();
}

void StagedAttempt::copy_whole() {
  const s3::ObjectInfo& base = *object_->base;
  context_.uploads.writer.copy(
      {.key = base.key, .etag = base.etag, .size_bytes = base.size_bytes}, object_->key,
      {.when = object_->when, .metadata = object_->metadata, .headers = kept_headers()},
      request_deadline(), [self = shared_from_this()](Result<std::string> etag) {
        if (etag) return self->succeed(std::move(*etag));
        {
          const MutexLock lock(self->mutex_);
          self->copy_was_refused_ = etag.error().code == ErrorCode::kUnsupported;
          self->fail_with(std::move(etag.error()));
        }
        self->advance();
      });
}

void StagedAttempt::plan() {
  const PartSizes& sizes = context_.uploads.part_sizes;
  const bool copies = context_.copies && object_->size_bytes > sizes.first_bytes;
  auto planned = plan_upload(
      object_->size_bytes, copies ? std::optional(object_->base->size_bytes) : std::nullopt,
      object_->changed, {.part_bytes = sizes.first_bytes, .part_bytes_max = sizes.max_bytes});
  const MutexLock lock(mutex_);
  if (!planned) return fail_with(std::move(planned.error()));
  plan_ = std::move(*planned);
  is_single_put_ = object_->size_bytes <= sizes.first_bytes;
}

Deadline StagedAttempt::request_deadline() const {
  return context_.uploads.clock.now() + context_.uploads.request_timeout;
}

// The next action

void StagedAttempt::advance() {
  for (;;) {
    Action action;
    {
      const MutexLock lock(mutex_);
      action = next_action();
    }
    if (!action) return;
    action();
  }
}

StagedAttempt::Action StagedAttempt::next_action() {
  if (!done_ || completing_ || creating_) return {};
  if (error_) return under_way_ == 0 ? end_in_failure() : Action();
  if (!is_single_put_ && upload_id_.empty()) {
    creating_ = true;
    return [self = shared_from_this()] { self->send_create(); };
  }
  if (is_single_put_ && plan_.empty() && next_ == 0) {
    ++next_;
    ++under_way_;
    return [self = shared_from_this()] { self->send_put(std::make_shared<Part>()); };
  }
  if (next_ < plan_.size()) return next_part();
  if (is_single_put_ || under_way_ > 0) return {};
  completing_ = true;
  return [self = shared_from_this()] { self->send_complete(); };
}

StagedAttempt::Action StagedAttempt::next_part() {
  if (under_way_ >= context_.uploads.parallel_parts) return {};
  ++under_way_;
  const PlannedPart planned = plan_[next_++];
  const auto number = static_cast<unsigned>(next_);
  if (planned.how == PlannedPart::How::kCopy) {
    return [self = shared_from_this(), planned, number, id = upload_id_] {
      self->copy_part(planned.bytes, number, id);
    };
  }
  return [self = shared_from_this(), planned, number] { self->take_buffer(planned.bytes, number); };
}

StagedAttempt::Action StagedAttempt::end_in_failure() {
  return [self = shared_from_this(), id = std::exchange(upload_id_, {}),
          done = std::exchange(done_, nullptr), error = *error_,
          copy_was_refused = copy_was_refused_]() mutable {
    if (!id.empty()) self->context_.uploads.abandoned.add(self->object_->key, std::move(id));
    self->context_.uploads.metrics.in_progress.add(-1);
    done({.etag = std::unexpected(std::move(error)), .copy_was_refused = copy_was_refused});
  };
}

void StagedAttempt::fail_with(Error error) {
  if (!error_) error_ = std::move(error);
}

void StagedAttempt::succeed(std::string etag) {
  AttemptDone done;
  {
    const MutexLock lock(mutex_);
    done = std::exchange(done_, nullptr);
  }
  context_.uploads.metrics.in_progress.add(-1);
  if (object_->parts) object_->parts->succeeded(object_->size_bytes);
  done({.etag = std::move(etag)});
}

// Requests and their ends

void StagedAttempt::send_create() {
  context_.uploads.abandoned.create(object_->key, object_->metadata, request_deadline(),
                                    [self = shared_from_this()](Result<std::string> id) {
                                      {
                                        const MutexLock lock(self->mutex_);
                                        self->creating_ = false;
                                        if (id) {
                                          self->upload_id_ = std::move(*id);
                                        } else {
                                          self->fail_with(std::move(id.error()));
                                        }
                                      }
                                      self->advance();
                                    });
}

void StagedAttempt::copy_part(ByteRange bytes, unsigned number, const std::string& upload_id) {
  const s3::ObjectInfo& base = *object_->base;
  context_.uploads.writer.upload_part_copy(
      {.key = base.key, .etag = base.etag, .size_bytes = base.size_bytes}, bytes.begin,
      bytes.size(), object_->key, upload_id, number,
      request_deadline() + server_copy_time(bytes.size()),
      [self = shared_from_this(), bytes, number](Result<std::string> etag) {
        if (etag) self->context_.uploads.metrics.copied_bytes.add(bytes.size());
        {
          const MutexLock lock(self->mutex_);
          --self->under_way_;
          if (etag) {
            // The server does not say the part's checksum, so the object's cannot be compared.
            self->sent_[number] = {.number = number, .etag = std::move(*etag)};
          } else {
            self->copy_was_refused_ |= etag.error().code == ErrorCode::kUnsupported;
            self->fail_with(std::move(etag.error()));
          }
        }
        self->advance();
      });
}

void StagedAttempt::take_buffer(ByteRange bytes, unsigned number) {
  const std::uint64_t chunk_bytes = context_.uploads.part_sizes.first_bytes;
  const std::uint64_t buffer_bytes = (bytes.size() + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
  context_.uploads.buffers.take(
      buffer_bytes,
      context_.uploads.clock.now() + kBufferPatience * context_.uploads.request_timeout,
      [self = shared_from_this(), bytes, number](Result<PartBuffer> buffer) {
        if (!buffer) return self->part_failed(std::move(buffer.error()));
        auto part = std::make_shared<Part>();
        part->number = number;
        part->buffer = std::move(*buffer);
        part->length = bytes.size();
        if (self->is_single_put_ && part->length <= kReadAtOnceMax) {
          return self->read_part(bytes.begin, part);
        }
        const bool is_posted = self->context_.thread.post(
            [self, offset = bytes.begin, part] { self->read_part(offset, part); });
        if (!is_posted) {
          part->buffer = {};
          self->part_failed({ErrorCode::kCancelled, "the mount is going down"});
        }
      });
}

void StagedAttempt::read_part(std::uint64_t offset_bytes, const PartPtr& part) {
  source_->read(offset_bytes, part->buffer.bytes().first(part->length), request_deadline(),
                [self = shared_from_this(), part](Result<void> read) {
                  if (!read) {
                    part->buffer = {};
                    return self->part_failed(std::move(read.error()));
                  }
                  part->crc64nvme = crc64nvme(0, part->buffer.bytes().first(part->length));
                  self->is_single_put_ ? self->send_put(part) : self->send_part(part);
                });
}

void StagedAttempt::part_failed(Error error) {
  {
    const MutexLock lock(mutex_);
    --under_way_;
    fail_with(std::move(error));
  }
  advance();
}

void StagedAttempt::send_part(const PartPtr& part) {
  std::string id;
  {
    const MutexLock lock(mutex_);
    id = upload_id_;
  }
  context_.uploads.writer.upload_part(
      object_->key, std::move(id), part->number, part->body(), request_deadline(),
      [self = shared_from_this(), part](s3::PutOutcome outcome) {
        self->on_sent(*part, outcome);
        if (!outcome.etag) return self->part_failed(std::move(outcome.etag.error()));
        {
          const MutexLock lock(self->mutex_);
          --self->under_way_;
          self->sent_[part->number] = {.number = part->number,
                                       .etag = std::move(*outcome.etag),
                                       .crc64nvme = part->crc64nvme,
                                       .size_bytes = part->length};
        }
        self->advance();
      });
}

void StagedAttempt::send_put(const PartPtr& part) {
  context_.uploads.writer.put(
      object_->key, part->length > 0 ? part->body() : s3::PutBody{},
      {.when = object_->when, .metadata = object_->metadata, .headers = kept_headers()},
      request_deadline(), [self = shared_from_this(), part](s3::PutOutcome outcome) {
        self->on_sent(*part, outcome);
        if (!outcome.etag) return self->part_failed(std::move(outcome.etag.error()));
        self->succeed(std::move(*outcome.etag));
      });
}

// Gives the buffer back before anything else begins: a part that waits should get this one.
void StagedAttempt::on_sent(Part& part, const s3::PutOutcome& outcome) {
  if (outcome.late_read_possible) part.buffer.let_rest();
  if (outcome.etag && object_->parts && part.length > 0) {
    const ByteRange bytes = plan_[part.number - 1].bytes;
    object_->parts->sent({.bytes = bytes, .crc64nvme = part.crc64nvme});
  }
  if (outcome.etag) {
    const Uploader::Metrics& metrics = context_.uploads.metrics;
    const bool is_rdma = outcome.path == s3::Path::kRdma;
    (is_rdma ? metrics.rdma_bytes : metrics.http_bytes).add(part.length);
  }
  part.buffer = {};
}

void StagedAttempt::send_complete() {
  std::vector<s3::UploadedPart> parts;
  std::string id;
  {
    const MutexLock lock(mutex_);
    for (auto& [number, part] : sent_) parts.push_back(std::move(part));
    sent_.clear();
    id = upload_id_;
  }
  context_.uploads.writer.complete_upload(
      object_->key, id, std::move(parts), object_->when,
      request_deadline() + server_copy_time(object_->size_bytes),
      [self = shared_from_this(), id](Result<std::string> etag) {
        if (etag) {
          self->context_.uploads.abandoned.completed(id);
          return self->succeed(std::move(*etag));
        }
        {
          const MutexLock lock(self->mutex_);
          self->completing_ = false;
          self->fail_with(std::move(etag.error()));
        }
        self->advance();
      });
}

}  // namespace s3rdmafs::upload
