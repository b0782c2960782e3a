// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/read_cache.h"
#include "cache/resident_objects.h"
#include "s3/object_store.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/staged/staging_area.h"
#include "upload/uploads.h"
#include "vfs/files/handle_table.h"
#include "vfs/files/open_file.h"
#include "vfs/names/directory_entry.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

class Directories;
class FileWriting;
class HeldFiles;
class ListingCursor;
class Names;
class NamesBesides;
class ObjectDescriptions;
class OpenFiles;
class OpenTrace;
class RenameLog;
class Renames;
class StagedFiles;
struct ListedName;
struct Node;

/// POSIX over keys: names, inodes, directories and open files of one bucket (or of a prefix of it).
/// Knows neither FUSE nor the network. Shared: every request under way keeps it alive. Thread-safe;
/// `done` rules as in base/callback.h.
///
/// Writing, sequentially. A file is written once, from its first byte to its last, by one handle at
/// a time. While it is written, its name stands for an inode of its own, which is not a version
/// yet; the server shows nothing of it. sync() makes it visible whole; then the name stands for the
/// new version. Handles of an older version keep reading that version.
///
/// Writing, staged (is_staged()). A file is read and written at any place, by any number of
/// handles. Its inode keeps its number, and all its handles see each write; sync() makes the file
/// visible whole at the server. Everything that changes the bucket fails with kReadOnly where the
/// mount may not write.
///
/// Which keys show: `a/b/c` is file c in directory a/b. A key ending in "/" only makes its
/// directory exist. Where key `a` and keys below `a/` both exist, the directory shows and the file
/// is hidden. Keys that cannot be a path (an empty, "." or ".." component, one over 255 bytes, or
/// more than 1,024 bytes in all) are hidden. Every hidden name seen in a listing is counted in
/// `vfs_hidden_keys_total`.
class FileSystem : public std::enable_shared_from_this<FileSystem> {
 public:
  struct Options {
    std::string prefix;  ///< empty or ending in "/"
    /// Where the file system shows below the mount point: empty, or ending in "/".
    std::string directory = {};
    Volume volume = 0;  ///< its number among those of the mount
    /// Its directories, by their prefixes, that stand for other volumes of the mount.
    std::map<std::string, Volume> roots = {};
    /// Notes the opens of programs; null: the file system has one of its own.
    std::shared_ptr<OpenTrace> open_trace = {};
    std::chrono::milliseconds ttl{};
    std::chrono::milliseconds negative_ttl{};
    /// Every open of a file asks the store which version its name stands for, unless it was asked
    /// within 2 ms before: what another mount has closed is seen. False: what is known is
    /// believed for `ttl`.
    bool confirms_opens = false;
    /// The first open of a file up to this size fetches all of it (OpenFile::content); at most what
    /// one ObjectReader::read gives. 0: none.
    std::uint64_t content_bytes_max = 0;
    /// Memory for the listings of open directories; beyond it, reading on fails with kNoMemory.
    std::uint64_t listing_bytes_max = 512 * kMiB;
    /// From a call to its deadline: nothing that a call may come to wait for takes longer.
    std::chrono::milliseconds call_time{30'000};
    /// Whether attributes of files come from user metadata, and go there. kWrite: staged mode only.
    PosixMetadata posix = PosixMetadata::kOff;
    /// Requests for the user metadata of listed files, at a time: some of the connections, so that
    /// reads of data find one.
    std::size_t metadata_requests_max = 16;
    /// Called when this mount has stored a version whose key and ETag named another one before: for
    /// caches that go by these two alone. May be empty; any thread.
    std::function<void(std::string_view key, std::string_view etag)> on_etag_repeated = {};
  };

  /// The further needs of a mount that may write.
  struct Writing {
    s3::ObjectWriter& writer;
    upload::Uploads& uploads;
    upload::StagingArea* staging = nullptr;  ///< null: files are written sequentially
    /// Where the steps of renames are kept; null: nowhere. Borrowed.
    RenameLog* rename_log = nullptr;
    /// A directory with more keys is not renamed.
    std::size_t rename_keys_max = 100'000;
  };

