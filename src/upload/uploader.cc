// SPDX-License-Identifier: Apache-2.0
// One object on its way to the server: what callers ask for, and what to do next.
//
// How it works. Every event (bytes came, a buffer came free, a request ended) changes the state
// under the lock. Then advance() asks the state, repeatedly, what to do next, and does it without
// the lock. So the order of events does not matter, and one place knows the rules:
//
//  * Bytes that fit the part that fills get a place there under the lock. Then the caller is
//    answered, and after that the bytes are copied and their checksum is computed, without the
//    lock: a program's next write is on its way meanwhile. A part is sent when all its bytes have
//    arrived.
//  * A full part is sent only when another byte follows it. So an object that fits one part is one
//    PUT, and the upload begins with the second part.
//  * At most parallel_parts requests of one object; buffers bound the rest.
//  * CompleteMultipartUpload when every part has its ETag. That, or the PUT, is the moment from
//    which the object is visible; the server shows nothing of it before.
//  * After an error nothing new begins. When the last request has ended (a part that arrives after
//    an abort would stay on the server) the upload is abandoned, and every caller gets the error.
//
// The buffer of an object that fits one part is kept after the PUT, so that a program may append
// after fsync, or after a shell has closed one of two descriptors: the next finish() puts the whole
// object again. The buffer is not kept where the server may still be reading it.
//
// Locks. mutex_ is a leaf.
#include "upload/uploader.h"

#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::upload {

Uploader::Uploader(const Context& context, std::string key, Start start)
    : context_(context),
      key_(std::move(key)),
      stored_(start == Start::kStored),
      when_(start == Start::kIfAbsent ? s3::Precondition::absent() : s3::Precondition::none()) {
  context_.metrics.in_progress.add(1);
}

// No caller waits and no request is under way: each of them would hold this.
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

// kComplete is final. A failure stays one until the object is discarded. An object that was
// discarded while it was completed is complete.
void Uploader::enter(Phase next) {
  if (phase_ == Phase::kComplete) return;
  if (phase_ == Phase::kFailed && next != Phase::kDiscarded) return;
  if (phase_ == Phase::kDiscarded && next != Phase::kComplete) return;
  phase_ = next;
}

void Uploader::fail_with(Error error) {
  if (!error_) error_ = std::move(error);
  enter(Phase::kFailed);
}

bool Uploader::is_over() const { return phase_ != Phase::kAppending && phase_ != Phase::kStoring; }

bool Uploader::is_idle() const {
  return requests_ == 0 && arriving_ == 0 && !taking_ && !creating_;
}

bool Uploader::is_single_put() const {
  return parts_.is_one_part() && upload_id_.empty() && !creating_;
}

// Calls

Result<void> Uploader::check_append(std::uint64_t offset_bytes, std::size_t bytes) const {
  if (error_) return std::unexpected(*error_);
  if (append_) return fail(ErrorCode::kBusy, "'" + key_ + "': another write is not yet done");
  if (offset_bytes != size_bytes_) {
    return fail(ErrorCode::kSequentialOnly,
                fmt::format("'{}': a write at {}, but the object so far ends at {}", key_,
                            offset_bytes, size_bytes_));
  }
  if (phase_ == Phase::kComplete) return complete_already();
  if (bytes > context_.part_sizes.object_bytes_max() - size_bytes_) {
    return fail(ErrorCode::kTooLarge,
                fmt::format("'{}' would be larger than {}; for larger objects raise "
                            "write.part_size or write.buffer_size",
                            key_, format_size(context_.part_sizes.object_bytes_max())));
  }
  return {};
}

std::unexpected<Error> Uploader::complete_already() const {
  return fail(ErrorCode::kSequentialOnly,
              "'" + key_ + "' is complete since its last close or fsync");
}

bool Uploader::begin_part_for(std::uint64_t offset_bytes, std::size_t bytes, Deadline deadline) {
  std::size_t size = 0;
  {
    const MutexLock lock(mutex_);
    const bool is_good = bytes > 0 && check_append(offset_bytes, bytes).has_value();
    if (!is_good || phase_ != Phase::kAppending || taking_ || parts_.room() > 0) return false;
    if (parts_.is_filling()) parts_.end_filling();
    ++arriving_;
    taking_ = true;
    size = context_.part_sizes.of(parts_.next_number());
  }
  send_take(size, deadline);
  return true;
}

std::optional<Landing> Uploader::reserve(std::size_t bytes) {
  if (phase_ != Phase::kAppending || bytes == 0 || bytes > parts_.room()) return std::nullopt;
  ++arriving_;
  size_bytes_ += bytes;
  stored_ = false;
  return parts_.reserve(bytes);
}

void Uploader::land(Landing landing, std::span<const std::byte> bytes) {
  const std::uint64_t crc = landing.copy(bytes);
  {
    const MutexLock lock(mutex_);
    ObjectParts::land(landing, crc);
    --arriving_;
  }
  landing.part.reset();  // a buffer that nothing else needs goes back before anything begins
  advance();
}

std::size_t Uploader::take_now(std::span<const std::byte> bytes) {
  if (phase_ == Phase::kStoring) return 0;
  const bool is_dropped = phase_ == Phase::kDiscarded;
  const std::size_t taken = is_dropped ? bytes.size() : parts_.fill(bytes);
  size_bytes_ += taken;
  if (taken > 0 && !is_dropped) stored_ = false;
  return taken;
}

