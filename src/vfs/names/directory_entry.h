// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "vfs/names/node.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// One entry of a directory that is read. Plain value.
struct DirectoryEntry {
  std::string name;
  Attributes attributes;
  std::uint64_t next_offset = 0;  ///< pass to read_directory() to continue after this entry
  /// What the listing has shown, for FileSystem::add_lookup().
  Node node = {};
  SeenAt seen_at = {};
  /// False: the store does not list it yet, or its listing has many (InodeGrants).
  bool may_have_inode = false;
};

}  // namespace s3rdmafs::vfs
