// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/directories/directories.h"
#include "vfs/metadata/metadata_fetcher.h"
#include "vfs/names/absent_names.h"
#include "vfs/names/directory_entry.h"
#include "vfs/names/directory_times.h"
#include "vfs/names/generations.h"
#include "vfs/names/inode_table.h"
#include "vfs/names/live_files.h"
#include "vfs/names/name_cache.h"
#include "vfs/names/name_resolver.h"
#include "vfs/names/node.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// All that this mount knows of the bucket's names: the inode of each, the store's last answer, and
/// which ETags came back. Everything that learns or changes what a name stands for says so here.
/// Thread-safe; `done` rules as in base/callback.h.
class Names {
 public:
  struct Options {
    std::string root_prefix;  ///< empty or ending in "/"
    InodeNumbers numbers = {};
    bool is_writable = false;     ///< the names of files may change through this mount
    bool confirms_opens = false;  ///< see FileSystem::Options
    bool keeps_absences = false;  ///< the kernel does; so it may create a name without a lookup
    /// See FileSystem::Options. May be empty.
    std::function<void(std::string_view key, std::string_view etag)> on_etag_repeated = {};
    std::shared_ptr<const LiveFiles> live = {};  ///< null: no inode is newer than its node
    PosixMetadata posix = PosixMetadata::kOff;
    std::size_t metadata_requests_max = 16;  ///< see FileSystem::Options
  };

  /// Borrows the store, the clock and the metrics.
  Names(s3::ObjectStore& store, const Clock& clock, metrics::Registry& metrics,
        std::shared_ptr<Directories> directories, Options options);

  // Inodes

  /// Errors: kNotFound for a number that the kernel was never given.
  [[nodiscard]] Result<Inode> find(Ino ino) const;
  /// As find(). Errors: also kIsDirectory.
  [[nodiscard]] Result<Inode> find_file(Ino ino) const;
  [[nodiscard]] Attributes attributes_of(Ino ino, const Node& node) const;
  /// An entry that the kernel is only told about; see add_lookup().
  [[nodiscard]] DirectoryEntry entry_of(ListedName listed, std::uint64_t next_offset) const;
  /// Gives the kernel one more reference to the node; call before the reply that carries it.
  [[nodiscard]] Entry add_lookup(const Node& node, SeenAt seen_at);
  /// The kernel drops `count` references.
  void forget(Ino ino, std::uint64_t count) { inodes_.forget(ino, count); }
  /// The inode stands for another node from now on; see InodeTable::rebind.
  void rebind(Ino ino, const Node& node);
  /// True for the first call since the kernel came to know the inode.
  [[nodiscard]] bool mark_opened(Ino ino) { return inodes_.mark_opened(ino); }

  // Meanings of names

  /// The key of a name in a directory. Errors: kNotFound, kNotDirectory, kInvalidArgument (no key
  /// can have this name), kNameTooLong.
  [[nodiscard]] Result<std::string> child_key(Ino parent, std::string_view name) const;
  /// See NameResolver::resolve.
  void resolve(const std::string& key, Deadline deadline, Done<NameAnswer> done) {
    resolver_->resolve(key, deadline, std::move(done));
  }
  /// The same for the kernel, which may ask because it doubts what it knows.
  void look_up(const std::string& key, Deadline deadline, Done<NameAnswer> done);
  /// The kernel gets this answer about the key, which it looked up.
  void told(const std::string& key, const NameAnswer& answer);
  /// As resolve(), for a name that is to be made: believes what the kernel was told in the same
  /// system call (see AbsentNames). Where that is not known, `asks` decides whether the store is
  /// asked whatever the cache knows.
  void resolve_new(const std::string& key, bool asks, Deadline deadline, Done<NameAnswer> done);
  /// Whether an open may believe that the name still stands for this inode. Where opens are
  /// confirmed, one open alone may believe the answer of a lookup.
  [[nodiscard]] bool may_open(Ino ino, const Inode& inode);
  /// The store said that this inode is still what its name stands for.
  void confirm(Ino ino, SeenAt seen_at, Node version);
  /// The version of an inode is gone: nothing known about its name holds any longer.
  void invalidate_version(Ino ino, const std::string& key);
  /// The error, kStale, of a call by this name: the kernel looks the name up once more and repeats
  /// the call. That lookup asks the store, whatever a listing has shown or is about to show.
  [[nodiscard]] std::unexpected<Error> look_again(const std::string& key, std::string why);
  /// This mount changed what a key (a directory's without its last "/") stands for.
  void on_changed(const std::string& key);
  /// As on_changed(), where the name was among those of its directory before.
  void on_new_version(const std::string& key);

  /// As on_changed() of both keys, of which this mount has given one's version to the other: its
  /// inode now stands for the version that `to` is.
  void on_moved(Node from, Node to);
  /// As on_changed() of the directory itself, and of all that its listings have. The prefix ends in
  /// "/".
  void on_directory_changed(const std::string& prefix);
  /// Whether the kernel has an inode of this node.
  [[nodiscard]] bool kernel_has(const Node& node) const;
  /// This mount removed the directory. The prefix ends in "/".
  void on_directory_removed(const std::string& prefix);
  /// This mount gave all keys below one prefix another one; both were told by
  /// on_directory_changed(). The inodes of the directories now stand for the new ones. Both end in
  /// "/".
  void on_directory_moved(const std::string& from, const std::string& to);

  // User metadata

  /// Whether a version that the store has is that of the inode, and of the same type.
  [[nodiscard]] bool is_version_of(const Node& found, const Node& inode) const;
  /// Whether attributes of files come from user metadata.
  [[nodiscard]] bool shows_posix() const { return metadata_ != nullptr; }
  /// Gives names of a listing the user metadata that their attributes need. Where the store does
  /// not answer for one, or no name is kept (a ttl of 0), it comes back as it was. `ahead` are
  /// asked for besides: they come next.
  void complete(std::vector<ListedName> listed, const std::vector<ListedName>& ahead,
                Deadline deadline, Done<std::vector<ListedName>> done);
  /// A node of a listing, if nothing that its attributes need is missing; complete() has asked.
  [[nodiscard]] std::optional<NameAnswer> completed(const Node& listed, SeenAt seen_at) const;

  // Versions with one ETag

  /// The key now has a version that this mount stored. `etag` may be empty: not known.
  void on_stored(const std::string& key, const std::string& etag);
  /// See Generations::of.
  [[nodiscard]] std::uint64_t generation_of(const s3::ObjectInfo& version) const {
    return generations_.of(version.key, version.etag);
  }
  /// Whether this mount has stored another version with the same ETag since.
  [[nodiscard]] bool is_outdated(const Node& node) const {
    return node.generation != generation_of(node);
  }

 private:
  [[nodiscard]] Node known(Node node) const;
  [[nodiscard]] PosixAttributes posix_of(const Node& node) const;
  [[nodiscard]] Done<NameAnswer> with_metadata(const std::string& key, Deadline deadline,
                                               Done<NameAnswer> done) const;
  [[nodiscard]] std::uint64_t generation_of(const Node& node) const;
  [[nodiscard]] Ino number_of(const Node& known) const;

  const Clock& clock_;
  const Options options_;
  Generations generations_;
  InodeTable inodes_;
  DirectoryTimes directory_times_;
  AbsentNames absent_;
  const std::shared_ptr<NameCache> cache_;
  const std::shared_ptr<NameResolver> resolver_;
  const std::shared_ptr<MetadataFetcher> metadata_;  ///< null: attributes do not come from it
  const std::shared_ptr<Directories> directories_;
};

}  // namespace s3rdmafs::vfs
