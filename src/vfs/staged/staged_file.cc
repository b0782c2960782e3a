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
// Times. modified_ and changed_ are those of the file now; a store adds them to the user metadata
// (metadata.posix = "write"). The staging file has the times of the base's metadata left out
// (StagedFileMaker), so that a file which `recover` sends does not look older than it is.
//
// Locks. mutex_ is a leaf: the staging file and the cache are called without it.
#include "vfs/staged/staged_file.h"

#include <algorithm>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "vfs/metadata/extended_attributes.h"
#include "vfs/metadata/posix_metadata.h"

namespace s3rdmafs::vfs {
namespace {

// S3 takes no more in all. Some servers take 8 KiB, so what an object has can be more.
constexpr std::size_t kStoredMetadataBytesMax = 2048;

std::size_t text_bytes_of(const s3::UserMetadata& metadata) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : metadata) bytes += name.size() + value.size();
  return bytes;
}

bool has_same_entries(s3::UserMetadata one, s3::UserMetadata other) {
  std::ranges::sort(one);
  std::ranges::sort(other);
  return one == other;
}

}  // namespace

StagedFile::StagedFile(cache::ReadCache& cache, const Clock& clock,
                       std::unique_ptr<upload::StagingFile> bytes, Start start)
    : cache_(cache),
      clock_(clock),
      bytes_(std::move(bytes)),
      number_(start.number),
      posix_(start.posix),
      key_(std::move(start.key)),
      has_base_inode_(start.base && start.has_base_inode),
      modified_(clock.wall_now()),
      changed_(modified_),
      metadata_(std::make_shared<const s3::UserMetadata>(bytes_->identity().metadata)) {
  if (!start.base) return;
  base_ = std::move(start.base);
  base_->object.metadata = std::make_shared<const s3::UserMetadata>(std::move(start.metadata));
  show_base();
}

void StagedFile::show_base() {
  const s3::ObjectInfo& object = base_->object;
  metadata_ = object.metadata;
  modified_ = changed_ = object.modified;
  if (posix_ == PosixMetadata::kOff) return;
  metadata_ = std::make_shared<const s3::UserMetadata>(without_posix_times(*object.metadata));
  const PosixAttributes shown = posix_attributes(*object.metadata);
  modified_ = shown.modified.value_or(object.modified);
  changed_ = shown.changed.value_or(object.modified);
}

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
  Node staged = Node::file({.key = key_,
                            .etag = state + std::to_string(number_),
                            .size_bytes = 0,
                            .modified = modified_});
  staged.is_given_up = phase_ != Phase::kOpen;
  return staged;
}

void StagedFile::take_write_time() const {
  const auto written_at = bytes_->take_write_time();
  if (!written_at) return;
  const MutexLock lock(mutex_);
  modified_ = changed_ = *written_at;
  if (posix_ != PosixMetadata::kWrite) return;
  if (auto metadata = without_set_id_bits(*metadata_)) {
    metadata_ = std::make_shared<const s3::UserMetadata>(*std::move(metadata));
  }
}

