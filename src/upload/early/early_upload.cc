// SPDX-License-Identifier: Apache-2.0
// Parts that are sent before anybody knows how large the object will be.
//
// Why. A program that writes a large file from its start to its end needs neither room for all of
// it nor, at its close, the time to send it all: parts that are full can travel meanwhile.
//
// A part is sent when another byte follows it, so a file that fits one part is one PUT. A part that
// was changed later is sent again by the store, under its number.
//
// Errors. A part may be sent to make room, so its failure must not end a file of terabytes: what
// may pass is tried again every second, for as long as Patience lasts. To writers and to the
// mount's end a part that waits is work under way. A store does not wait for it: it sends the part.
//
// Lifetime. A request holds the upload and the source of its bytes; the upload holds no source, as
// the file of the source holds the upload. The destructor abandons an upload that was not taken.
//
// Locks. mutex_ is a leaf: requests begin, and the source is told, without it.
#include "upload/early/early_upload.h"

#include <algorithm>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::upload {

EarlyUpload::EarlyUpload(const PartReader& reader, PostponedJobs& postponed, Start start)
    : reader_(reader),
      postponed_(postponed),
      start_(std::move(start)),
      patience_(reader.uploads.request_timeout) {}

EarlyUpload::~EarlyUpload() {
  std::string id;
  {
    const MutexLock lock(mutex_);
    id = std::move(upload_id_);
  }
  if (!id.empty()) reader_.uploads.abandoned.add(start_.key, std::move(id));
}

void EarlyUpload::grow(std::uint64_t size_bytes, const SourcePtr& source) {
  {
    const MutexLock lock(mutex_);
    size_bytes_ = std::max(size_bytes_, size_bytes);
  }
  advance(source);
}

ByteRange EarlyUpload::next_part() const {
  return {.begin = next_begin_, .end = next_begin_ + start_.sizes.of(next_number_)};
}

bool EarlyUpload::has_part_to_send() const {
  return !is_stopped_ && next_number_ <= kPartsMax && size_bytes_ > next_part().end;
}

bool EarlyUpload::can_grow(std::uint64_t size_bytes) const {
  const MutexLock lock(mutex_);
  return !is_stopped_ && size_bytes > size_bytes_ && next_number_ <= kPartsMax &&
         size_bytes > next_part().end;
}

std::vector<ByteRange> EarlyUpload::sent() const {
  const MutexLock lock(mutex_);
  std::vector<ByteRange> sent;
  if (is_ended_) return sent;
  sent.reserve(parts_.size());
  for (const auto& [number, part] : parts_) sent.push_back(part.bytes);
  return sent;
}

std::optional<Error> EarlyUpload::error() const {
  const MutexLock lock(mutex_);
  return error_;
}

void EarlyUpload::advance(const SourcePtr& source) {
  for (;;) {
    Action action;
    {
      const MutexLock lock(mutex_);
      action = next_action(source);
    }
    if (!action) return;
    action();
  }
}

EarlyUpload::Action EarlyUpload::next_action(const SourcePtr& source) {
  if (creating_) return {};
  if (end_done_) {
    if (under_way_ > 0) return {};
    return [done = std::exchange(end_done_, nullptr),
            sent = Sent{.key = start_.key,
                        .upload_id = std::exchange(upload_id_, {}),
                        .sizes = start_.sizes,
                        .parts = std::exchange(parts_, {})}]() mutable { done(std::move(sent)); };
  }
  if (!has_part_to_send() || is_to_create_again_) return {};
  if (upload_id_.empty()) {
    creating_ = true;
    return [self = shared_from_this(), source] { self->create(source); };
  }
  if (under_way_ + to_send_again_ >= reader_.uploads.parallel_parts) return {};
  ++under_way_;
  const PartPlace part{.bytes = next_part(), .number = next_number_++};
  next_begin_ = part.bytes.end;
  return [self = shared_from_this(), source, part] { self->send(source, part); };
}