  /// Borrows all but the options, for as long as requests are under way: shut the store down first.
  /// @param whole  where open_whole() gets objects; null: it is open()
  [[nodiscard]] static std::shared_ptr<FileSystem> create(
      s3::ObjectStore& store, cache::ReadCache& cache, const Clock& clock,
      metrics::Registry& metrics, Options options, std::optional<Writing> writing = std::nullopt,
      cache::ResidentObjects* whole = nullptr);
  ~FileSystem();
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  [[nodiscard]] bool is_writable() const { return writing_.has_value(); }
  /// Whether files are read and written at any place (write.mode "staged").
  [[nodiscard]] bool is_staged() const { return staged_files_ != nullptr; }
  /// Whether attributes of files come from user metadata.
  [[nodiscard]] bool shows_posix() const { return options_.posix != PosixMetadata::kOff; }
  /// Whether changes of attributes are kept in user metadata.
  [[nodiscard]] bool keeps_posix() const { return options_.posix == PosixMetadata::kWrite; }
  /// How long the kernel may keep that a name does not exist.
  [[nodiscard]] std::chrono::milliseconds negative_ttl() const { return options_.negative_ttl; }
  /// Whether open_whole() is more than open().
  [[nodiscard]] bool has_whole_objects() const { return whole_ != nullptr; }
  /// Whether create() and open_to_write() may give local files that the kernel writes by itself.
  [[nodiscard]] bool may_pass_writes() const;
  /// The number of the local file that the inode is now, which no other one of this mount has; 0:
  /// the inode is none (OpenFile::local_fd). It stays as long as a handle of the inode is open.
  [[nodiscard]] std::uint64_t local_file_of(Ino ino) const;

  // Names (file_system.cc)

  /// Finds `name` in directory `parent`. Errors: kNotFound (may be kept for negative_ttl),
  /// kNotDirectory, and the object store's.
  void lookup(Ino parent, std::string_view name, Deadline deadline, Done<Entry> done);

  /// The kernel drops `count` references that it got by lookup() or add_lookup().
  void forget(Ino ino, std::uint64_t count);

  /// Errors: kNotFound for a number that the kernel was never given; kStale: look the name up
  /// again.
  [[nodiscard]] Result<Attributes> attributes(Ino ino) const;
  /// The path of an inode below the mount point, for a person; empty if the kernel does not refer
  /// to it.
  [[nodiscard]] std::string path_of(Ino ino) const;

  /// The version of a file that can be read without this file system. Errors: kUnsupported: it may
  /// be written here; kInvalidArgument: no file, or not known to the kernel.
  [[nodiscard]] Result<cache::ObjectVersion> version_of(Ino ino) const;

  /// A snapshot of the directory, listed page by page as it is read. Errors: kNotDirectory.
  [[nodiscard]] Result<std::uint64_t> open_directory(Ino ino);
  /// Up to `entries_max` entries from `offset` (0, or a next_offset) on; none at the end. "." and
  /// ".." come first. Reading an earlier offset again gives the same entries again.
  void read_directory(std::uint64_t handle, std::uint64_t offset, std::size_t entries_max,
                      Deadline deadline, Done<std::vector<DirectoryEntry>> done);
  /// As read_directory(), with all attributes of the entries that the mount shows: where they come
  /// from user metadata, that of all names is asked for side by side, and ahead of the reader.
  void read_directory_plus(std::uint64_t handle, std::uint64_t offset, std::size_t entries_max,
                           Deadline deadline, Done<std::vector<DirectoryEntry>> done);
  /// For readdirplus: gives the kernel an inode for an entry, as lookup() would. Not for "." and
  /// "..". No inode (0) where its attributes are not known, or where they are probably not
  /// wanted: the kernel then asks.
  [[nodiscard]] Entry add_lookup(const DirectoryEntry& entry);
  void release_directory(std::uint64_t handle);

