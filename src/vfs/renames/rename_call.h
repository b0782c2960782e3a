// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s3rdmafs/base/callback.h"
#include "vfs/files/written_file.h"
#include "vfs/names/node.h"

namespace s3rdmafs::vfs {

/// The wish of a program. The keys are of names, without a last "/".
struct RenameRequest {
  std::string from;
  std::string to;
  bool must_be_new = false;  ///< RENAME_NOREPLACE
};

/// One rename on its way, and what has been found out for it. One step at a time uses it.
struct RenameCall {
  RenameRequest request;
  Done<void> done;
  Node source = {};
  std::optional<Node> destination = {};  ///< what the store has there
  bool is_destination_written = false;   ///< a file is being written there
  /// Files that are written under the destination's name.
  std::vector<std::shared_ptr<WrittenFile>> waiting = {};
  std::size_t turns = 0;  ///< so many of them gave their turn to commit
};

}  // namespace s3rdmafs::vfs
