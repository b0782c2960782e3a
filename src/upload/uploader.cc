// SPDX-License-Identifier: Apache-2.0
// One object on its way to the server.
//
// How it goes. Every event (bytes came, a buffer came free, a request ended) changes the state
// under the lock; then advance() asks the state, again and again, what to do next, and does it
// without the lock. So the order of events does not matter, and there is one place that knows the
// rules:
//
//  * A full part is sent only when another byte follows it. So an object that fits one part is one
//    PUT, and the upload begins with the second part.
//  * At most parallel_parts requests of one object; buffers bound the rest.
//  * CompleteMultipartUpload when every part has its ETag. That, or the PUT, is the moment from
//    which the object is visible; before it there is nothing to see.
//  * After an error nothing new begins. When the last request has ended (a part that arrives after
//    an abort would stay on the server) the upload is abandoned, and all who wait are told.
//
// The buffer of an object that fits one part is kept after the PUT, so that a program which goes on
// after fsync, or a shell which closes one of two descriptors, may append: the next finish() puts
// the whole object again. It is not kept where the server may still be reading it.
//
// Locks. mutex_ is a leaf.
#include "upload/uploader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::upload {

Uploader::Uploader(const Context& context, std::string key, Start start)
    : context_(context),
      key_(std::move(key)),
      stored_(start == Start::kStored),
      only_if_absent_(start == Start::kIfAbsent) {
  context_.metrics.in_progress.add(1);
}

// Nobody waits and no request is under way: each of them would hold this.
Uploader::~Uploader() {
  context_.metrics.in_progress.add(-1);
  if (!upload_id_.empty()) context_.abandoned.add(key_, std::move(upload_id_));
}

std::uint64_t Uploader::size_bytes() const {
  const MutexLock lock(mutex_);
  return size_bytes_;
}

bool Uploader::has_failed() const {
  const MutexLock lock(mutex_);
  return error_.has_value();
}

bool Uploader::is_stored() const {
  const MutexLock lock(mutex_);
  return stored_;
}

std::string Uploader::stored_etag() const {
  const MutexLock lock(mutex_);
  return stored_etag_;
}

bool Uploader::stores_if_absent() const {
  const MutexLock lock(mutex_);
  return only_if_absent_ && is_single_put();
}

Deadline Uploader::request_deadline() const {
  return context_.clock.now() + context_.request_timeout;
}

void Uploader::append(std::uint64_t offset_bytes, std::span<const std::byte> bytes,
                      Deadline deadline, Done<void> done) {
  std::optional<Result<void>> answer;
  {
    const MutexLock lock(mutex_);
    if (error_) {
      answer = std::unexpected(*error_);
    } else if (append_) {
      answer = fail(ErrorCode::kBusy, "'" + key_ + "': another write is not yet done");
    } else if (offset_bytes != size_bytes_) {
      answer = fail(ErrorCode::kSequentialOnly,
                    fmt::format("'{}': a write at {}, but the object so far ends at {}", key_,
                                offset_bytes, size_bytes_));
    } else if (sealed_) {
      answer = fail(ErrorCode::kSequentialOnly,
                    "'" + key_ + "' is complete since its last close or fsync");
    } else if (bytes.size() > context_.part_sizes.object_bytes_max() - size_bytes_) {
      answer = fail(ErrorCode::kTooLarge,
                    fmt::format("'{}' would be larger than {}; for larger objects raise "
                                "write.part_size or write.buffer_size",
                                key_, format_size(context_.part_sizes.object_bytes_max())));
    } else if (discarded_) {
      size_bytes_ += bytes.size();
      answer = Result<void>();
    } else {
      const std::size_t taken = finishing_ ? 0 : fill(bytes);
      const auto rest = bytes.subspan(taken);
      if (rest.empty()) {
        answer = Result<void>();
      } else {
        append_.emplace(Append{.bytes = {rest.begin(), rest.end()},
                               .taken = 0,
                               .deadline = deadline,
                               .done = std::exchange(done, nullptr)});
      }
    }
  }
  if (answer) return done(std::move(*answer));
  advance();
}

std::size_t Uploader::fill(std::span<const std::byte> bytes) {
  if (!filling_.buffer) return 0;
  const std::span<std::byte> room = filling_.buffer.bytes().subspan(filling_.length);
  const auto some = bytes.first(std::min(bytes.size(), room.size()));
  if (some.empty()) return 0;
  std::memcpy(room.data(), some.data(), some.size());
  filling_.crc64nvme = crc64nvme(filling_.crc64nvme, some);
  filling_.length += some.size();
  size_bytes_ += some.size();
  stored_ = false;
  return some.size();
}

void Uploader::finish(Done<void> done) {
  {
    const MutexLock lock(mutex_);
    finishers_.push_back(std::move(done));
  }
  advance();
}

