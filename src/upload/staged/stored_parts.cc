// SPDX-License-Identifier: Apache-2.0
// Which parts of a file differ from the object that it was stored as.
//
// Why. Of a file that the kernel writes by itself nothing is known but that it was written. A
// program that appends and calls fsync(2) in turns would have the whole file sent each time.
//
// Cost: a look at all of the file's bytes, at the speed of memory, from the second store of an open
// file on. Parts are known by their CRC-64: of 2^64 changes of a part, one would not be found.
#include "upload/staged/stored_parts.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/units.h"
#include "upload/staged/staged_uploads.h"

namespace s3rdmafs::upload {
namespace {

constexpr std::uint64_t kPieceBytes = kMiB;  // stays in the processor's cache for the checksum

class Comparison : public std::enable_shared_from_this<Comparison> {
 public:
  Comparison(ByteRanges changed, std::vector<StoredParts::StoredPart> parts,
             std::shared_ptr<StagedSource> source, WorkerThread& thread, Deadline deadline,
             Done<ByteRanges> done)
      : changed_(std::move(changed)),
        parts_(std::move(parts)),
        source_(std::move(source)),
        thread_(thread),
        deadline_(deadline),
        done_(std::move(done)),
        piece_(kPieceBytes) {}

  // Each piece is a job of its own: a read may answer at once, and a chain of them has no end.
  void post_next() {
    if (next_ == parts_.size()) return done_(std::move(changed_));
    if (thread_.post([self = shared_from_this()] { self->read_piece(); })) return;
    done_(fail(ErrorCode::kCancelled, "the mount is going down"));
  }

 private:
  void read_piece() {
    const ByteRange part = parts_[next_].bytes;
    const std::uint64_t at = part.begin + compared_bytes_;
    const std::span<std::byte> out =
        std::span(piece_).first(std::min<std::uint64_t>(kPieceBytes, part.end - at));
    source_->read(at, out, deadline_, [self = shared_from_this(), out](const Result<void>& read) {
      if (!read) return self->done_(std::unexpected(read.error()));
      self->crc64nvme_ = crc64nvme(self->crc64nvme_, out);
      self->compared_bytes_ += out.size();
      self->end_part();
      self->post_next();
    });
  }

  void end_part() {
    const StoredParts::StoredPart& part = parts_[next_];
    if (compared_bytes_ < part.bytes.size()) return;
    if (crc64nvme_ == part.crc64nvme) changed_.subtract(part.bytes);
    crc64nvme_ = 0;
    compared_bytes_ = 0;
    ++next_;
  }

  ByteRanges changed_;
  const std::vector<StoredParts::StoredPart> parts_;
  const std::shared_ptr<StagedSource> source_;
  WorkerThread& thread_;
  const Deadline deadline_;
  Done<ByteRanges> done_;
  std::vector<std::byte> piece_;
  std::size_t next_ = 0;
  std::uint64_t compared_bytes_ = 0;  ///< of the next part
  std::uint64_t crc64nvme_ = 0;       ///< of these
};

}  // namespace

void StoredParts::begin() {
  const MutexLock lock(mutex_);
  sent_.clear();
}

void StoredParts::sent(StoredPart part) {
  const MutexLock lock(mutex_);
  sent_.push_back(part);
}

void StoredParts::succeeded(std::uint64_t size_bytes) {
  const MutexLock lock(mutex_);
  remove({.begin = size_bytes, .end = UINT64_MAX});
  for (const StoredPart& part : std::exchange(sent_, {})) {
    remove(part.bytes);
    parts_.emplace(part.bytes.begin, part);
  }
}

void StoredParts::remove(ByteRange bytes) {
  std::erase_if(parts_, [bytes](const auto& entry) {
    const ByteRange& known = entry.second.bytes;
    return known.begin < bytes.end && bytes.begin < known.end;
  });
}

std::vector<StoredParts::StoredPart> StoredParts::list() const {
  const MutexLock lock(mutex_);
  std::vector<StoredPart> parts;
  parts.reserve(parts_.size());
  for (const auto& [begin, part] : parts_) parts.push_back(part);
  return parts;
}

void find_changes(ByteRanges changed, const StoredParts& parts,
                  std::shared_ptr<StagedSource> source, WorkerThread& thread, Deadline deadline,
                  Done<ByteRanges> done) {
  std::vector<StoredParts::StoredPart> known = parts.list();
  std::erase_if(known, [&changed](const auto& part) { return !changed.contains(part.bytes); });
  std::make_shared<Comparison>(std::move(changed), std::move(known), std::move(source), thread,
                               deadline, std::move(done))
      ->post_next();
}

}  // namespace s3rdmafs::upload
