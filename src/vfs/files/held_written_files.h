// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "vfs/files/file_committer.h"
#include "vfs/files/held_files.h"
#include "vfs/files/written_files.h"
#include "vfs/names/names.h"

namespace s3rdmafs::vfs {

/// The held files of sequential mode: holds their turns to commit.
class HeldWrittenFiles final : public HeldFiles,
                               public std::enable_shared_from_this<HeldWrittenFiles> {
 public:
  struct Parts {
    std::shared_ptr<Names> names;
    std::shared_ptr<WrittenFiles> written;
    std::shared_ptr<FileCommitter> committer;
  };

  /// @param names  as FileWriting::hold
  HeldWrittenFiles(Parts parts, const std::vector<std::string>& names);
  /// Takes the turns; `done` gets this.
  void take_turns(Done<std::shared_ptr<HeldFiles>> done);

  void moved(const s3::ObjectInfo& source, const s3::ObjectInfo& copy) override;
  /// Nothing: readers of a version have what the cache has.
  void keep_bytes(const std::string& key, Deadline deadline, Done<void> done) override;
  void replaced(const std::string& key, Done<void> done) override;
  void release() override;

 private:
  const Parts parts_;
  std::vector<std::shared_ptr<WrittenFile>> files_;  ///< each once, in the order of their addresses
  std::size_t turns_ = 0;                            ///< so many of them gave their turn
};

}  // namespace s3rdmafs::vfs