void Uploader::give_up(Error error) {
  {
    const MutexLock lock(mutex_);
    if (!stored_) fail_with(std::move(error));
  }
  advance();
}

void Uploader::discard(Done<void> done) {
  {
    const MutexLock lock(mutex_);
    discarded_ = true;
    discarders_.push_back(std::move(done));
  }
  advance();
}

void Uploader::cancel(Done<void> done) {
  {
    const MutexLock lock(mutex_);
    if (!stored_) fail_with({ErrorCode::kCancelled, "'" + key_ + "': the mount went down"});
    discarded_ = discarded_ || stored_;
    discarders_.push_back(std::move(done));
  }
  advance();
}

// What to do next

void Uploader::advance() {
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

bool Uploader::is_idle() const { return requests_ == 0 && !taking_ && !creating_; }

bool Uploader::is_single_put() const {
  return parts_begun_ <= 1 && upload_id_.empty() && !creating_;
}

Uploader::Action Uploader::next_action() {
  if (is_stopped()) return next_when_stopped();
  if (Action action = next_for_append()) return action;
  if (Action action = next_for_parts()) return action;
  return next_for_finish();
}

Uploader::Action Uploader::next_for_append() {
  if (!append_ || finishing_ || taking_) return {};
  append_->taken += fill(std::span(append_->bytes).subspan(append_->taken));
  if (append_->taken == append_->bytes.size()) {
    Done<void> done = std::move(append_->done);
    append_.reset();
    return [done = std::move(done)]() mutable { done({}); };
  }
  if (filling_.buffer) {  // full, and another byte follows
    ready_.push_back(std::make_shared<Part>(std::exchange(filling_, {})));
  }
  if (sealed_) {  // a finish() that came between
    Append append = *std::exchange(append_, std::nullopt);
    return [done = std::move(append.done), key = key_]() mutable {
      done(fail(ErrorCode::kSequentialOnly,
                "'" + key + "' is complete since its last close or fsync"));
    };
  }
  taking_ = true;
  const std::size_t size = context_.part_sizes.of(parts_begun_ + 1);
  return [self = shared_from_this(), size, deadline = append_->deadline] {
    self->send_take(size, deadline);
  };
}

Uploader::Action Uploader::next_for_parts() {
  if (ready_.empty() || creating_) return {};
  if (upload_id_.empty()) {
    creating_ = true;
    return [self = shared_from_this()] { self->send_create(); };
  }
  if (requests_ >= context_.parallel_parts) return {};
  ++requests_;
  auto part = std::move(ready_.front());
  ready_.pop_front();
  return [self = shared_from_this(), part = std::move(part)]() mutable { self->send_part(part); };
}

Uploader::Action Uploader::next_for_finish() {
  if (finishers_.empty() || append_ || finishing_) return {};
  if (stored_) return answer_all({});
  if (is_single_put()) {
    finishing_ = true;
    ++requests_;
    s3::PutBody body;
    if (filling_.length > 0) {
      body = {.window = filling_.buffer.window(filling_.length), .crc64nvme = filling_.crc64nvme};
    }
    return [self = shared_from_this(), body, only_if_absent = only_if_absent_] {
      self->send_put(body, only_if_absent);
    };
  }
  if (filling_.buffer) {
    ready_.push_back(std::make_shared<Part>(std::exchange(filling_, {})));
    return next_for_parts();
  }
  if (!ready_.empty() || requests_ > 0) return {};
  finishing_ = true;
  ++requests_;
  std::vector<s3::UploadedPart> parts;
  parts.reserve(sent_.size());
  for (auto& [number, part] : sent_) parts.push_back(std::move(part));
  sent_.clear();
  return [self = shared_from_this(), parts = std::move(parts)]() mutable {
    self->send_complete(std::move(parts));
  };
}

Uploader::Action Uploader::answer_all(Result<void> outcome) {
  auto waiting = std::exchange(finishers_, {});
  if (waiting.empty()) return {};
  return [waiting = std::move(waiting), outcome = std::move(outcome)]() mutable {
    for (Done<void>& done : waiting) done(outcome);
  };
}

// The error is told only when nothing can happen any more: who then looks at the server finds what
// will stay there.
Uploader::Action Uploader::next_when_stopped() {
  const Result<void> outcome = discarded_ ? Result<void>() : std::unexpected(*error_);
  if (append_ && !taking_) {
    Append append = *std::exchange(append_, std::nullopt);
    if (discarded_) size_bytes_ += append.bytes.size() - append.taken;
    return [done = std::move(append.done), outcome]() mutable { done(outcome); };
  }
  if (!is_idle()) return {};
  if (!upload_id_.empty()) {
    return [self = shared_from_this(), id = std::exchange(upload_id_, {})]() mutable {
      self->context_.abandoned.add(self->key_, std::move(id));
    };
  }
  if (filling_.buffer || !ready_.empty()) {  // given back without the lock
    return [filling = std::exchange(filling_, {}), ready = std::exchange(ready_, {})] {};
  }
  if (Action action = answer_all(outcome)) return action;
  auto waiting = std::exchange(discarders_, {});
  if (waiting.empty()) return {};
  return [waiting = std::move(waiting)]() mutable {
    for (Done<void>& done : waiting) done({});
  };
}

void Uploader::fail_with(Error error) {
  if (!error_) error_ = std::move(error);
}

void Uploader::count(s3::Path path, std::size_t bytes) {
  (path == s3::Path::kRdma ? context_.metrics.rdma_bytes : context_.metrics.http_bytes).add(bytes);
}

// Requests and their ends

void Uploader::send_take(std::size_t size_bytes, Deadline deadline) {
  context_.buffers.take(
      size_bytes, deadline, [self = shared_from_this()](Result<PartBuffer> buffer) {
        {
          const MutexLock lock(self->mutex_);
          self->taking_ = false;
          if (buffer) {
            self->filling_ = Part{.number = ++self->parts_begun_, .buffer = std::move(*buffer)};
          } else {
            self->fail_with(std::move(buffer.error()));
          }
        }
        self->advance();
      });
}

void Uploader::send_create() {
  context_.writer.create_upload(key_, request_deadline(),
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

void Uploader::send_part(const std::shared_ptr<Part>& part) {
  std::string upload_id;
  {
    const MutexLock lock(mutex_);
    upload_id = upload_id_;
  }
  const s3::PutBody body{.window = part->buffer.window(part->length), .crc64nvme = part->crc64nvme};
  context_.writer.upload_part(key_, std::move(upload_id), part->number, body, request_deadline(),
                              [self = shared_from_this(), part](s3::PutOutcome outcome) {
                                if (outcome.late_read_possible) part->buffer.let_rest();
                                if (outcome.etag) self->count(outcome.path, part->length);
                                // Before anything else begins: who waits for a buffer should get
                                // this one.
                                part->buffer = {};
                                {
                                  const MutexLock lock(self->mutex_);
                                  --self->requests_;
                                  if (outcome.etag) {
                                    self->sent_[part->number] = {.number = part->number,
                                                                 .etag = std::move(*outcome.etag),
                                                                 .crc64nvme = part->crc64nvme,
                                                                 .size_bytes = part->length};
                                  } else {
                                    self->fail_with(std::move(outcome.etag.error()));
                                  }
                                }
                                self->advance();
                              });
}

// A server that does not know the condition is asked without it: who began the object saw shortly
// before that the key was absent, which is all that such a server lets anybody know.
void Uploader::on_put_failed(Error error, bool may_drop_condition) {
  if (may_drop_condition &&
      (error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kInvalidArgument)) {
    only_if_absent_ = false;
    return;
  }
  if (error.code == ErrorCode::kExists) {
    error = {ErrorCode::kStale, "'" + key_ + "': another client stored it meanwhile"};
  }
  fail_with(std::move(error));
}

void Uploader::send_put(s3::PutBody body, bool only_if_absent) {
  context_.writer.put(key_, body, only_if_absent, request_deadline(),
                      [self = shared_from_this(), length = body.window.length,
                       only_if_absent](s3::PutOutcome outcome) {
                        if (outcome.etag) self->count(outcome.path, length);
                        Part rests;
                        {
                          const MutexLock lock(self->mutex_);
                          --self->requests_;
                          self->finishing_ = false;
                          if (outcome.etag) {
                            self->stored_ = true;
                            self->only_if_absent_ = false;
                            self->stored_etag_ = std::move(*outcome.etag);
                          } else {
                            self->on_put_failed(std::move(outcome.etag.error()),
                                                only_if_absent && !outcome.late_read_possible);
                          }
                          if (outcome.late_read_possible) {
                            rests = std::exchange(self->filling_, {});
                            rests.buffer.let_rest();
                            self->sealed_ = true;
                          }
                        }
                        self->advance();
                      });
}

void Uploader::send_complete(std::vector<s3::UploadedPart> parts) {
  std::string upload_id;
  {
    const MutexLock lock(mutex_);
    upload_id = upload_id_;
  }
  const Deadline deadline = request_deadline() + s3::assembly_time(parts);
  context_.writer.complete_upload(key_, std::move(upload_id), std::move(parts), deadline,
                                  [self = shared_from_this()](const Result<std::string>& etag) {
                                    {
                                      const MutexLock lock(self->mutex_);
                                      --self->requests_;
                                      self->finishing_ = false;
                                      if (etag) {
                                        self->upload_id_.clear();
                                        self->stored_ = self->sealed_ = true;
                                        self->only_if_absent_ = false;
                                        self->stored_etag_ = *etag;
                                      } else {
                                        self->fail_with(etag.error());
                                      }
                                    }
                                    self->advance();
                                  });
}

}  // namespace s3rdmafs::upload
