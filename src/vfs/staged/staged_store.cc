// SPDX-License-Identifier: Apache-2.0
// From staged bytes to a version that everybody sees.
//
// A store has the file's turn alone (StagedFile::turns), from the look at what changed to the
// moment at which the new version is the base. So two stores of one file never overlap, and the
// second does not take the version of the first for another client's.
//
// The file is let go before the answer, if nothing has it open: the next call by its name finds the
// version alone, and after a failure its bytes belong to `recover`. The work is counted until after
// the answer, which the mount's end waits for.
//
// The inode keeps its number: it is bound to the version that its file became. After a failure it
// is bound to no version, since the kernel's page cache has bytes of it that none has.
//
// Locks. None over a call.
#include "vfs/staged/staged_store.h"

#include <utility>

#include "s3rdmafs/base/log.h"
#include "vfs/staged/early_source.h"
#include "vfs/staged/staged_source.h"

namespace s3rdmafs::vfs {

StagedStore::StagedStore(upload::StagedUploads& uploads, std::shared_ptr<Names> names,
                         std::shared_ptr<StagedFiles> files)
    : uploads_(uploads), names_(std::move(names)), files_(std::move(files)) {}

void StagedStore::take_turn(const std::shared_ptr<StagedFile>& file, Turns::Work work) {
  work_begins();
  file->turns().alone(std::move(work));
}

void StagedStore::end_turn(const std::shared_ptr<StagedFile>& file) {
  file->turns().end();
  let_go(file);
  work_ends();
}

// The count first: a write that still sees the work is among those that wait.
void StagedStore::work_ends() {
  files_->work_ends();
  std::vector<Turns::Work> waiting;
  {
    const MutexLock lock(mutex_);
    waiting = std::exchange(waiting_, {});
  }
  for (Turns::Work& retry : waiting) retry();
}

void StagedStore::with_turn(const std::shared_ptr<StagedFile>& file, InTurn work, Done<void> done) {
  take_turn(file, [self = shared_from_this(), file, work = std::move(work),
                   done = std::move(done)]() mutable {
    work([self, file, done = std::move(done)](Result<void> outcome) mutable {
      file->turns().end();
      self->let_go(file);
      done(std::move(outcome));
      self->work_ends();
    });
  });
}

void StagedStore::store(const std::shared_ptr<StagedFile>& file, Done<void> done) {
  with_turn(
      file,
      [self = shared_from_this(), file](Done<void> then) {
        self->store_in_turn(file, std::move(then));
      },
      std::move(done));
}

void StagedStore::store_in_turn(const std::shared_ptr<StagedFile>& file, Done<void> done) {
  if (auto error = file->error()) return done(std::unexpected(*std::move(error)));
  if (!file->is_dirty()) return done({});
  uploads_.store(
      file->begin_store(), std::make_shared<StagedFileSource>(file),
      [self = shared_from_this(), file, done = std::move(done)](Result<std::string> etag) mutable {
        if (etag) {
          self->on_stored(file, *etag);
          // As a copy onto itself: its first parts were sent with other attributes.
          if (file->lacks_attributes()) return self->store_in_turn(file, std::move(done));
          return done({});
        }
        Error error = std::move(etag.error());
        self->on_failed(file, error);
        done(std::unexpected(std::move(error)));
      });
}

void StagedStore::send_early(const std::shared_ptr<StagedFile>& file, bool is_needed,
                             std::uint64_t part_bytes_max) {
  if (!file->has_early_part(uploads_, is_needed) || !file->turns().try_share()) return;
  file->send_early(uploads_, is_needed, part_bytes_max,
                   std::make_shared<StagedEarlySource>(file, shared_from_this()));
  file->turns().end();
}

void StagedStore::on_stored(const std::shared_ptr<StagedFile>& file, const std::string& etag) {
  const std::string key = file->key();
  // The same bytes under the same ETag are the same version, whatever its metadata: caches keep it.
  const bool is_same_version = file->stores_same_bytes() && etag == file->base_etag();
  if (!is_same_version) names_->on_stored(key, etag);
  names_->on_new_version(key);
  file->end_store(
      etag, names_->generation_of({.key = key, .etag = etag, .size_bytes = 0, .modified = {}}));
  rebind(file);
}

void StagedStore::on_failed(const std::shared_ptr<StagedFile>& file, Error error) {
  const std::string key = file->key();
  if (file->stores_same_bytes()) {
    log::warn("attributes of '{}' were not stored: {}; it keeps its former ones", key,
              error.detail);
  } else if (const std::uint64_t lost_bytes = file->dropped_bytes(); lost_bytes > 0) {
    log::error(
        "'{}' was not stored: {}; its bytes are lost, as it was larger than the staging area, and "
        "{} of {} bytes were at the server alone",
        key, error.detail, lost_bytes, file->live().size_bytes);
  } else {
    log::warn(
        "'{}' was not stored: {}; its bytes stay in the staging area: 's3rdmafs recover' lists and "
        "sends them",
        key, error.detail);
  }
  file->fail_store(std::move(error));
  names_->on_changed(key);
  rebind(file);
  // rebind() counts as an answer of the store, and here the store has answered nothing of the kind.
  if (const Ino ino = files_->ino_of(*file); ino != 0) names_->invalidate_version(ino, key);
}

void StagedStore::rebind(const std::shared_ptr<StagedFile>& file) {
  const Ino ino = files_->ino_of(*file);
  if (ino != 0) names_->rebind(ino, file->node());
}

void StagedStore::store_closed(const std::shared_ptr<StagedFile>& file) {
  if (!file->is_dirty()) return let_go(file);
  store(file, [](const Result<void>&) {});  // on_failed() has logged the error
}

void StagedStore::store_all(std::vector<std::shared_ptr<StagedFile>> files, Done<void> done) {
  if (files.empty()) return done({});
  const std::shared_ptr<StagedFile> file = std::move(files.back());
  files.pop_back();
  store(file, [self = shared_from_this(), files = std::move(files),
               done = std::move(done)](Result<void> stored) mutable {
    if (!stored) return done(std::move(stored));
    self->store_all(std::move(files), std::move(done));
  });
}

void StagedStore::discard_in_turn(const std::shared_ptr<StagedFile>& file) {
  files_->unname(*file);
  file->unlink();
  rebind(file);
}

void StagedStore::rename_in_turn(const std::shared_ptr<StagedFile>& file,
                                 const s3::ObjectInfo& copy) {
  const std::string from = file->key();
  file->rename(copy, names_->generation_of(copy));
  files_->move(file, from);
  rebind(file);
}

void StagedStore::let_go(const std::shared_ptr<StagedFile>& file) {
  if (files_->let_go(file)) file->close();
}

bool StagedStore::on_next_end(Turns::Work retry) {
  const MutexLock lock(mutex_);
  if (!files_->has_work()) return false;
  waiting_.push_back(std::move(retry));
  return true;
}

void StagedStore::end(Deadline deadline) {
  for (const auto& file : files_->all()) {
    if (file->is_dirty()) store_closed(file);
  }
  files_->wait_for_work(deadline);
  for (const auto& file : files_->all()) {
    if (!file->is_dirty()) {
      file->close();
      continue;
    }
    if (file->dropped_bytes() > 0) {
      log::error(
          "'{}' was not stored when the mount ended; its bytes are lost, as it was larger than the "
          "staging area",
          file->key());
      continue;
    }
    log::warn(
        "'{}' was not stored when the mount ended; its bytes stay in the staging area: 's3rdmafs "
        "recover' lists and sends them",
        file->key());
  }
}

}  // namespace s3rdmafs::vfs
