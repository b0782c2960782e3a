// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/read_cache.h"
#include "cache/resident_objects.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/uploads.h"
#include "vfs/files/open_file.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// POSIX over keys: names, inodes, directories and open files of one bucket (or a prefix of it).
/// Knows no FUSE and no network. Thread-safe; `done` rules as in base/callback.h.
///
/// Writing. A file is written once, from its first byte to its last, by one handle at a time. While
/// it is, its name stands for an inode of its own, which is no version yet; nothing of it is at the
/// server. sync() makes it visible whole; then the name stands for the new version. Whoever had an
/// older version open keeps it. All that changes the bucket fails with kReadOnly where the mount
/// may not write.
///
/// Which keys show: `a/b/c` is file c in directory a/b. A key ending in "/" only makes its
/// directory exist. Where key `a` and keys below `a/` both exist, the directory shows and the file
/// is hidden. Keys that cannot be a path (an empty, "." or ".." component, one over 255 bytes, or
/// more than 1,024 bytes in all) are hidden. Every hidden name seen in a listing is counted in
/// `vfs_hidden_keys_total`.
class FileSystem {
 public:
  struct Options {
    std::string prefix;  ///< empty or ending in "/"
    std::chrono::milliseconds ttl{};
    std::chrono::milliseconds negative_ttl{};
    /// Files up to here are got whole when they are opened first (OpenFile::content); at most what
    /// one ObjectReader::read gives. 0: none.
    std::uint64_t content_bytes_max = 0;
    /// What the listings of open directories may take; beyond, reading on fails with kNoMemory.
    std::uint64_t listing_bytes_max = 512 * kMiB;
    /// Called when this mount has stored a version with a key and an ETag that named another one
    /// before: for caches that go by these two alone. May be empty; any thread.
    std::function<void(std::string_view key, std::string_view etag)> on_etag_repeated = {};
  };

  /// What a mount that may write has more.
  struct Writing {
    s3::ObjectWriter& writer;
    upload::Uploads& uploads;
  };

  /// Borrows all but the options for its lifetime.
  /// @param whole  where open_whole() gets objects; null: it is open()
  FileSystem(s3::ObjectStore& store, cache::ReadCache& cache, const Clock& clock,
             metrics::Registry& metrics, Options options,
             std::optional<Writing> writing = std::nullopt,
             cache::ResidentObjects* whole = nullptr);
  ~FileSystem();

  [[nodiscard]] bool is_writable() const;
  /// Whether open_whole() is more than open().
  [[nodiscard]] bool has_whole_objects() const;

  /// Finds `name` in directory `parent`. Errors: kNotFound (may be kept for negative_ttl),
  /// kNotDirectory, and the object store's.
  void lookup(Ino parent, std::string_view name, Deadline deadline, Done<Entry> done);

  /// The kernel drops `count` references it got by lookup() or add_lookup().
  void forget(Ino ino, std::uint64_t count);

  /// Errors: kNotFound for a number the kernel was never given.
  [[nodiscard]] Result<Attributes> attributes(Ino ino) const;

  /// A snapshot of the directory, listed page by page as it is read. Errors: kNotDirectory.
  [[nodiscard]] Result<std::uint64_t> open_directory(Ino ino);
  /// Up to `entries_max` entries from `offset` (0, or a next_offset) on; none at the end. "." and
  /// ".." come first. Going back to an earlier offset gives the same entries again.
  void read_directory(std::uint64_t handle, std::uint64_t offset, std::size_t entries_max,
                      Deadline deadline, Done<std::vector<DirectoryEntry>> done);
  /// For readdirplus: gives the kernel an inode for an entry of this handle, as lookup() would.
  /// Not for "." and "..".
  [[nodiscard]] Entry add_lookup(std::uint64_t handle, const DirectoryEntry& entry);
  void release_directory(std::uint64_t handle);

  /// Opens one version of a file. What lookup saw longer than `ttl` ago is asked for again.
  /// Errors: kStale (the object was replaced or is gone: look the name up again), kIsDirectory.
  void open(Ino ino, Deadline deadline, Done<OpenFile> done);
  /// As open(), but answers when the whole object is in memory, if it may and can be
  /// (OpenFile::whole tells); where that fails the file is open all the same. Errors: those of
  /// open().
  void open_whole(Ino ino, Deadline deadline, Done<OpenFile> done);
  /// Bytes of that version, clipped to its end. Errors: as cache::ObjectReader::read.
  void read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
            Done<cache::PinnedBytes> done);
  /// What was written and not yet synced is made visible in the background.
  void release(std::uint64_t handle);

  /// Makes a file and opens it for writing. Whether it is there, the store is asked, unless
  /// `how.truncates`. Errors: kExists if `how.is_exclusive` and it is there, kStale if it is there
  /// otherwise (look the name up, and open it), kIsDirectory, kBusy.
  void create(Ino parent, std::string_view name, Creation how, ProcessId process, Deadline deadline,
              Done<CreatedFile> done);
  /// Opens a file to write it anew. Errors: kStale always for a version: its name now stands for an
  /// inode that can be written; look it up and open that. kSequentialOnly without `truncate`, but
  /// for a file that is empty by the store's word. kBusy: another handle writes it, or the name was
  /// written between the process's lookup and this.
  void open_to_write(Ino ino, bool truncate, ProcessId process, Deadline deadline,
                     Done<OpenFile> done);
  /// Appends. Errors: as upload::Uploader::append; kBusy where another handle took the name since;
  /// kStale where it has put another version there.
  void write(std::uint64_t handle, std::uint64_t offset_bytes, std::span<const std::byte> bytes,
             Deadline deadline, Done<void> done);
  /// Makes what was written visible. Errors: the first that any write of it met; kStale: another
  /// client changed what this handle found absent or empty, or what it stored before.
  void sync(std::uint64_t handle, Done<void> done);
  /// Who opened a handle for writing; nothing for other handles.
  [[nodiscard]] std::optional<ProcessId> opener(std::uint64_t handle) const;

  /// To nothing, or to the size it has by the store's word. Errors: kSequentialOnly for another
  /// size; kStale after success where the file is a new inode now, or before it where it was one
  /// already.
  void truncate(Ino ino, std::uint64_t size_bytes, Deadline deadline, Done<void> done);
  /// Also a file that is open for writing: nothing more of it becomes visible.
  void unlink(Ino parent, std::string_view name, Deadline deadline, Done<void> done);
  /// Stores the empty object "name/". Errors: kExists.
  void make_directory(Ino parent, std::string_view name, Deadline deadline, Done<Entry> done);
  /// Errors: kNotEmpty, also for files being written.
  void remove_directory(Ino parent, std::string_view name, Deadline deadline, Done<void> done);

  /// The mount ends: files that were closed or synced are finished, those still open are given up.
  /// Blocks until `deadline` at the latest. Before the store is shut down.
  void end_writes(Deadline deadline);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace s3rdmafs::vfs
