// SPDX-License-Identifier: Apache-2.0
// What file_system.cc (names, directories, reads) and file_system_write.cc share.
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

#include "vfs/directories/directory_handle.h"
#include "vfs/directories/directory_order.h"
#include "vfs/directories/directory_preload.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/directories/shared_snapshots.h"
#include "vfs/directories/snapshot_budget.h"
#include "vfs/file_system.h"
#include "vfs/files/handle_table.h"
#include "vfs/files/open_files.h"
#include "vfs/files/written_files.h"
#include "vfs/names/generations.h"
#include "vfs/names/inode_table.h"
#include "vfs/names/name_cache.h"
#include "vfs/names/name_resolver.h"

namespace s3rdmafs::vfs {

[[nodiscard]] inline std::unexpected<Error> no_such_inode(Ino ino) {
  return fail(ErrorCode::kNotFound, "no inode " + std::to_string(ino));
}

[[nodiscard]] inline std::unexpected<Error> no_such_handle(std::uint64_t handle) {
  return fail(ErrorCode::kInvalidArgument, "no open handle " + std::to_string(handle));
}

[[nodiscard]] inline std::unexpected<Error> read_only() {
  return fail(ErrorCode::kReadOnly, "the mount is read-only: write.mode is \"off\"");
}

class FileSystem::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(s3::ObjectStore& store, cache::ReadCache& cache, const Clock& clock,
       metrics::Registry& metrics, Options options, std::optional<Writing> writing,
       cache::ResidentObjects* whole);

  void lookup(Ino parent, std::string_view name, Deadline deadline, Done<Entry> done);
  void forget(Ino ino, std::uint64_t count) { inodes_.forget(ino, count); }
  Result<Attributes> attributes(Ino ino) const;

  Result<std::uint64_t> open_directory(Ino ino);
  void read_directory(std::uint64_t handle, std::uint64_t offset, std::size_t entries_max,
                      Deadline deadline, Done<std::vector<DirectoryEntry>> done);
  Entry add_lookup(std::uint64_t handle, const DirectoryEntry& entry);
  void release_directory(std::uint64_t handle) { handles_.remove<DirectoryHandle>(handle); }

