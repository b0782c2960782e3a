// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "upload/uploads.h"
#include "vfs/files/handle_table.h"
#include "vfs/files/written_file.h"

namespace s3rdmafs::vfs {

/// The files that are being written, by name and by handle. A name stands for one at a time.
/// Thread-safe.
class WrittenFiles {
 public:
  /// Borrows all.
  WrittenFiles(upload::Uploads& uploads, const Clock& clock, HandleTable& handles)
      : uploads_(uploads), clock_(clock), handles_(handles) {}

  /// Begins a file, reserved for a process. A reservation that is not claimed ends after 5 s.
  /// Errors: kBusy: the name stands for another one.
  [[nodiscard]] Result<std::shared_ptr<WrittenFile>> begin(const std::string& key,
                                                           ProcessId process,
                                                           WrittenFile::Base base = {});
  /// The file that the name stands for while it is being written; null otherwise.
  [[nodiscard]] std::shared_ptr<WrittenFile> find(const std::string& key);
  /// The name stands for this file again. Errors: kBusy: it stands for another one.
  [[nodiscard]] Result<void> show(const std::shared_ptr<WrittenFile>& file);
  /// The name no longer stands for this file.
  void hide(const WrittenFile& file);
  /// Whether a name below a directory's prefix stands for one.
  [[nodiscard]] bool any_below(const std::string& prefix) const;

  /// Gives a claimed file its handle.
  [[nodiscard]] std::uint64_t open(const std::shared_ptr<WrittenFile>& file);
  /// Null for a handle that is not open for writing.
  std::shared_ptr<WrittenFile> release(std::uint64_t handle);
  /// Those that have a handle.
  [[nodiscard]] std::vector<std::shared_ptr<WrittenFile>> open_files() const;
  /// All files that could still store something under this key: the one that the name stands for,
  /// and those that were synced and are still open.
  [[nodiscard]] std::vector<std::shared_ptr<WrittenFile>> all_of(const std::string& key);
  /// Whether there are any.
  [[nodiscard]] bool has_any_of(const std::string& key) const;
  /// The same for any name in a directory. Costs a look at each that is below it.
  [[nodiscard]] bool has_any_in(const std::string& prefix) const;
  /// As all_of(), of all keys below a directory's prefix, each file once.
  [[nodiscard]] std::vector<std::shared_ptr<WrittenFile>> all_below(const std::string& prefix);
  /// The key has another version now, of `by` or (null) of no file: see WrittenFile::supersede.
  void supersede_others(const std::string& key, const WrittenFile* by);

  /// Counts the work that must end before the mount ends.
  void work_begins();
  void work_ends();
  /// Waits until no work is under way, or `deadline`. Blocks.
  void wait_for_work(Deadline deadline);

 private:
  std::shared_ptr<WrittenFile> find_locked(const std::string& key) REQUIRES(mutex_);

  upload::Uploads& uploads_;
  const Clock& clock_;
  HandleTable& handles_;

  mutable Mutex mutex_;  // lock order 1: while held, only a WrittenFile's and the handle table's
  CondVar work_done_;
  std::map<std::string, std::shared_ptr<WrittenFile>> by_key_ GUARDED_BY(mutex_);  ///< in order
  std::unordered_set<std::shared_ptr<WrittenFile>> open_ GUARDED_BY(mutex_);  ///< with a handle
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  std::size_t work_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::vfs