void Uploader::append(std::uint64_t offset_bytes, std::span<const std::byte> bytes,
                      Deadline deadline, Done<void> done) {
  const auto self = shared_from_this();  // its owner may let go of it at `done`
  const bool has_begun = begin_part_for(offset_bytes, bytes.size(), deadline);
  Result<void> answer;
  std::optional<Landing> landing;
  {
    const MutexLock lock(mutex_);
    if (has_begun) --arriving_;
    answer = check_append(offset_bytes, bytes.size());
    if (answer) landing = reserve(bytes.size());
    const auto rest = bytes.subspan(answer && !landing ? take_now(bytes) : bytes.size());
    if (!rest.empty()) {
      append_.emplace(Append{.bytes = {rest.begin(), rest.end()},
                             .taken = 0,
                             .deadline = deadline,
                             .done = std::exchange(done, nullptr)});
    }
  }
  if (done) done(std::move(answer));
  if (landing) return land(*std::move(landing), bytes);
  advance();
}

void Uploader::finish(Done<void> done) {
  {
    const MutexLock lock(mutex_);
    finishers_.push_back(std::move(done));
  }
  advance();
}

void Uploader::require(s3::Precondition when) {
  const MutexLock lock(mutex_);
  when_ = std::move(when);
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
    enter(Phase::kDiscarded);
    discarders_.push_back(std::move(done));
  }
  advance();
}

void Uploader::cancel(Done<void> done) {
  {
    const MutexLock lock(mutex_);
    if (stored_) {
      enter(Phase::kDiscarded);
    } else {
      fail_with({ErrorCode::kCancelled, "'" + key_ + "': the mount went down"});
    }
    discarders_.push_back(std::move(done));
  }
  advance();
}

// The next action

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

Uploader::Action Uploader::next_action() {
  if (phase_ == Phase::kStoring) return {};
  if (is_over()) return next_when_over();
  if (Action action = next_for_append()) return action;
  if (Action action = next_for_parts()) return action;
  return next_for_finish();
}

Uploader::Action Uploader::next_for_append() {
  if (!append_ || taking_) return {};
  append_->taken += take_now(std::span(append_->bytes).subspan(append_->taken));
  if (append_->taken == append_->bytes.size()) return end_append();
  if (parts_.is_filling()) parts_.end_filling();  // full, and another byte follows
  taking_ = true;
  const std::size_t size = context_.part_sizes.of(parts_.next_number());
  return [self = shared_from_this(), size, deadline = append_->deadline] {
    self->send_take(size, deadline);
  };
}

Uploader::Action Uploader::next_for_parts() {
  if (!parts_.has_ready() || creating_) return {};
  if (upload_id_.empty()) {
    creating_ = true;
    return [self = shared_from_this()] { self->send_create(); };
  }
  if (requests_ >= context_.parallel_parts) return {};
  ++requests_;
  return [self = shared_from_this(), id = upload_id_, part = parts_.take_ready()]() mutable {
    self->send_part(std::move(id), part);
  };
}

Uploader::Action Uploader::next_for_finish() {
  if (finishers_.empty() || append_ || arriving_ > 0) return {};
  if (stored_) return answer_all(finishers_, {});
  if (is_single_put()) {
    enter(Phase::kStoring);
    ++requests_;
    return [self = shared_from_this(), body = parts_.whole_body(), when = when_] {
      self->send_put(body, when);
    };
  }
  if (parts_.is_filling()) {
    parts_.end_filling();
    return next_for_parts();
  }
  if (parts_.has_ready() || requests_ > 0) return {};
  enter(Phase::kStoring);
  ++requests_;
  return [self = shared_from_this(), id = upload_id_, parts = parts_.take_sent(),
          when = when_]() mutable { self->send_complete(id, std::move(parts), when); };
}

// Callers get the error only when nothing can happen any more: what they then find at the server
// stays there.
Uploader::Action Uploader::next_when_over() {
  if (append_ && !taking_) return end_append();
  if (!is_idle()) return {};
  if (!upload_id_.empty()) {
    return [self = shared_from_this(), id = std::exchange(upload_id_, {})]() mutable {
      self->context_.abandoned.add(self->key_, std::move(id));
    };
  }
  if (parts_.holds_buffers()) return [buffers = parts_.take_buffers()] {};
  const bool has_failed = phase_ == Phase::kFailed;
  const Result<void> outcome = has_failed ? std::unexpected(*error_) : Result<void>();
  if (Action action = answer_all(finishers_, outcome)) return action;
  return answer_all(discarders_, {});
}

// The bytes were all taken, or the object is over.
Uploader::Action Uploader::end_append() {
  Append append = *std::exchange(append_, std::nullopt);
  Result<void> outcome;
  if (phase_ == Phase::kDiscarded) size_bytes_ += append.bytes.size() - append.taken;
  if (phase_ == Phase::kComplete) outcome = complete_already();
  if (phase_ == Phase::kFailed) outcome = std::unexpected(*error_);
  return [done = std::move(append.done), outcome = std::move(outcome)]() mutable {
    done(std::move(outcome));
  };
}

Uploader::Action Uploader::answer_all(std::vector<Done<void>>& waiting, Result<void> outcome) {
  if (waiting.empty()) return {};
  return [answered = std::exchange(waiting, {}), outcome = std::move(outcome)]() mutable {
    for (Done<void>& done : answered) done(outcome);
  };
}

}  // namespace s3rdmafs::upload
