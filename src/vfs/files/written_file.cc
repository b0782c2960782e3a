// SPDX-License-Identifier: Apache-2.0
// One open file's way to its object: which process writes it and which version it replaces. The
// Uploader has the bytes.
//
// Locks. mutex_ is a leaf: the Uploader is called without it, and destroyed without it.
#include "vfs/files/written_file.h"

#include <utility>

namespace s3rdmafs::vfs {

WrittenFile::WrittenFile(upload::Uploads& uploads, std::string key, std::uint64_t number,
                         std::chrono::system_clock::time_point made_at, Base base)
    : uploads_(uploads),
      key_(std::move(key)),
      number_(number),
      made_at_(made_at),
      base_(std::move(base)),
      uploader_(begin(uploads, key_, base_)) {}

std::shared_ptr<upload::Uploader> WrittenFile::begin(upload::Uploads& uploads,
                                                     const std::string& key, const Base& base) {
  auto uploader = uploads.begin(key, base.start);
  if (!base.etag.empty()) uploader->require(s3::Precondition::matches(base.etag));
  return uploader;
}

Node WrittenFile::node() {
  // Every ETag of a server has quotes; this one has none.
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

void WrittenFile::reserve(ProcessId process, SeenAt now, Base base) {
  auto uploader = begin(uploads_, key_, base);  // the old one is destroyed after the lock
  const MutexLock lock(mutex_);
  claimed_ = false;
  process_ = process;
  reserved_at_ = now;
  base_ = std::move(base);
  std::swap(uploader_, uploader);
}

bool WrittenFile::claim(ProcessId process) {
  const MutexLock lock(mutex_);
  const bool is_for_any = process_ == 0;
  if (claimed_ || (!is_for_any && process != process_)) return false;
  claimed_ = true;
  process_ = process;
  return true;
}

SeenAt WrittenFile::reserved_at() const {
  const MutexLock lock(mutex_);
  return reserved_at_;
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
  if (is_superseded()) {
    return done(fail(ErrorCode::kStale, "'" + key_ + "' was replaced by another writer"));
  }
  uploader->append(offset_bytes, bytes, deadline, std::move(done));
}

void WrittenFile::finish(Done<void> done) {
  const auto uploader = this->uploader();
  if (!uploader) return done({});
  uploader->finish(std::move(done));
}

void WrittenFile::take_turn(std::move_only_function<void()> turn) {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(has_turn_, true)) return turns_.push_back(std::move(turn));
  }
  turn();
}

void WrittenFile::end_turn() {
  std::move_only_function<void()> next;
  {
    const MutexLock lock(mutex_);
    has_turn_ = !turns_.empty();
    if (!has_turn_) return;
    next = std::move(turns_.front());
    turns_.pop_front();
  }
  next();
}

void WrittenFile::give_up(Error error) {
  if (const auto uploader = this->uploader()) uploader->give_up(std::move(error));
}

void WrittenFile::supersede() {
  const MutexLock lock(mutex_);
  superseded_ = true;
}

bool WrittenFile::is_superseded() const {
  const MutexLock lock(mutex_);
  return superseded_;
}

std::string WrittenFile::stored_etag() const {
  const auto uploader = this->uploader();
  return uploader ? uploader->stored_etag() : std::string();
}

bool WrittenFile::is_wanted() const {
  const MutexLock lock(mutex_);
  return wanted_;
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
  if (!uploader || is_superseded()) {
    return done(fail(ErrorCode::kStale, "'" + key_ + "' is no longer being written"));
  }
  if (!is_claimed()) return done(fail(ErrorCode::kBusy, "'" + key_ + "' is being opened"));
  if (size_bytes == uploader->size_bytes()) return done({});
  if (size_bytes != 0) {
    return done(fail(ErrorCode::kSequentialOnly,
                     "'" + key_ + "' can only be truncated to zero, or to the size it has"));
  }
  uploader->discard(
      [self = shared_from_this(), uploader, done = std::move(done)](const Result<void>&) mutable {
        self->restart(uploader->stored_etag());
        done({});
      });
}

void WrittenFile::restart(const std::string& stored_etag) {
  using Start = upload::Uploader::Start;
  Base base{.start = Start::kReplacing};  // also of an empty version: it had bytes in between
  {
    const MutexLock lock(mutex_);
    if (base_.start == Start::kIfAbsent && stored_etag.empty()) base.start = Start::kIfAbsent;
    base.etag = stored_etag.empty() ? base_.etag : stored_etag;
    base_ = base;
  }
  const auto next = begin(uploads_, key_, base);
  std::shared_ptr<upload::Uploader> last;  // destroyed after the lock
  bool is_wanted = true;
  {
    const MutexLock lock(mutex_);
    last = std::exchange(uploader_, next);
    is_wanted = wanted_;
  }
  if (!is_wanted) next->discard([](const Result<void>&) {});
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