  // Reading (file_system_read.cc)

  /// The opens of programs, for a recorder. Valid as long as this.
  [[nodiscard]] OpenTrace& open_trace() { return *open_trace_; }

  /// Opens one version of a file. The store is asked whether the name still stands for it where the
  /// last answer is older than `ttl`, or always (Options::confirms_opens). Errors: kStale (the
  /// object was replaced or removed: look the name up again), kIsDirectory, kBusy (the file is
  /// being written).
  void open(Ino ino, Deadline deadline, Done<OpenFile> done);
  /// As open(), but answers when the whole object is in memory, if it may and can be
  /// (OpenFile::whole tells); where that fails the file is open all the same. Errors: those of
  /// open().
  void open_whole(Ino ino, Deadline deadline, Done<OpenFile> done);
  /// Bytes of that version, clipped to its end. Errors: as cache::ObjectReader::read.
  void read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
            Done<cache::PinnedBytes> done);
  /// Also of a file that is written: what was not yet synced is made visible in the background.
  void release(std::uint64_t handle);

  // Writing (file_system_write.cc)

  /// Creates a file and opens it for writing, and staged also for reading. The store is asked
  /// whether the file exists, unless `how.truncates`. Errors: kExists if `how.is_exclusive` and it
  /// exists, kStale if it exists otherwise (look the name up, and open it), kIsDirectory, kBusy.
  void create(Ino parent, std::string_view name, Creation how, ProcessId process, Deadline deadline,
              Done<CreatedFile> done);
  /// Staged: opens a file to read and write it. Errors: kStale: look the name up again; kNoSpace.
  /// Sequential: opens a file to write it from its first byte. Errors: kStale always for a version:
  /// its name now stands for an inode that can be written; look it up and open that.
  /// kSequentialOnly without O_TRUNC, except for a file that the store says is empty. kBusy:
  /// another handle writes it, or the name was written between the process's lookup and this.
  void open_to_write(Ino ino, OpenToWrite how, ProcessId process, Deadline deadline,
                     Done<OpenFile> done);
  /// Staged: at any place, after a store that is under way; does not wait for `deadline`. Errors:
  /// the first of a store of the file; kNoSpace (nothing of what was acknowledged is lost),
  /// kTooLarge. Sequential: at the end. Errors: as upload::Uploader::append; kBusy where another
  /// handle took the name since; kStale where that handle has stored another version.
  void write(std::uint64_t handle, std::uint64_t offset_bytes, std::span<const std::byte> bytes,
             Deadline deadline, Done<void> done);
  /// Makes what was written visible. Errors: the first that any write of it met; kStale: another
  /// client changed what this handle found absent or empty, or what it stored before.
  void sync(std::uint64_t handle, Done<void> done);
  /// The same of what any handle of the inode wrote. Errors: as sync().
  void sync_inode(Ino ino, Done<void> done);
  /// Whether a handle that was opened to read a version of the inode reads newer bytes.
  [[nodiscard]] bool has_newer_bytes(Ino ino) const;
  /// The process that opened a handle for writing; nothing for other handles.
  [[nodiscard]] std::optional<ProcessId> opener(std::uint64_t handle) const;
  /// Staged files: to any size. Others: to nothing, or to the size that the store says it has.
  /// @param shares_inode  as OpenToWrite::shares_inode
  /// Errors: kSequentialOnly for another size; kStale after success where the file is now a new
  /// inode, or before it where it already was one.
  void truncate(Ino ino, std::uint64_t size_bytes, bool shares_inode, Deadline deadline,
                Done<void> done);
  /// Of a staged file. Errors: as write(); kSequentialOnly where files are written sequentially.
  void allocate(std::uint64_t handle, Allocation what, Done<void> done);
  /// copy_file_range(2) without the bytes: a staged file without any becomes a copy of a whole
  /// version, which the server makes and stores now. `done` gets how many bytes of the range are
  /// there now; the copy may have more. Errors: kUnsupported (nothing has changed: the bytes have
  /// to be read and written); else it is not known whether the copy was made.
  void copy(const CopyRange& range, Done<std::uint64_t> done);
  /// The mount ends: files that were closed or synced are finished, those still open are given up.
  /// Blocks until `deadline` at the latest. Before the store is shut down.
  void end_writes(Deadline deadline);

