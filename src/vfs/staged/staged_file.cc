// SPDX-License-Identifier: Apache-2.0
// The state of one staged file: what it is, what of it the store lacks, and the error that sticks.
//
// Snapshots. A store runs alone, so no write falls between two of its parts. A write that comes
// meanwhile is copied aside and waits without a thread; its time is bounded by the requests of the
// store. The alternative, to let it run and to store the file again, would let the object have a
// later write without an earlier one.
//
// The base. After a store the new version is the base: the staging file then tells which bytes
// differ from it (none), and the reader of the former version is dropped. A read that is under way
// finds the former version gone, sees that there is a new base, and begins again.
//
// Locks. mutex_ is a leaf: the staging file and the cache are called without it.
#include "vfs/staged/staged_file.h"

#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::vfs {

StagedFile::StagedFile(cache::ReadCache& cache, const Clock& clock,
                       std::unique_ptr<upload::StagingFile> bytes, Start start)
    : cache_(cache),
      clock_(clock),
      bytes_(std::move(bytes)),
      number_(start.number),
      key_(std::move(start.key)),
      base_(std::move(start.base)),
      has_base_inode_(base_ && start.has_base_inode),
      modified_(base_ ? base_->object.modified : clock.wall_now()),
      metadata_(std::make_shared<const s3::UserMetadata>(std::move(start.metadata))) {}

std::string StagedFile::key() const {
  const MutexLock lock(mutex_);
  return key_;
}

// Every ETag of a server has quotes; the invented ones have none.
Node StagedFile::node() const {
  const MutexLock lock(mutex_);
  if (phase_ == Phase::kOpen && has_base_inode_) {
    Node version = Node::file(base_->object);
    version.generation = base_->generation;
    return version;
  }
  const std::string state = phase_ == Phase::kOpen ? "staged " : "not stored ";
  return Node::file({.key = key_,
                     .etag = state + std::to_string(number_),
                     .size_bytes = 0,
                     .modified = modified_});
}

LiveFile StagedFile::live() const {
  const std::uint64_t size_bytes = bytes_->size_bytes();
  const MutexLock lock(mutex_);
  return {.size_bytes = size_bytes, .modified = modified_, .metadata = metadata_};
}

bool StagedFile::has_base() const {
  const MutexLock lock(mutex_);
  return base_.has_value();
}

bool StagedFile::is_version() const {
  {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::kOpen || !has_base_inode_) return false;
  }
  return !bytes_->is_changed();
}

std::shared_ptr<const s3::UserMetadata> StagedFile::shared_metadata() const {
  const MutexLock lock(mutex_);
  return metadata_;
}

s3::UserMetadata StagedFile::metadata() const { return *shared_metadata(); }

void StagedFile::set_metadata(s3::UserMetadata metadata, Done<void> done) {
  auto shared = std::make_shared<const s3::UserMetadata>(std::move(metadata));
  change(
      [this, shared = std::move(shared)](upload::StagingFile& bytes) -> Result<void> {
        if (auto set = bytes.set_metadata(*shared); !set) return set;
        const MutexLock lock(mutex_);
        metadata_ = shared;
        return {};
      },
      std::move(done));
}

bool StagedFile::is_dirty() const {
  {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::kOpen) return false;
  }
  return bytes_->is_changed();
}

std::optional<Error> StagedFile::error() const {
  const MutexLock lock(mutex_);
  return error_;
}

upload::StagedObject StagedFile::begin_store() {
  upload::StagingFile::Snapshot snapshot = bytes_->begin_store();
  upload::StagedObject object{.key = snapshot.identity.key,
                              .size_bytes = snapshot.size_bytes,
                              .changed = std::move(snapshot.changed),
                              .when = snapshot.identity.when(),
                              .metadata = std::move(snapshot.identity.metadata)};
  const MutexLock lock(mutex_);
  if (base_) object.base = base_->object;
  return object;
}

// The base first: bytes that the staging file then gives up are looked for in it.
void StagedFile::end_store(const std::string& etag, std::uint64_t generation) {
  set_base(etag, generation);
  if (const auto noted = bytes_->stored(etag); !noted) {
    spdlog::warn(
        "'{}' was stored, and its staging file could not be told: {}; s3rdmafs recover "
        "may list it",
        key(), noted.error().detail);
  }
}

void StagedFile::set_base(const std::string& etag, std::uint64_t generation) {
  const std::uint64_t size_bytes = bytes_->size_bytes();
  std::shared_ptr<cache::ObjectReader> last;  // destroyed after the lock
  const MutexLock lock(mutex_);
  base_ = Base{.object = {.key = key_,
                          .etag = etag,
                          .size_bytes = size_bytes,
                          .modified = modified_,
                          .metadata = metadata_},
               .generation = generation};
  has_base_inode_ = true;
  ++epoch_;
  last = std::exchange(base_reader_, nullptr);
}

void StagedFile::fail_store(Error error) {
  bytes_->not_stored();
  bytes_->set_reason(error.detail);
  const MutexLock lock(mutex_);
  if (phase_ == Phase::kOpen) phase_ = Phase::kFailed;
  if (!error_) error_ = std::move(error);
}

bool StagedFile::is_based_on(const s3::ObjectInfo& version) const {
  const MutexLock lock(mutex_);
  return phase_ == Phase::kOpen && base_ && base_->object.key == version.key &&
         base_->object.etag == version.etag;
}

void StagedFile::rename(s3::ObjectInfo copy, std::uint64_t generation) {
  if (const auto renamed = bytes_->set_copy(copy.key, copy.etag); !renamed) {
    spdlog::warn("'{}' has the name '{}' now, and its staging file could not be told: {}", key(),
                 copy.key, renamed.error().detail);
  }
  std::shared_ptr<cache::ObjectReader> last;  // destroyed after the lock
  const MutexLock lock(mutex_);
  key_ = copy.key;
  base_ = Base{.object = std::move(copy), .generation = generation};
  ++epoch_;
  last = std::exchange(base_reader_, nullptr);
}

void StagedFile::unlink() {
  {
    const MutexLock lock(mutex_);
    phase_ = Phase::kUnlinked;
  }
  bytes_->remove();  // open handles go on with it
}

bool StagedFile::is_unlinked() const {
  const MutexLock lock(mutex_);
  return phase_ == Phase::kUnlinked;
}

void StagedFile::close() {
  {
    const MutexLock lock(mutex_);
    if (phase_ == Phase::kFailed) return;
  }
  bytes_->remove();
}

}  // namespace s3rdmafs::vfs
