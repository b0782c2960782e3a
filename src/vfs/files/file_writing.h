// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/read_cache.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/directories/names_besides.h"
#include "vfs/files/held_files.h"
#include "vfs/files/open_file.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// One way to write files (write.mode): what a mount does with a file from the open that writes it
/// until its bytes are stored. FileSystem has the rules that all ways share. Thread-safe; `done`
/// rules as in base/callback.h.
class FileWriting {
 public:
  virtual ~FileWriting() = default;

  // Names

  /// The file that the name stands for although the store has not got it; nothing: ask the store.
  [[nodiscard]] virtual std::optional<Entry> lookup(const std::string& key) = 0;
  /// Whether lookup() would find one.
  [[nodiscard]] virtual bool is_written(const std::string& key) = 0;
  /// Whether a name below a directory's prefix stands for one.
  [[nodiscard]] virtual bool any_below(const std::string& prefix) const = 0;
  /// The files of a directory that the store does not list yet; null: none.
  [[nodiscard]] virtual std::shared_ptr<const NamesBesides> unstored_in(
      const std::string& prefix) const = 0;

  /// Whether this mount may have changed what the name stands for. It may do so again, so a handle
  /// must be able to follow; one that the kernel reads by itself (passthrough) cannot.
  [[nodiscard]] virtual bool was_changed(const std::string& key) const = 0;

  /// Whether an open handle may yet change what the name stands for.
  [[nodiscard]] virtual bool has_any_of(const std::string& key) const = 0;
  /// Whether a store through an open handle may yet change the names, and so the time, of a
  /// directory. Costs a look at each file that is open for writing.
  [[nodiscard]] virtual bool may_change_names_of(const std::string& prefix) const = 0;

  // Renames and removals: store what is pending, hold, move, tell the files that are held.

  /// Stores what is pending of the file that the name stands for, if any. Errors: as sync(); kBusy.
  virtual void store_pending(const std::string& key, Done<void> done) = 0;
  /// The same of all files whose keys begin with `prefix`. Errors: the first.
  virtual void store_pending_below(const std::string& prefix, Done<void> done) = 0;
  /// Gives the files of these names, once no store of them is under way; until they are released
  /// none begins. A name that ends in "/" is that of all files below. Errors: none.
  virtual void hold(std::vector<std::string> names, Done<std::shared_ptr<HeldFiles>> done) = 0;
  /// Counts the work that must end before the mount ends.
  virtual void work_begins() = 0;
  virtual void work_ends() = 0;

  /// Whether the kernel can write files by itself.
  [[nodiscard]] virtual bool may_pass_writes() const = 0;

  // Handles that write; the errors are those of FileSystem.

  virtual void create(const std::string& key, Creation how, ProcessId process, Deadline deadline,
                      Done<CreatedFile> done) = 0;
  virtual void open_to_write(Ino ino, OpenToWrite how, ProcessId process, Deadline deadline,
                             Done<OpenFile> done) = 0;
  virtual void read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length,
                    Deadline deadline, Done<cache::PinnedBytes> done) = 0;
  virtual void write(std::uint64_t handle, std::uint64_t offset_bytes,
                     std::span<const std::byte> bytes, Deadline deadline, Done<void> done) = 0;
  virtual void sync(std::uint64_t handle, Done<void> done) = 0;
  virtual void sync_inode(Ino ino, Done<void> done) = 0;
  [[nodiscard]] virtual std::optional<ProcessId> opener(std::uint64_t handle) const = 0;
  virtual void truncate(Ino ino, std::uint64_t size_bytes, bool shares_inode, Deadline deadline,
                        Done<void> done) = 0;
  /// Changes attributes in the user metadata of a file. They are stored at `done`, unless `process`
  /// has the file open and its close will store them.
  virtual void set_attributes(Ino ino, const AttributeChange& change, ProcessId process,
                              Deadline deadline, Done<void> done) = 0;
  virtual void allocate(std::uint64_t handle, Allocation what, Done<void> done) = 0;
  virtual void copy(const CopyRange& range, Done<std::uint64_t> done) = 0;
  /// False for a handle that is not open for writing.
  virtual bool release(std::uint64_t handle) = 0;

  // Handles that read

  /// Opens a file that is being written; nothing: the inode is a version.
  [[nodiscard]] virtual std::optional<Result<OpenFile>> open_to_read(Ino ino) = 0;
  /// The reader of an inode whose bytes are newer than the version that a handle was opened for;
  /// null: they are not.
  [[nodiscard]] virtual std::shared_ptr<cache::ObjectReader> newer_reader(Ino ino) = 0;
  /// A handle that reads a version was opened, or released.
  virtual void version_opened(Ino ino) = 0;
  virtual void version_released(Ino ino) = 0;

  /// The mount ends; see FileSystem::end_writes. Blocks.
  virtual void end(Deadline deadline) = 0;
};

}  // namespace s3rdmafs::vfs