  // Changes of names (file_system_names.cc)

  /// Also a file that is open for writing: nothing more of it becomes visible.
  void unlink(Ino parent, std::string_view name, Deadline deadline, Done<void> done);
  /// Stores the empty object "name/". Errors: kExists.
  void make_directory(Ino parent, std::string_view name, Deadline deadline, Done<Entry> done);
  /// Stores an empty file. Errors: kExists.
  /// @param posix  its mode, owner and group, where keeps_posix()
  void make_file(Ino parent, std::string_view name, const PosixAttributes& posix, Deadline deadline,
                 Done<Entry> done);
  /// Stores a symbolic link: its target is the object's body, and its mode says what it is. Only
  /// where keeps_posix(). Errors: kExists, kNameTooLong for a target.
  void make_symlink(Ino parent, std::string_view name, std::string target,
                    const PosixAttributes& owner, Deadline deadline, Done<Entry> done);
  /// The target of a symbolic link, which another client may have made. Errors: kInvalidArgument:
  /// not a link, or one without a target; kNameTooLong, kCorrupt; those of read().
  void read_link(Ino ino, Deadline deadline, Done<std::string> done);
  /// chmod, chown and utimens: `set` has what changes. Kept where keeps_posix(), for files: stored
  /// before `done`, unless a handle has the file open to write, which stores it at its close. Else
  /// accepted and forgotten. Errors: kStale: look the name up again; those of sync().
  void set_attributes(Ino ino, const PosixAttributes& set, ProcessId process, Deadline deadline,
                      Done<void> done);

  // Extended attributes (file_system_attributes.cc)

  /// The value of an attribute. Those of `user.` come from user metadata, where shows_posix();
  /// those of `s3.` from the server (s3rdmafs-semantics(7)). Errors: kNoAttribute, kStale: look the
  /// name up again; the object store's.
  void get_extended_attribute(Ino ino, const std::string& name, Deadline deadline,
                              Done<std::string> done);
  /// The names of `user.`, in order. Errors: kStale; the object store's.
  void list_extended_attributes(Ino ino, Deadline deadline, Done<std::vector<std::string>> done);
  /// Where keeps_posix(), of a file; stored as by set_attributes(). Errors: as that; kExists,
  /// kNoAttribute, kInvalidArgument (the name is not UTF-8), kNoSpace, kUnsupported (a directory).
  void change_extended_attribute(Ino ino, ExtendedAttributeChange change, ProcessId process,
                                 Deadline deadline, Done<void> done);

  // Renames (file_system_rename.cc)

  /// Renames a file, which replaces another, or a directory, which may replace an empty one. Bytes
  /// of the source that the store lacks are stored first. A file moves at once, and never has no
  /// name; a directory key by key (vfs/renames/tree_mover.h). Each request to the store has a time
  /// of its own. Errors: kNotFound, kExists with `must_be_new`, kIsDirectory, kNotDirectory,
  /// kNotEmpty, kInvalidArgument (a directory into itself), kNameTooLong, kTooManyKeys, kBusy (the
  /// source is about to be written), kStale (the source was changed by another client: try again),
  /// and those of sync() where something was pending.
  void rename(Ino parent, std::string_view name, Ino new_parent, std::string_view new_name,
              bool must_be_new, Done<void> done);
  /// Errors: kNotEmpty, also for files being written.
  void remove_directory(Ino parent, std::string_view name, Deadline deadline, Done<void> done);

