// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "s3rdmafs/base/callback.h"
#include "vfs/files/held_files.h"
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
  bool was_pending = false;              ///< a file was being written under the old name
  std::shared_ptr<HeldFiles> held = {};  ///< the open files of both names; null: not held yet
};

}  // namespace s3rdmafs::vfs
