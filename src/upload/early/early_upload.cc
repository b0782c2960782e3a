// SPDX-License-Identifier: Apache-2.0
// Parts that are sent before anybody knows how large the object will be.
//
// Why. A program that writes a large file from its start to its end needs neither room for all of
// it nor, at its close, the time to send it all: parts that are full can travel meanwhile.
//
// A part is sent when another byte follows it, so a file that fits one part is one PUT. It is sent
// once: who changes it later has its bytes, and the store sends it again under its number. The
// first error is the last: the store has the bytes, and repeats everything.
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

EarlyUpload::EarlyUpload(const PartReader& reader, Start start)
    : reader_(reader), start_(std::move(start)) {}

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
            sent = Sent{.upload_id = std::exchange(upload_id_, {}),
                        .sizes = start_.sizes,
                        .parts = std::exchange(parts_, {})}]() mutable { done(std::move(sent)); };
  }
  if (!has_part_to_send()) return {};
  if (upload_id_.empty()) {
    creating_ = true;
    return [self = shared_from_this(), source] { self->create(source); };
  }
  if (under_way_ >= reader_.uploads.parallel_parts) return {};
  ++under_way_;
  const ByteRange bytes = next_part();
  next_begin_ = bytes.end;
  return [self = shared_from_this(), source, bytes, number = next_number_++] {
    self->send(source, bytes, number);
  };
}

void EarlyUpload::create(const SourcePtr& source) {
  source->work_begins();
  reader_.uploads.abandoned.create(start_.key, start_.metadata,
                                   reader_.uploads.clock.now() + reader_.uploads.request_timeout,
                                   [self = shared_from_this(), source](Result<std::string> id) {
                                     {
                                       const MutexLock lock(self->mutex_);
                                       self->creating_ = false;
                                       if (id) {
                                         self->upload_id_ = std::move(*id);
                                       } else {
                                         self->is_stopped_ = true;
                                         self->error_ = std::move(id.error());
                                       }
                                     }
                                     self->advance(source);
                                     source->work_ends();
                                   });
}

void EarlyUpload::send(const SourcePtr& source, ByteRange bytes, unsigned number) {
  if (!source->may_send(bytes, start_.run)) return stop();
  source->work_begins();
  auto ended = [self = shared_from_this(), source, bytes](Result<s3::UploadedPart> part) {
    self->on_sent(bytes, std::move(part));
    self->advance(source);
    source->work_ends();
  };
  read_part(reader_, source, bytes, number, /*at_once=*/false,
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

void EarlyUpload::on_sent(ByteRange bytes, Result<s3::UploadedPart> part) {
  if (!part) {
    spdlog::debug("upload: a part of '{}' was not sent early: {}; its store sends it again",
                  start_.key, part.error().detail);
  }
  const MutexLock lock(mutex_);
  --under_way_;
  if (part) {
    const unsigned number = part->number;
    parts_[number] = {.bytes = bytes, .part = std::move(*part)};
    return;
  }
  is_stopped_ = true;
  if (!error_) error_ = std::move(part.error());
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
