// SPDX-License-Identifier: Apache-2.0
// A staged file whose parts are sent while a program still writes it.
//
// When. A file that is new or was truncated, and was written from its first byte on, each write at
// its end: most large files are. Its parts go to an upload that only its store completes, so no
// other client sees a byte of it before; and the store finds most of the file sent.
//
// Room. Where the staging area is full, the parts that the server has are dropped from the local
// file, so a file may be larger than the area. They are out of reach then: the program can go on
// and close, or truncate the file to nothing, but not come back. The first part is dropped last,
// since many formats write their header again at the end.
//
// Attributes. S3 takes user metadata when an upload begins. A file that shows its times there
// (metadata.posix = "write") is therefore sent early only where room is needed, and stored once
// more at its end, as a copy onto itself with the attributes that it has then.
//
// Locks. As in staged_file.cc.
#include <utility>
#include <vector>

#include "s3rdmafs/base/log.h"
#include "vfs/staged/staged_file.h"

namespace s3rdmafs::vfs {

bool StagedFile::has_early_part(const upload::StagedUploads& uploads, bool is_needed) const {
  const upload::StagingFile::InOrder order = bytes_->in_order();
  if (order.size_bytes <= uploads.first_part_bytes()) return false;
  const MutexLock lock(mutex_);
  if (phase_ != Phase::kOpen || error_) return false;
  if (early_ && early_->run() == order.run) return early_->can_grow(order.size_bytes);
  return is_needed || posix_ != PosixMetadata::kWrite;
}

void StagedFile::send_early(upload::StagedUploads& uploads, bool is_needed,
                            std::uint64_t part_bytes_max,
                            const std::shared_ptr<upload::EarlySource>& source) {
  if (!has_early_part(uploads, is_needed)) return;
  const upload::StagingFile::InOrder order = bytes_->in_order();
  std::shared_ptr<upload::EarlyUpload> early;
  std::shared_ptr<upload::EarlyUpload> former;  // of before a truncation
  {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::kOpen) return;
    if (early_ && early_->run() < order.run) former = std::exchange(early_, nullptr);
    if (!early_) {
      early_ = uploads.begin_early({.key = key_,
                                    .metadata = stored_metadata(),
                                    .run = order.run,
                                    .part_bytes_max = part_bytes_max});
    }
    early = early_;
  }
  if (former) former->discard();
  if (early->run() == order.run) early->grow(order.size_bytes, source);
}

bool StagedFile::begin_part(upload::ByteRange bytes, std::uint64_t run) {
  return bytes_->begin_part(bytes, run);
}

void StagedFile::drop_sent(RoomWanted wanted, Done<std::uint64_t> done) {
  std::shared_ptr<upload::EarlyUpload> early;
  {
    const MutexLock lock(mutex_);
    early = early_;
  }
  std::vector<upload::ByteRange> parts;
  if (early) parts = early->sent();
  if (!wanted.first_too && !parts.empty() && parts.front().begin == 0) parts.erase(parts.begin());
  if (parts.empty()) return done(0);
  views_.alone([self = shared_from_this(), wanted, early, parts = std::move(parts),
                done = std::move(done)]() mutable {
    std::uint64_t dropped_bytes = 0;
    for (const upload::ByteRange& part : parts) {
      const auto dropped = self->bytes_->drop_sent(part, early->run(), early->size_bytes_max());
      if (!dropped) {
        log::warn("staging: a part of '{}' keeps its room: {}", self->key(),
                  dropped.error().detail);
      }
      if (dropped && *dropped) dropped_bytes += part.size();
      if (dropped_bytes >= wanted.bytes) break;
    }
    self->views_.end();
    if (dropped_bytes > 0) self->note_dropped();
    done(dropped_bytes);
  });
}

void StagedFile::note_dropped() {
  std::string key;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(has_dropped_, true)) return;
    key = key_;
  }
  log::info(
      "staging: no room for all of '{}'; parts that the server has are dropped, and cannot be read "
      "or changed before the file is closed",
      key);
}

Error StagedFile::dropped_error() const {
  return {ErrorCode::kSequentialOnly,
          "'" + key() +
              "' is larger than the room for staged files (write.staging_size): what was sent of "
              "it cannot be read before it is stored"};
}

std::optional<Error> StagedFile::early_error() const {
  const MutexLock lock(mutex_);
  return early_ ? early_->error() : std::nullopt;
}

void StagedFile::take_early(const upload::StagingFile::Snapshot& snapshot,
                            upload::StagedObject& object) {
  early_metadata_.reset();
  has_dropped_ = false;
  object.early = std::exchange(early_, nullptr);
  if (!object.early) return;
  object.as_sent = snapshot.as_sent;
  object.needs_early = snapshot.has_dropped;
  if (!object.needs_early || object.early->metadata() == object.metadata) return;
  object.metadata = object.early->metadata();
  early_metadata_ = object.metadata;
}

bool StagedFile::lacks_attributes() const {
  const MutexLock lock(mutex_);
  return early_metadata_.has_value() && phase_ == Phase::kOpen;
}

void StagedFile::discard_early() { discard_early_before(UINT64_MAX); }

void StagedFile::discard_early_before(std::uint64_t run) {
  std::shared_ptr<upload::EarlyUpload> early;
  {
    const MutexLock lock(mutex_);
    if (!early_ || early_->run() >= run) return;
    early = std::exchange(early_, nullptr);
    has_dropped_ = false;
  }
  early->discard();
}

}  // namespace s3rdmafs::vfs
