// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "s3/object_store.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/directories/listing_cursor.h"
#include "vfs/files/file_writing.h"
#include "vfs/files/open_files.h"
#include "vfs/names/names.h"
#include "vfs/renames/object_mover.h"
#include "vfs/renames/rename_call.h"
#include "vfs/renames/rename_log.h"
#include "vfs/renames/tree_mover.h"

namespace s3rdmafs::vfs {

/// Renames files and directories, and tells everything that knows their names. Shared: a rename
/// under way keeps it alive. Thread-safe; `done` rules as in base/callback.h.
class Renames : public std::enable_shared_from_this<Renames> {
 public:
  /// The parts of the mount that a rename concerns. Borrows the references.
  struct Parts {
    s3::ObjectStore& store;
    s3::ObjectWriter& writer;
    RenameLog* log;  ///< null: nothing is kept
    const Clock& clock;
    OpenFiles& open_files;
    std::shared_ptr<Names> names;
    std::shared_ptr<FileWriting> files;
    std::function<Deadline()> request_deadline;
    std::size_t tree_keys_max = 0;  ///< of a directory that is renamed
  };

  explicit Renames(Parts parts);

  /// Errors: as FileSystem::rename.
  void rename(RenameRequest request, Done<void> done);

 private:
  using Call = RenameCall;
  using CallPtr = std::shared_ptr<RenameCall>;

  // Both names: a file, a directory or nothing.
  /// Goes on with `next` while the files of these names are held.
  using Step = void (Renames::*)(const CallPtr& call);
  void hold(const CallPtr& call, std::vector<std::string> names, Step next);
  void end(const CallPtr& call, Result<void> outcome);
  void find_source(const CallPtr& call);
  [[nodiscard]] bool is_known_to_kernel(const Node& source) const;
  void find_destination(const CallPtr& call);
  [[nodiscard]] Result<void> check_destination(const Call& call) const;

  // Files.
  void move_file(const CallPtr& call);
  void on_file_moved(const CallPtr& call, Result<std::string> etag);
  void tell_readers(const s3::ObjectInfo& from, std::string to, const std::string& etag);
  /// A reader that finds the source gone looks for it under this key.
  void announce(const s3::ObjectInfo& from, std::string to);
  [[nodiscard]] static s3::ObjectInfo moved_version(const s3::ObjectInfo& from, std::string to,
                                                    const std::string& etag);
  void forget_move(const s3::ObjectInfo& from);
  void tell_of_file(const Call& call, const std::string& etag);

  // Directories (rename_directory.cc).
  void move_directory(const CallPtr& call);
  void check_empty(const CallPtr& call, ListingCursor cursor);
  void store_pending_below(const CallPtr& call);
  void move_tree(const CallPtr& call);
  void tell_of_tree(const Call& call, const TreeMover::Moved& moved);
  void forget_names(const std::string& from, const std::string& to,
                    const TreeMover::Moved& objects);

  const Parts parts_;
  NoRenameLog no_log_;
  RenameLog& log_;
  ObjectMover mover_;
};

}  // namespace s3rdmafs::vfs
