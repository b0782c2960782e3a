// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/files/written_file.h"
#include "vfs/files/written_files.h"
#include "vfs/names/names.h"

namespace s3rdmafs::vfs {

/// Makes written files visible at the store, or ensures that they never become so. Owns the order
/// of both: the commits of one file run one after the other, and the name stands for the file until
/// its bytes are stored. Shared: work under way keeps it alive. Thread-safe; `done` rules as in
/// base/callback.h.
class FileCommitter : public std::enable_shared_from_this<FileCommitter> {
 public:
  /// Borrows the clock.
  FileCommitter(const Clock& clock, std::shared_ptr<Names> names,
                std::shared_ptr<WrittenFiles> written);

  /// Makes visible what was written. Errors: as FileSystem::sync.
  void commit(const std::shared_ptr<WrittenFile>& file, Done<void> done);
  /// As commit() of a file whose handle is gone: errors are logged, and the file is closed.
  void commit_and_close(const std::shared_ptr<WrittenFile>& file);

  /// Runs a change of an open file's bytes with the name standing for the file; where the change is
  /// refused, the name stands again for what it stood for before.
  void change(const std::shared_ptr<WrittenFile>& file,
              std::move_only_function<void(Done<void>)> how, Done<void> done);

  /// Discards the files, one after the other; `done` when none of their requests is under way.
  void discard(std::vector<std::shared_ptr<WrittenFile>> files, Done<void> done);

  /// The mount ends; see FileSystem::end_writes. Blocks.
  void end(Deadline deadline);

 private:
  /// The turn of one commit.
  void store(const std::shared_ptr<WrittenFile>& file, Done<void> done);

  const Clock& clock_;
  const std::shared_ptr<Names> names_;
  const std::shared_ptr<WrittenFiles> written_;
};

}  // namespace s3rdmafs::vfs
