// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "vfs/files/held_files.h"
#include "vfs/names/names.h"
#include "vfs/staged/staged_file_maker.h"
#include "vfs/staged/staged_files.h"
#include "vfs/staged/staged_store.h"

namespace s3rdmafs::vfs {

/// The held files of staged mode: has the turn of each alone.
class HeldStagedFiles final : public HeldFiles,
                              public std::enable_shared_from_this<HeldStagedFiles> {
 public:
  struct Parts {
    std::shared_ptr<StagedFiles> files;
    std::shared_ptr<StagedStore> store;
    std::shared_ptr<Names> names;
    std::shared_ptr<StagedFileMaker> maker;
  };

  /// @param names  as FileWriting::hold
  HeldStagedFiles(Parts parts, const std::vector<std::string>& names);
  /// Takes the turns; `done` gets this.
  void take_turns(Done<std::shared_ptr<HeldFiles>> done);

  void moved(const s3::ObjectInfo& source, const s3::ObjectInfo& copy) override;
  void keep_bytes(const std::string& key, Deadline deadline, Done<void> done) override;
  void replaced(const std::string& key, Done<void> done) override;
  void release() override;

 private:
  struct Held {
    std::shared_ptr<StagedFile> file;
    std::string key;             ///< before the rename
    bool is_of_version = false;  ///< made for the readers of a version
  };

  void add(const std::shared_ptr<StagedFile>& file);
  /// Makes a file of a version that handles only read.
  void stage_version(const std::string& key);
  /// It was neither removed nor replaced.
  void let_go_of_version(const std::shared_ptr<StagedFile>& file);
  void keep_next(std::size_t next, const std::string& key, Deadline deadline, Done<void> done);

  const Parts parts_;
  std::vector<Held> held_;  ///< each once, in the order of their addresses
  std::size_t turns_ = 0;   ///< so many of them gave their turn
};

}  // namespace s3rdmafs::vfs
