// SPDX-License-Identifier: Apache-2.0
#include "vfs/written_file.h"

#include <utility>

namespace s3rdmafs::vfs {

WrittenFile::WrittenFile(upload::Uploads& uploads, std::string key, std::uint64_t number,
                         SeenAt reserved_at, std::chrono::system_clock::time_point made_at)
    : uploads_(uploads),
      key_(std::move(key)),
      number_(number),
      reserved_at_(reserved_at),
      made_at_(made_at),
      uploader_(uploads.begin(key_)) {}

Node WrittenFile::node() {
  // Without the quotes that every ETag has.
  Node node = Node::file({.key = key_,
                          .etag = "being written " + std::to_string(number_),
                          .size_bytes = 0,
                          .modified = made_at_});
  node.written = shared_from_this();
  return node;
}

std::shared_ptr<upload::Uploader> WrittenFile::uploader() const {
  const MutexLock lock(mutex_);
  return uploader_;
}

std::uint64_t WrittenFile::size_bytes() const {
  std::shared_ptr<upload::Uploader> uploader;
  {
    const MutexLock lock(mutex_);
    if (!uploader_) return final_size_bytes_;
    uploader = uploader_;
  }
  return uploader->size_bytes();
}

bool WrittenFile::claim(ProcessId process) {
  const MutexLock lock(mutex_);
  if (std::exchange(claimed_, true)) return false;
  process_ = process;
  return true;
}

bool WrittenFile::is_claimed() const {
  const MutexLock lock(mutex_);
  return claimed_;
}

ProcessId WrittenFile::process() const {
  const MutexLock lock(mutex_);
  return process_;
}

void WrittenFile::append(std::uint64_t offset_bytes, std::span<const std::byte> bytes,
                         Deadline deadline, Done<void> done) {
  const auto uploader = this->uploader();
  if (!uploader) return done(fail(ErrorCode::kInvalidArgument, "'" + key_ + "' is closed"));
  uploader->append(offset_bytes, bytes, deadline, std::move(done));
}

void WrittenFile::finish(Done<void> done) {
  const auto uploader = this->uploader();
  if (!uploader) return done({});
  uploader->finish(std::move(done));
}

bool WrittenFile::is_stored() const {
  const auto uploader = this->uploader();
  return !uploader || uploader->is_stored();
}

bool WrittenFile::is_pending() const {
  std::shared_ptr<upload::Uploader> uploader;
  {
    const MutexLock lock(mutex_);
    if (!wanted_ || !uploader_) return false;
    uploader = uploader_;
  }
  return !uploader->is_stored() && !uploader->has_failed();
}

void WrittenFile::truncate(std::uint64_t size_bytes, Done<void> done) {
  const auto uploader = this->uploader();
  if (!uploader || size_bytes == uploader->size_bytes()) return done({});
  if (size_bytes != 0) {
    return done(fail(ErrorCode::kSequentialOnly,
                     "'" + key_ + "' can only be cut to nothing, or to the size it has"));
  }
  uploader->discard([self = shared_from_this(), done = std::move(done)](Result<void>) mutable {
    auto next = self->uploads_.begin(self->key_);
    {
      const MutexLock lock(self->mutex_);
      std::swap(self->uploader_, next);
    }
    done({});
  });
}

void WrittenFile::discard(Done<void> done) {
  {
    const MutexLock lock(mutex_);
    wanted_ = false;
  }
  const auto uploader = this->uploader();
  if (!uploader) return done({});
  uploader->discard(std::move(done));
}

void WrittenFile::cancel(Done<void> done) {
  const auto uploader = this->uploader();
  if (!uploader) return done({});
  uploader->cancel(std::move(done));
}

void WrittenFile::close() {
  const std::uint64_t size = size_bytes();
  std::shared_ptr<upload::Uploader> last;  // destroyed after the lock
  const MutexLock lock(mutex_);
  last = std::exchange(uploader_, nullptr);
  if (last) final_size_bytes_ = size;
}

}  // namespace s3rdmafs::vfs
