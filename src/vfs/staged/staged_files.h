// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "vfs/names/live_files.h"
#include "vfs/staged/changed_names.h"
#include "vfs/staged/staged_file.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// One handle that may write a staged file.
struct StagedHandle {
  std::shared_ptr<StagedFile> file;
  Ino ino = 0;
  ProcessId process = 0;
  bool may_write = false;
  bool is_synchronous = false;
  bool may_map = false;  ///< it can write a whole file through a mapping
  /// It was flushed after its last write, so its process may have closed it; copies share it.
  std::shared_ptr<std::atomic<bool>> is_flushed = std::make_shared<std::atomic<bool>>(false);
};

/// The staged files of a mount: which one a name stands for, and which one an inode is. Counts the
/// handles of every inode, since a file stays attached to its inode until the last of them, reading
/// or writing, is closed. Thread-safe.
class StagedFiles final : public LiveFiles {
 public:
  explicit StagedFiles(const Clock& clock) : clock_(clock) {}

  // Names

  /// The name stands for this file. Errors: kStale: it stands for another one that is needed.
  [[nodiscard]] Result<void> name(const std::shared_ptr<StagedFile>& file);
  /// As name() of a file without handle: ends after 5 s, unless a handle is opened.
  [[nodiscard]] Result<void> reserve_name(const std::shared_ptr<StagedFile>& file);
  /// The file that has the name; null: none.
  [[nodiscard]] std::shared_ptr<StagedFile> find(const std::string& key);
  /// The file that the name stands for in place of what the store has: one that is not stored.
  [[nodiscard]] std::shared_ptr<StagedFile> find_newer(const std::string& key);
  /// No name stands for the file.
  void unname(const StagedFile& file);
  /// The file has another key.
  void move(const std::shared_ptr<StagedFile>& file, const std::string& from);
  /// Whether name() or reserve_name() was ever called for it, or for a name that was moved to it.
  [[nodiscard]] bool was_changed(const std::string& key) const { return changed_.has(key); }
  /// This mount has given the version of `from`, open or not, the key `to`.
  void on_moved(const std::string& from, const std::string& to);
  /// All whose key begins with the prefix and that have a name, by key.
  [[nodiscard]] std::vector<std::shared_ptr<StagedFile>> below(const std::string& prefix) const;
  /// All, named or not.
  [[nodiscard]] std::vector<std::shared_ptr<StagedFile>> all() const;

  // Inodes

  /// The file of an inode; null: none. Takes no lock while there is no staged file.
  [[nodiscard]] std::shared_ptr<StagedFile> of(Ino ino) const;
  [[nodiscard]] std::optional<LiveFile> live(Ino ino) const override;
  /// The inode is this file from now on, unless it is one already. Returns the file that it is;
  /// null: none, since the file was let go.
  std::shared_ptr<StagedFile> attach(Ino ino, const std::shared_ptr<StagedFile>& file);
  /// The inode is a version again, and the name not this file's. False, and nothing is done: a
  /// handle that writes is counted.
  [[nodiscard]] bool detach(const std::shared_ptr<StagedFile>& file);
  /// The inode of a file; 0: none yet.
  [[nodiscard]] Ino ino_of(const StagedFile& file) const;

  /// The inodes that handles have open, those of staged files left out.
  [[nodiscard]] std::vector<Ino> open_versions() const;

  void opened(Ino ino, bool may_write);
  void closed(Ino ino, bool may_write);
  [[nodiscard]] bool has_writers(Ino ino) const;
  /// A handle that writes, from its open to its release; opened() and closed() count it besides.
  void add_writer(std::shared_ptr<const StagedHandle> handle);
  void remove_writer(const StagedHandle& handle);
  /// Whether this process has a handle that will store the file when it is closed, and tell it of
  /// a failure.
  [[nodiscard]] bool is_stored_by(Ino ino, ProcessId process) const;
  /// Takes the file off its inode and its name, if no handle of the inode is left and nothing of
  /// the file waits to be stored. True: it did, and the caller has to close the file.
  [[nodiscard]] bool let_go(const std::shared_ptr<StagedFile>& file);

  // The work that must end before the mount ends.

  void work_begins();
  void work_ends();
  [[nodiscard]] bool has_work() const;
  /// Waits until no work is under way, or `deadline`. Blocks.
  void wait_for_work(Deadline deadline);

 private:
  struct OpenInode {
    std::shared_ptr<StagedFile> file;
    std::size_t handles = 0;
    std::size_t writers = 0;
    std::vector<std::shared_ptr<const StagedHandle>> writing = {};
  };
  struct Named {
    std::shared_ptr<StagedFile> file;
    SeenAt reserved_until = SeenAt::min();
  };

  struct Reservation {
    SeenAt until;
    std::string key;
  };

  [[nodiscard]] Result<void> name(const std::shared_ptr<StagedFile>& file, SeenAt reserved_until);
  /// Takes the names of files that were reserved and never opened; the caller closes them.
  [[nodiscard]] std::vector<std::shared_ptr<StagedFile>> take_ended_reservations();
  /// Takes the file off its inode. False: a handle has it open.
  [[nodiscard]] bool detach_unopened(const StagedFile& file) REQUIRES(mutex_);
  [[nodiscard]] bool is_reserved(const Named& named) const REQUIRES(mutex_);
  void drop_if_unused(Ino ino) REQUIRES(mutex_);

  const Clock& clock_;
  std::atomic<std::size_t> files_ = 0;  ///< attached to an inode
  ChangedNames changed_;

  mutable Mutex mutex_;  // lock order 1b
  CondVar work_done_;
  std::size_t work_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, Named> by_key_ GUARDED_BY(mutex_);
  std::deque<Reservation> reservations_ GUARDED_BY(mutex_);  ///< the one that ends first in front
  std::unordered_map<Ino, OpenInode> by_ino_ GUARDED_BY(mutex_);
  std::unordered_map<const StagedFile*, Ino> inos_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