LiveFile StagedFile::live() const {
  take_write_time();
  const std::uint64_t size_bytes = bytes_->size_bytes();
  const MutexLock lock(mutex_);
  return {
      .size_bytes = size_bytes, .modified = modified_, .changed = changed_, .metadata = metadata_};
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

std::optional<s3::ObjectInfo> StagedFile::version() const {
  if (!is_version()) return std::nullopt;
  const MutexLock lock(mutex_);
  return base_->object;
}

s3::UserMetadata StagedFile::stored_metadata() const {
  s3::UserMetadata metadata = *metadata_;
  if (posix_ != PosixMetadata::kWrite) return metadata;
  set_posix_attributes(metadata, {.modified = modified_, .changed = changed_});
  // The bytes are worth more than their times.
  return text_bytes_of(metadata) <= kStoredMetadataBytesMax ? metadata : *metadata_;
}

void StagedFile::drop_set_id_bits() {
  std::optional<s3::UserMetadata> metadata;
  {
    const MutexLock lock(mutex_);
    if (posix_ == PosixMetadata::kWrite) metadata = without_set_id_bits(*metadata_);
  }
  if (!metadata) return;
  if (const auto kept = bytes_->set_metadata(*metadata); !kept) {
    log::warn("'{}' was written, and its staging file could not be told its mode: {}", key(),
              kept.error().detail);
  }
  const MutexLock lock(mutex_);
  metadata_ = std::make_shared<const s3::UserMetadata>(*std::move(metadata));
}

void StagedFile::set_attributes(const AttributeChange& change, Done<std::uint64_t> done) {
  turns_.alone([self = shared_from_this(), change, done = std::move(done)]() mutable {
    auto changed = self->set_attributes_now(change);
    self->turns_.end();
    done(std::move(changed));
  });
}

// Alone: no other change of the file comes between the look at what it has and the end.
Result<std::uint64_t> StagedFile::set_attributes_now(const AttributeChange& change) {
  const PosixAttributes& set = change.posix;
  if (auto error = this->error()) return std::unexpected(*std::move(error));
  take_write_time();  // a time that is set comes after it
  const auto now = clock_.wall_now();
  s3::UserMetadata metadata;
  {
    const MutexLock lock(mutex_);
    metadata = *metadata_;
    if (set.uid || set.gid) metadata = without_set_id_bits(metadata).value_or(std::move(metadata));
    set_posix_attributes(metadata, set);
    if (change.extended) {
      auto changed = change_extended_attribute(metadata, *change.extended);
      if (!changed) return std::unexpected(std::move(changed.error()));
    }
    const std::size_t wanted_bytes = text_bytes_of(metadata);
    metadata = without_posix_times(std::move(metadata));
    const bool is_new_time = set.modified && *set.modified != modified_;
    if (metadata == *metadata_ && !is_new_time) return lost_changes_;
    if (wanted_bytes > std::max(kStoredMetadataBytesMax, text_bytes_of(*metadata_))) {
      return fail(ErrorCode::kNoSpace, "the user metadata of '" + key_ + "' has no room for it");
    }
  }
  if (auto kept = bytes_->set_metadata(metadata); !kept) {
    return std::unexpected(std::move(kept.error()));
  }
  const MutexLock lock(mutex_);
  metadata_ = std::make_shared<const s3::UserMetadata>(std::move(metadata));
  if (set.modified) modified_ = *set.modified;
  changed_ = now;
  return lost_changes_;
}

std::optional<Error> StagedFile::lost_since(std::uint64_t lost_before) const {
  const MutexLock lock(mutex_);
  return lost_changes_ == lost_before ? std::nullopt : last_loss_;
}

std::uint64_t StagedFile::epoch() const {
  const MutexLock lock(mutex_);
  return epoch_;
}

void StagedFile::refresh(s3::ObjectInfo base, std::uint64_t epoch, Done<void> done) {
  turns_.alone(
      [self = shared_from_this(), base = std::move(base), epoch, done = std::move(done)]() mutable {
        self->refresh_now(std::move(base), epoch);
        self->turns_.end();
        done({});
      });
}

void StagedFile::refresh_now(s3::ObjectInfo base, std::uint64_t epoch) {
  if (!is_version()) return;
  s3::UserMetadata metadata;
  {
    const MutexLock lock(mutex_);
    if (epoch != epoch_ || !base_ || !base.metadata) return;
    base_->object.headers = std::move(base.headers);
    if (base_->object.metadata && has_same_entries(*base_->object.metadata, *base.metadata)) return;
    base_->object.metadata = std::move(base.metadata);
    base_->object.modified = base.modified;
    show_base();
    metadata = *metadata_;
  }
  bytes_->set_base_metadata(std::move(metadata));
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
  take_write_time();
  upload::StagingFile::Snapshot snapshot = bytes_->begin_store();
  upload::StagedObject object{.key = snapshot.identity.key,
                              .size_bytes = snapshot.size_bytes,
                              .changed = std::move(snapshot.changed),
                              .when = snapshot.identity.when()};
  const bool is_whole = bytes_->is_whole();
  const MutexLock lock(mutex_);
  object.metadata = stored_metadata();
  take_early(snapshot, object);
  storing_bytes_ = object.size_bytes;
  if (is_whole) {
    if (!stored_parts_) stored_parts_ = std::make_shared<upload::StoredParts>();
    object.parts = stored_parts_;
  }
  if (base_) object.base = base_->object;
  stores_same_bytes_ =
      base_ && object.changed.empty() && object.size_bytes == base_->object.size_bytes;
  return object;
}

// It was written now, as by write(2).
std::optional<upload::StagedObject> StagedFile::begin_copy(const s3::ObjectInfo& source) {
  if (error() || is_unlinked()) return std::nullopt;
  drop_set_id_bits();  // before the snapshot, of which it is part
  auto snapshot = bytes_->begin_copy(source.size_bytes);
  if (!snapshot) return std::nullopt;
  const MutexLock lock(mutex_);
  modified_ = changed_ = clock_.wall_now();
  storing_bytes_ = source.size_bytes;
  stores_same_bytes_ = false;
  return upload::StagedObject{.key = snapshot->identity.key,
                              .size_bytes = source.size_bytes,
                              .base = source,
                              .when = snapshot->identity.when(),
                              .metadata = stored_metadata()};
}

void StagedFile::end_copy(const s3::ObjectInfo& source, std::uint64_t generation) {
  const MutexLock lock(mutex_);
  copied_ = {.key = source.key, .etag = source.etag, .generation = generation, .epoch = epoch_};
}

void StagedFile::end_copy_in_vain() { bytes_->not_stored(); }

bool StagedFile::is_copy_of(const s3::ObjectInfo& source, std::uint64_t generation) const {
  if (!is_version()) return false;
  const MutexLock lock(mutex_);
  return copied_.epoch == epoch_ && epoch_ > 0 && copied_.key == source.key &&
         copied_.etag == source.etag && copied_.generation == generation;
}

bool StagedFile::stores_same_bytes() const {
  const MutexLock lock(mutex_);
  return stores_same_bytes_;
}

std::string StagedFile::base_etag() const {
  const MutexLock lock(mutex_);
  return base_ ? base_->object.etag : "";
}

// The base first: bytes that the staging file then gives up are looked for in it.
void StagedFile::end_store(const std::string& etag, std::uint64_t generation) {
  set_base(etag, generation);
  auto noted = bytes_->stored(etag);
  std::optional<s3::UserMetadata> lacking;
  {
    const MutexLock lock(mutex_);
    if (early_metadata_) lacking = *metadata_;
  }
  if (noted && lacking) noted = bytes_->set_metadata(*std::move(lacking));
  if (noted) return;
  log::warn(
      "'{}' was stored, and its staging file could not be told: {}; s3rdmafs recover may list it",
      key(), noted.error().detail);
}

void StagedFile::set_base(const std::string& etag, std::uint64_t generation) {
  std::shared_ptr<cache::ObjectReader> last;  // destroyed after the lock
  const MutexLock lock(mutex_);
  // Other bytes are an object without any.
  auto headers = stores_same_bytes_ ? base_->object.headers : nullptr;
  base_ = Base{.object = {.key = key_,
                          .etag = etag,
                          .size_bytes = storing_bytes_,
                          .modified = modified_,
                          .metadata = std::make_shared<s3::UserMetadata>(
                              early_metadata_ ? *early_metadata_ : stored_metadata()),
                          .headers = std::move(headers)},
               .generation = generation};
  has_base_inode_ = true;
  ++epoch_;
  last = std::exchange(base_reader_, nullptr);
}

void StagedFile::fail_store(Error error) {
  bytes_->not_stored();
  if (error.code != ErrorCode::kStale && stores_same_bytes()) {
    s3::UserMetadata metadata;
    {
      const MutexLock lock(mutex_);
      show_base();
      metadata = *metadata_;
      ++lost_changes_;
      last_loss_ = std::move(error);
    }
    return bytes_->set_base_metadata(std::move(metadata));
  }
  bytes_->set_reason(error.detail);
  if (dropped_bytes() > 0) {
    views_.alone([self = shared_from_this()] {
      self->bytes_->give_up();
      self->views_.end();
    });
  }
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
  if (dropped_bytes() == 0) discard_early();  // its parts have the former key
  if (const auto renamed = bytes_->set_copy(copy.key, copy.etag); !renamed) {
    log::warn("'{}' has the name '{}' now, and its staging file could not be told: {}", key(),
              copy.key, renamed.error().detail);
  }
  std::shared_ptr<cache::ObjectReader> last;  // destroyed after the lock
  const MutexLock lock(mutex_);
  if (!copy.metadata && base_) copy.metadata = base_->object.metadata;
  if (!copy.headers && base_) copy.headers = base_->object.headers;
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
  discard_early();
  bytes_->remove();  // open handles go on with it
}

bool StagedFile::is_unlinked() const {
  const MutexLock lock(mutex_);
  return phase_ == Phase::kUnlinked;
}

void StagedFile::close() {
  discard_early();
  {
    const MutexLock lock(mutex_);
    if (phase_ == Phase::kFailed && !stores_same_bytes_) return;
  }
  bytes_->remove();
}

}  // namespace s3rdmafs::vfs
