// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "journal/record.h"
#include "journal/state_folder.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/worker_thread.h"

namespace s3rdmafs::journal {

/// How long a record lives after it was written.
enum class Durability {
  kProcess,  ///< longer than this process: SIGKILL does not harm it. Costs one write(2)
  kMachine,  ///< also longer than the machine: a power failure does not harm it. Costs an fsync(2)
};

/// A file of records in a state folder, written at its end, so that the next mount finds out what
/// this one had begun. Thread-safe.
///
/// Threads. The calls without `done` block for the file system: call those with kMachine on threads
/// that may wait for a disk (FUSE workers, threads of one's own, main), never on an event thread of
/// s3/; those with kProcess anywhere. append_async() may be called anywhere. No lock of another
/// layer may be held during any of them.
class Journal {
 public:
  /// Opens the file, or makes an empty one, and reads its records. A last line that is torn, as the
  /// death of a writer leaves it, is cut off; a damaged line elsewhere is left out, with a warning
  /// that names it. Borrows both: the folder is held longer than this lives.
  /// @param name  of the file, within the folder: "renames"
  /// Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open(const StateFolder& folder,
                                                             std::string name, const Clock& clock);
  /// As finish(). Blocks.
  ~Journal();

  /// The records that were there at open(), in order; empty the second time.
  [[nodiscard]] std::vector<Record> take_found() { return std::exchange(found_, {}); }

  /// Adds one record. With kMachine it is on the disk when this returns. Errors: kSystem; after a
  /// failed write nothing of the record is found later, after a failed sync it may be.
  [[nodiscard]] Result<void> append(const Record& record,
                                    Durability durability = Durability::kMachine);
  /// The same with kMachine, on the journal's thread, where `done` runs too. Records that wait for
  /// the disk together share one fsync.
  void append_async(const Record& record, Done<void> done);
  /// Ends the thread: answers what append_async() still has, and every later call with kCancelled.
  /// The others go on. The objects that such a `done` uses must live until then. Blocks.
  void finish();

  /// Replaces the content by `records`, all at once: after a crash the file has either the old
  /// content or the new. Errors: kSystem; the old content stays,
  /// or a power failure may bring it back.
  [[nodiscard]] Result<void> rewrite(const std::vector<Record>& records,
                                     Durability durability = Durability::kMachine);

  /// Of the file. To decide when a rewrite() is worth its cost.
  [[nodiscard]] std::uint64_t size_bytes() const;

 private:
  struct Waiting {
    std::string line;
    Done<void> done;
  };

  Journal(const StateFolder& folder, std::string name, const Clock& clock);
  [[nodiscard]] Result<void> load() EXCLUDES(mutex_);
  [[nodiscard]] Result<void> write_lines(const std::string& lines, Durability durability)
      EXCLUDES(mutex_);
  /// Adds the lines to the page cache. @return the file that has them
  [[nodiscard]] Result<std::shared_ptr<const UniqueFd>> add_lines(const std::string& lines)
      EXCLUDES(mutex_);
  void write_waiting() EXCLUDES(mutex_, waiting_mutex_);
  [[nodiscard]] std::deque<Waiting> take_waiting() EXCLUDES(waiting_mutex_);

  const StateFolder& folder_;
  const std::string name_;
  std::vector<Record> found_;  ///< of the thread that opened it

  mutable Mutex mutex_;  // leaf; held during calls on the file, but not while it is synced
  std::shared_ptr<const UniqueFd> file_ GUARDED_BY(mutex_);
  std::uint64_t size_bytes_ GUARDED_BY(mutex_) = 0;

  Mutex waiting_mutex_;  // leaf
  std::deque<Waiting> waiting_ GUARDED_BY(waiting_mutex_);

  WorkerThread thread_;  // last: its jobs use the rest
};

}  // namespace s3rdmafs::journal