void EarlyUpload::create(const SourcePtr& source) {
  source->work_begins();
  reader_.uploads.abandoned.create(
      start_.key, start_.metadata, reader_.uploads.clock.now() + reader_.uploads.request_timeout,
      [self = shared_from_this(), source](Result<std::string> id) {
        bool is_postponed = false;
        {
          const MutexLock lock(self->mutex_);
          self->creating_ = false;
          if (id) {
            self->upload_id_ = std::move(*id);
            self->patience_.renew();
          } else {
            is_postponed = self->is_to_create_again_ = self->on_error(std::move(id.error()));
          }
        }
        if (is_postponed) {
          self->postponed_.add(
              [self, source](bool is_over) { self->create_again(source, is_over); });
        }
        self->advance(source);
        if (!is_postponed) source->work_ends();
      });
}

void EarlyUpload::create_again(const SourcePtr& source, bool is_over) {
  {
    const MutexLock lock(mutex_);
    is_to_create_again_ = false;
    is_stopped_ = is_stopped_ || is_over;
  }
  advance(source);
  source->work_ends();
}

void EarlyUpload::send(const SourcePtr& source, PartPlace place) {
  if (!source->may_send(place.bytes, start_.run)) return stop();
  source->work_begins();
  auto ended = [self = shared_from_this(), source, place](Result<s3::UploadedPart> part) {
    const bool is_postponed = self->on_sent(place, std::move(part));
    if (is_postponed) {
      self->postponed_.add(
          [self, source, place](bool is_over) { self->send_again(source, place, is_over); });
    }
    self->advance(source);
    if (!is_postponed) source->work_ends();
  };
  read_part(reader_, source, place.bytes, place.number, /*at_once=*/false,
            [self = shared_from_this(),
             ended = std::move(ended)](Result<std::shared_ptr<Part>> part) mutable {
              if (!part) return ended(std::unexpected(std::move(part.error())));
              std::string id;
              {
                const MutexLock lock(self->mutex_);
                id = self->upload_id_;
              }
              send_part(self->reader_.uploads, self->start_.key, std::move(id), *part,
                        std::move(ended));
            });
}

// The new attempt counts as work before the wait for it ends.
void EarlyUpload::send_again(const SourcePtr& source, PartPlace part, bool is_over) {
  bool goes_on = false;
  {
    const MutexLock lock(mutex_);
    --to_send_again_;
    is_stopped_ = is_stopped_ || is_over;
    goes_on = !is_stopped_;
    if (goes_on) ++under_way_;
  }
  if (goes_on) send(source, part);
  advance(source);
  source->work_ends();
}

bool EarlyUpload::on_sent(PartPlace place, Result<s3::UploadedPart> part) {
  const MutexLock lock(mutex_);
  --under_way_;
  if (part) {
    parts_[place.number] = {.bytes = place.bytes, .part = std::move(*part)};
    patience_.renew();
    if (!is_stopped_) error_.reset();
    return false;
  }
  if (!on_error(std::move(part.error()))) return false;
  ++to_send_again_;
  return true;
}

bool EarlyUpload::on_error(Error error) {
  const bool is_worth_it = !is_stopped_ && patience_.lasts(error.code, reader_.uploads.clock.now());
  log::debug("upload: a part of '{}' was not sent early: {}; {}", start_.key, error.detail,
             is_worth_it ? "it is sent again" : "its store sends it");
  is_stopped_ = !is_worth_it;
  if (!error_) error_ = std::move(error);
  return is_worth_it;
}

void EarlyUpload::stop() {
  const MutexLock lock(mutex_);
  --under_way_;
  is_stopped_ = true;
}

void EarlyUpload::end(EndDone done) {
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    is_ended_ = true;
    end_done_ = std::move(done);
  }
  advance(nullptr);
}

void EarlyUpload::discard() {
  {
    const MutexLock lock(mutex_);
    if (is_ended_) return;
  }
  end([self = shared_from_this()](Sent sent) {
    if (sent.upload_id.empty()) return;
    self->reader_.uploads.abandoned.add(self->start_.key, std::move(sent.upload_id));
  });
}

}  // namespace s3rdmafs::upload