 private:
  FileSystem(s3::ObjectStore& store, cache::ReadCache& cache, const Clock& clock,
             metrics::Registry& metrics, Options options, std::optional<Writing> writing,
             cache::ResidentObjects* whole);
  [[nodiscard]] std::shared_ptr<FileWriting> make_file_writing(cache::ReadCache& cache);
  [[nodiscard]] std::string shown_path(const std::string& key) const;
  struct DirectoryRead {
    std::uint64_t handle = 0;
    std::uint64_t offset = 0;
    std::size_t entries_max = 0;
    bool is_complete = false;  ///< with user metadata
    bool has_inodes = false;   ///< entries may get inodes
  };
  void read_entries(DirectoryRead read, Deadline deadline, Done<std::vector<DirectoryEntry>> done);
  /// Entries of names that begin at `offset`, but for those of `without` (may be null).
  [[nodiscard]] std::vector<DirectoryEntry> entries_of(std::vector<ListedName> names,
                                                       const DirectoryRead& read,
                                                       const NamesBesides* without) const;

  /// Whether this mount may change the attributes of a node without a call by its name.
  [[nodiscard]] bool may_change(const Node& node) const;
  /// Gives the kernel one more reference to what the store has answered.
  [[nodiscard]] Entry give(const Node& node, std::chrono::steady_clock::time_point seen_at);

  // In file_system_read.cc.
  void read_moved(const OpenVersion& file, Error error, std::uint64_t offset_bytes,
                  std::size_t length, Deadline deadline, Done<cache::PinnedBytes> done);
  /// Gives the version of an inode if its name still stands for it. Errors: as open().
  void confirm_version(Ino ino, Deadline deadline, Done<Node> done);
  void fetch_whole(Ino ino, Node version, Deadline deadline, Done<OpenFile> done);
  void open_version(Ino ino, const Node& version,
                    std::shared_ptr<const cache::ResidentObject> whole, Deadline deadline,
                    Done<OpenFile> done);
  void prefetch_next(const s3::ObjectInfo& opened, bool as_whole, Deadline deadline);
  void get_content(OpenFile opened, Deadline deadline, Done<OpenFile> done);

  // In file_system_attributes.cc.
  void change_attributes(Ino ino, const std::string& key, const AttributeChange& change,
                         ProcessId process, Deadline deadline, Done<void> done);
  /// Null: the server has no version of it, and it may be so.
  void describe(Ino ino, Deadline deadline,
                Done<std::shared_ptr<const s3::ObjectDescription>> done);
  void user_attributes(Ino ino, Deadline deadline, Done<std::map<std::string, std::string>> done);

  // In file_system_nodes.cc.
  struct NewNode {
    std::string key;
    Ino parent = 0;
    std::string name;
    std::string bytes;
    s3::UserMetadata metadata;
  };
  void make_node(NewNode node, Deadline deadline, Done<Entry> done);
  void store_node(NewNode node, Deadline deadline, Done<Entry> done);
  static std::string target_of(const cache::PinnedBytes& bytes);

  // In file_system_rename.cc.
  [[nodiscard]] std::shared_ptr<Renames> make_renames();

  // In file_system_names.cc.
  void remove_key(const std::string& key, const std::string& name_key, Deadline deadline,
                  Done<void> done);
  void remove_held(HeldFiles& files, const std::string& key, Deadline deadline, Done<void> done);
  void remove_if_empty(std::string prefix, ListingCursor cursor, Deadline deadline,
                       Done<void> done);

  const Options options_;
  s3::ObjectStore& store_;
  const Clock& clock_;
  const std::shared_ptr<StagedFiles> staged_files_;  ///< null unless is_staged()
  const std::shared_ptr<Directories> directories_;
  const std::shared_ptr<Names> names_;
  const std::shared_ptr<ObjectDescriptions> descriptions_;
  const std::shared_ptr<HandleTable> handles_;
  const std::unique_ptr<OpenFiles> open_files_;
  const std::shared_ptr<OpenTrace> open_trace_;
  cache::ResidentObjects* const whole_;
  /// All or none, from here on.
  const std::optional<Writing> writing_;
  const std::shared_ptr<FileWriting> file_writing_;
  const std::shared_ptr<Renames> renames_;
};

}  // namespace s3rdmafs::vfs
