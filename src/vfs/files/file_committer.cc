// SPDX-License-Identifier: Apache-2.0
// From written bytes to a version that everybody sees.
//
// Turns. Two commits of one file (fsync by one thread, close by another) must not overlap: the
// second would find the version that the first has just stored and take it for another client's.
// WrittenFile::take_turn() queues them without a thread.
//
// The request that makes the object visible names the version that it may replace. The store asks
// first where the server does not compare that, so this asks for nothing.
//
// Locks. None of its own.
#include "vfs/files/file_committer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::vfs {

FileCommitter::FileCommitter(const Clock& clock, std::shared_ptr<Names> names,
                             std::shared_ptr<WrittenFiles> written)
    : clock_(clock), names_(std::move(names)), written_(std::move(written)) {}

// After a commit the name stands for a version; while there is something to store again, for the
// file. A file that was removed has no name.
void FileCommitter::change(const std::shared_ptr<WrittenFile>& file,
                           std::move_only_function<void(Done<void>)> how, Done<void> done) {
  const bool is_again = file->is_stored() && file->is_wanted() && file->is_claimed();
  // The name of an empty file that was opened and not yet written stands for it already.
  const bool is_shown_for_this = is_again && written_->find(file->key()) != file;
  if (is_again) {
    if (auto shown = written_->show(file); !shown) return done(std::move(shown));
  }
  how([self = shared_from_this(), file, is_shown_for_this,
       done = std::move(done)](Result<void> outcome) mutable {
    if (is_shown_for_this && !file->is_pending()) self->written_->hide(*file);
    done(std::move(outcome));
  });
}

void FileCommitter::commit(const std::shared_ptr<WrittenFile>& file, Done<void> done) {
  written_->work_begins();
  auto ended = [self = shared_from_this(), file,
                done = std::move(done)](Result<void> outcome) mutable {
    // Also after a failure: the name stands for what the store has.
    self->names_->on_changed(file->key());
    self->written_->hide(*file);
    done(std::move(outcome));
    file->end_turn();
    self->written_->work_ends();
  };
  file->take_turn([self = shared_from_this(), file, ended = std::move(ended)]() mutable {
    self->store(file, std::move(ended));
  });
}

void FileCommitter::store(const std::shared_ptr<WrittenFile>& file, Done<void> done) {
  const bool is_new = !file->is_stored();
  file->finish([self = shared_from_this(), file, is_new,
                done = std::move(done)](Result<void> outcome) mutable {
    if (outcome && is_new && file->is_wanted()) {
      // The ETag is empty where a truncation has begun the file again since.
      self->names_->on_stored(file->key(), file->stored_etag());
      self->written_->supersede_others(file->key(), file.get());
    }
    done(std::move(outcome));
  });
}

void FileCommitter::commit_and_close(const std::shared_ptr<WrittenFile>& file) {
  if (file->is_stored()) {
    written_->hide(*file);  // an empty file that was opened and never written
    return file->close();
  }
  commit(file, [file](const Result<void>& outcome) {
    // The descriptor is gone, so the log is the only place that can tell.
    if (!outcome) log::warn("'{}' was not stored: {}", file->key(), outcome.error().detail);
    file->close();
  });
}

void FileCommitter::discard(std::vector<std::shared_ptr<WrittenFile>> files, Done<void> done) {
  if (files.empty()) return done({});
  const std::shared_ptr<WrittenFile> file = std::move(files.back());
  files.pop_back();
  file->discard([self = shared_from_this(), file, files = std::move(files),
                 done = std::move(done)](const Result<void>&) mutable {
    self->written_->hide(*file);
    self->discard(std::move(files), std::move(done));
  });
}

void FileCommitter::end(Deadline deadline) {
  written_->wait_for_work(deadline);
  for (const std::shared_ptr<WrittenFile>& file : written_->open_files()) {
    written_->work_begins();
    if (file->is_pending()) {
      log::warn("'{}' was open when the mount ended; it is not stored", file->key());
    }
    file->cancel([self = shared_from_this()](const Result<void>&) { self->written_->work_ends(); });
  }
  // Cancels that wait for a dead server end with the store's requests.
  constexpr std::chrono::seconds kCancelTime{5};
  written_->wait_for_work(std::min(deadline, clock_.now() + kCancelTime));
}

}  // namespace s3rdmafs::vfs