  void open(Ino ino, Deadline deadline, Done<OpenFile> done);
  void open_whole(Ino ino, Deadline deadline, Done<OpenFile> done);
  bool has_whole_objects() const { return whole_ != nullptr; }
  void read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length, Deadline deadline,
            Done<cache::PinnedBytes> done);
  void release(std::uint64_t handle);

  // In file_system_write.cc and file_system_names.cc.
  bool is_writable() const { return writing_.has_value(); }
  void create(Ino parent, std::string_view name, Creation how, ProcessId process, Deadline deadline,
              Done<CreatedFile> done);
  void open_to_write(Ino ino, bool truncate, ProcessId process, Deadline deadline,
                     Done<OpenFile> done);
  void write(std::uint64_t handle, std::uint64_t offset_bytes, std::span<const std::byte> bytes,
             Deadline deadline, Done<void> done);
  void sync(std::uint64_t handle, Done<void> done);
  std::optional<ProcessId> opener(std::uint64_t handle) const;
  void truncate(Ino ino, std::uint64_t size_bytes, Deadline deadline, Done<void> done);
  void unlink(Ino parent, std::string_view name, Deadline deadline, Done<void> done);
  void make_directory(Ino parent, std::string_view name, Deadline deadline, Done<Entry> done);
  void remove_directory(Ino parent, std::string_view name, Deadline deadline, Done<void> done);
  void end_writes(Deadline deadline);

 private:
  Attributes attributes_of(Ino ino, const Node& node) const;
  Entry give_to_kernel(const Node& node, SeenAt seen_at);
  std::uint64_t generation_of(const Node& node) const;
  /// Whether this mount stored another version since, with the same ETag.
  bool is_outdated(const Node& node) const { return node.generation != generation_of(node); }
  /// Gives the version behind `ino` if its name still stands for it. Errors: as open().
  void confirm_version(Ino ino, Deadline deadline, Done<Node> done);
  /// What a new handle of the directory `prefix` reads.
  std::shared_ptr<DirectorySnapshot> open_snapshot(const std::string& prefix);
  void fetch_whole(Ino ino, Node version, Deadline deadline, Done<OpenFile> done);
  void open_version(Ino ino, const Node& version,
                    std::shared_ptr<const cache::ResidentObject> whole, Deadline deadline,
                    Done<OpenFile> done);
  void get_content(OpenFile opened, Deadline deadline, Done<OpenFile> done);
  /// Tells the preload of a name that was found, and lists what it wants listed.
  void list_by_demand(const std::string& key, bool was_asked, Deadline deadline);
  /// The version behind `ino` is gone: nothing known about its name holds any longer.
  void on_stale(Ino ino, const std::string& key);
  /// The key of a name in a directory. Errors: kNotFound, kNotDirectory, kInvalidArgument.
  Result<std::string> child_key(Ino parent, std::string_view name) const;

  // In file_system_write.cc.
  void release_written(const std::shared_ptr<WrittenFile>& file);
  void finish(const std::shared_ptr<WrittenFile>& file, Done<void> done);
  /// The turn of one finish(): asks whether what is to be replaced is still there.
  void confirm_and_store(const std::shared_ptr<WrittenFile>& file, Done<void> done);
  void store(const std::shared_ptr<WrittenFile>& file, Done<void> done);
  void create_if_absent(const std::shared_ptr<WrittenFile>& file, Creation how, ProcessId process,
                        Result<NameAnswer> answer, Done<CreatedFile> done);
  /// The name stands for a file that this process may open for writing. Errors: kStale, so that the
  /// kernel looks the name up; kBusy.
  Result<OpenFile> reserve(const std::string& key, ProcessId process, WrittenFile::Base base);
  Result<OpenFile> reserve_if_empty(Ino ino, const std::string& etag, ProcessId process,
                                    const std::string& key, Result<s3::ObjectInfo> there);
  void truncate_version(Ino ino, const s3::ObjectInfo& known, std::uint64_t size_bytes,
                        Result<s3::ObjectInfo> there, Deadline deadline, Done<void> done);
  /// One after the other; `done` when nothing of them is under way.
  void discard_all(std::vector<std::shared_ptr<WrittenFile>> files, Done<void> done);
  /// Runs a change of an open file's bytes with its name standing for it; see write().
  void change(const std::shared_ptr<WrittenFile>& file,
              std::move_only_function<void(Done<void>)> how, Done<void> done);
  void store_empty(std::string key, Deadline deadline, Done<void> done);
  void remove_key(const std::string& key, const std::string& name_key, Deadline deadline,
                  Done<void> done);
  void remove_if_empty(std::string prefix, ListingCursor cursor, Deadline deadline,
                       Done<void> done);
  /// A version of ours is what the key has now.
  void stored(const std::string& key, const std::string& etag);
  /// We changed what this key (a directory's without its last "/") stands for.
  void changed(const std::string& key);

  const Options options_;
  s3::ObjectStore& store_;
  const Clock& clock_;
  const std::chrono::system_clock::time_point mounted_at_;
  metrics::Counter& hidden_keys_;
  Generations generations_;
  InodeTable inodes_;
  NameCache names_;
  DirectoryOrder order_;
  DirectoryPreload preload_;
  const std::shared_ptr<NameResolver> resolver_;
  const std::shared_ptr<SnapshotBudget> snapshot_budget_;
  SharedSnapshots snapshots_;
  HandleTable handles_;
  OpenFiles files_;
  cache::ResidentObjects* const whole_;
  /// Both or none.
  const std::optional<Writing> writing_;
  std::optional<WrittenFiles> written_;
};

}  // namespace s3rdmafs::vfs
