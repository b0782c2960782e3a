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
// would stay on the server) the upload is abandoned, and the caller gets the error; or the caller
// gets the upload too, where it has the only copy of some bytes.
//
// Early parts. Where an EarlyUpload has sent parts of the object, the attempt begins with that
// upload: its plan has the same borders, and parts that are at the server as they are now are left
// out. Any other is sent under its number, and takes the place of what was sent before.
//
// Locks. mutex_ is a leaf.
#include "upload/staged/staged_attempt.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "s3rdmafs/base/units.h"
#include "upload/staged/part_sender.h"

namespace s3rdmafs::upload {
namespace {

// A file of this size was nearly always written just now, so its bytes are in memory, and to read
// them takes less time than to wake another thread.
constexpr std::uint64_t kReadAtOnceMax = 64 * kKiB;

// As assembly_time() in s3/object_writer.h: the speed of a server that copies on a slow disk.
std::chrono::seconds server_copy_time(std::uint64_t bytes) {
  constexpr std::uint64_t kBytesPerSecond = 32 * kMiB;
  return std::chrono::seconds(bytes / kBytesPerSecond + 1);
}

}  // namespace

void StagedAttempt::start(Context context, std::shared_ptr<const StagedObject> object,
                          std::shared_ptr<StagedSource> source, AttemptDone done) {
  const std::shared_ptr<StagedAttempt> made(
      new StagedAttempt(std::move(context), std::move(object), std::move(source), std::move(done)));
  made->context_.uploads.metrics.in_progress.add(1);
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

Result<std::vector<PlannedPart>> StagedAttempt::make_plan() {
  const PartSizes& sizes = context_.uploads.part_sizes;
  if (context_.begun) return plan_in_order(object_->size_bytes, context_.begun->sizes);
  const bool copies = context_.copies && object_->size_bytes > sizes.first_bytes;
  return plan_upload(
      object_->size_bytes, copies ? std::optional(object_->base->size_bytes) : std::nullopt,
      object_->changed, {.part_bytes = sizes.first_bytes, .part_bytes_max = sizes.max_bytes});
}

void StagedAttempt::plan() {
  auto planned = make_plan();
  const MutexLock lock(mutex_);
  if (context_.begun) upload_id_ = context_.begun->upload_id;
  if (!planned) return fail_with(std::move(planned.error()));
  plan_ = std::move(*planned);
  is_single_put_ =
      !context_.begun && object_->size_bytes <= context_.uploads.part_sizes.first_bytes;
  if (!context_.begun) return;
  for (const auto& [number, part] : context_.begun->parts) {
    if (number <= plan_.size() && object_->as_sent.contains(part.bytes)) {
      sent_[number] = part.part;
    }
  }
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
  while (sent_.contains(static_cast<unsigned>(next_) + 1)) ++next_;  // it was sent early
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
  return [self = shared_from_this(), planned, number] { self->read_bytes(planned.bytes, number); };
}

StagedAttempt::Action StagedAttempt::end_in_failure() {
  std::optional<EarlyUpload::Sent> begun;
  if (object_->needs_early && context_.begun) begun = begun_with_parts();
  return [self = shared_from_this(), id = std::exchange(upload_id_, {}),
          done = std::exchange(done_, nullptr), error = *error_,
          copy_was_refused = copy_was_refused_, begun = std::move(begun)]() mutable {
    const auto& uploads = self->context_.uploads;
    if (!begun && !id.empty()) uploads.abandoned.add(self->object_->key, std::move(id));
    uploads.metrics.in_progress.add(-1);
    done({.etag = std::unexpected(std::move(error)),
          .copy_was_refused = copy_was_refused,
          .begun = std::move(begun)});
  };
}

EarlyUpload::Sent StagedAttempt::begun_with_parts() {
  EarlyUpload::Sent begun = *context_.begun;
  for (const auto& [number, part] : sent_) {
    begun.parts[number] = {.bytes = plan_[number - 1].bytes, .part = part};
  }
  return begun;
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

void StagedAttempt::read_bytes(ByteRange bytes, unsigned number) {
  const bool at_once = is_single_put_ && bytes.size() <= kReadAtOnceMax;
  read_part({.uploads = context_.uploads, .thread = context_.thread}, source_, bytes, number,
            at_once, [self = shared_from_this()](Result<PartPtr> part) {
              if (!part) return self->part_failed(std::move(part.error()));
              self->is_single_put_ ? self->send_put(*part) : self->send_bytes(*part);
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

void StagedAttempt::send_bytes(const PartPtr& part) {
  std::string id;
  {
    const MutexLock lock(mutex_);
    id = upload_id_;
  }
  send_part(context_.uploads, object_->key, std::move(id), part,
            [self = shared_from_this()](Result<s3::UploadedPart> sent) {
              if (!sent) return self->part_failed(std::move(sent.error()));
              if (self->object_->parts) {
                self->object_->parts->sent(
                    {.bytes = self->plan_[sent->number - 1].bytes, .crc64nvme = sent->crc64nvme});
              }
              {
                const MutexLock lock(self->mutex_);
                --self->under_way_;
                self->sent_[sent->number] = std::move(*sent);
              }
              self->advance();
            });
}

void StagedAttempt::send_put(const PartPtr& part) {
  context_.uploads.writer.put(
      object_->key, part->length > 0 ? part->body() : s3::PutBody{},
      {.when = object_->when, .metadata = object_->metadata, .headers = kept_headers()},
      request_deadline(), [self = shared_from_this(), part](s3::PutOutcome outcome) {
        end_part(self->context_.uploads, *part, outcome);
        if (!outcome.etag) return self->part_failed(std::move(outcome.etag.error()));
        if (self->object_->parts && part->length > 0) {
          self->object_->parts->sent(
              {.bytes = self->plan_.front().bytes, .crc64nvme = part->crc64nvme});
        }
        self->succeed(std::move(*outcome.etag));
      });
}

void StagedAttempt::send_complete() {
  std::vector<s3::UploadedPart> parts;
  std::string id;
  {
    const MutexLock lock(mutex_);
    for (const auto& [number, part] : sent_) parts.push_back(part);
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
