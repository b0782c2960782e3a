// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "upload/staged/staged_uploads.h"
#include "vfs/names/names.h"
#include "vfs/staged/staged_file.h"
#include "vfs/staged/staged_files.h"

namespace s3rdmafs::vfs {

/// Stores staged files: one store of a file at a time, each on the condition that the key is still
/// as the file knows it. Tells the names what came of it. Shared: work under way keeps it alive.
/// Thread-safe; `done` rules as in base/callback.h.
class StagedStore : public std::enable_shared_from_this<StagedStore> {
 public:
  /// Borrows the uploads.
  StagedStore(upload::StagedUploads& uploads, std::shared_ptr<Names> names,
              std::shared_ptr<StagedFiles> files);

  /// Stores what changed, if anything. Errors: the error that sticks to the file; kStale: another
  /// client changed the key.
  void store(const std::shared_ptr<StagedFile>& file, Done<void> done);
  /// Makes the file, which has no bytes, a copy of this version, by the server alone, and stores it
  /// so. Errors: kUnsupported (nothing has changed: write the bytes instead); else it is not known
  /// whether the copy was made.
  void copy(const std::shared_ptr<StagedFile>& file, const s3::ObjectInfo& source, Done<void> done);
  /// Sends parts of a file that is written in order, before it is stored, unless a store is under
  /// way.
  /// @param is_needed       as StagedFile::send_early
  /// @param part_bytes_max  of one part, so that several find room
  void send_early(const std::shared_ptr<StagedFile>& file, bool is_needed,
                  std::uint64_t part_bytes_max);
  /// As store() of a file that no handle writes any more: errors are logged.
  void store_closed(const std::shared_ptr<StagedFile>& file);
  /// Stores the files, one after the other; `done` gets the first error.
  void store_all(std::vector<std::shared_ptr<StagedFile>> files, Done<void> done);

  // For a rename, which has the turn of each file alone (StagedFile::turns).

  void take_turn(const std::shared_ptr<StagedFile>& file, Turns::Work work);
  void end_turn(const std::shared_ptr<StagedFile>& file);
  /// Nothing of the file is stored from now on.
  void discard_in_turn(const std::shared_ptr<StagedFile>& file);
  /// The file has the key of this copy of its base.
  void rename_in_turn(const std::shared_ptr<StagedFile>& file, const s3::ObjectInfo& copy);

  /// Lets the file go, if it may be; to be called when a handle of it has been closed.
  void let_go(const std::shared_ptr<StagedFile>& file);

  /// Counts the work that must end before the mount ends.
  void work_begins() { files_->work_begins(); }
  void work_ends();
  /// Runs `retry` after the next end of a store, or of other work. False: none is under way.
  [[nodiscard]] bool on_next_end(Turns::Work retry);

  /// The mount ends; see FileSystem::end_writes. Blocks.
  void end(Deadline deadline);

 private:
  void store_in_turn(const std::shared_ptr<StagedFile>& file, Done<void> done);
  void copy_in_turn(const std::shared_ptr<StagedFile>& file, const s3::ObjectInfo& source,
                    Done<void> done);
  /// Takes the turn, does the work and ends the turn before `done`.
  using InTurn = std::move_only_function<void(Done<void> done)>;
  void with_turn(const std::shared_ptr<StagedFile>& file, InTurn work, Done<void> done);
  void on_stored(const std::shared_ptr<StagedFile>& file, const std::string& etag);
  void on_failed(const std::shared_ptr<StagedFile>& file, Error error);
  void rebind(const std::shared_ptr<StagedFile>& file);

  upload::StagedUploads& uploads_;
  const std::shared_ptr<Names> names_;
  const std::shared_ptr<StagedFiles> files_;

  Mutex mutex_;  // lock order 1a: while held, only that of the StagedFiles
  std::vector<Turns::Work> waiting_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
