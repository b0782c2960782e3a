// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cache/read_cache.h"
#include "cache/resident_objects.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// The answer to an open of a file.
struct OpenFile {
  std::uint64_t handle = 0;
  std::uint64_t size_bytes = 0;
  std::string path = {};  ///< below the mount point, of a file opened for reading
  /// The whole object, where FileSystem::open_whole() got it. Reads of the handle work as well.
  std::shared_ptr<const cache::ResidentObject> whole = {};
  /// All bytes of a small file that is opened for the first time since the kernel knows its inode:
  /// for the kernel's page cache, which has none of them. Otherwise empty.
  cache::PinnedBytes content = {};
  /// The local file that has all bytes of a file opened to write, and that the kernel may write and
  /// read for its programs; -1: none. Valid while the handle is open.
  int local_fd = -1;
};

/// The answer to the creation of a file.
struct CreatedFile {
  Entry entry;
  OpenFile file;
};

}  // namespace s3rdmafs::vfs
