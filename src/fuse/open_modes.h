// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>

#include "cache/resident_objects.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/file_system.h"

namespace s3rdmafs::fuse {

/// Who serves an inode's reads while it is open.
enum class OpenMode {
  kDirect,       ///< we do, past the kernel's page cache
  kCached,       ///< the kernel's page cache does, and asks us for what it lacks
  kPassthrough,  ///< the kernel does, from a file of ours (FUSE_PASSTHROUGH)
};

/// Keeps the kernel's rule that an inode is passed through by all of its handles, with one backing
/// file, or by none: an open that breaks it gets EIO (fs/fuse/iomode.c). So an inode takes a mode
/// when it is opened first, and keeps it until its last handle is closed. Thread-safe.
///
/// An inode is counted from before the kernel hears of an open until after it told of the close, so
/// that what is unused here is unused there.
class OpenModes {
 public:
  struct Answer {
    OpenMode mode = OpenMode::kCached;
    int backing_id = 0;  ///< of a file passed through
  };
  /// Makes a backing id of a descriptor; 0 or less: the kernel refuses.
  using MakeBacking = std::function<int(int fd)>;

  explicit OpenModes(metrics::Registry& metrics);

  /// Whether an open of it now can be passed through.
  [[nodiscard]] bool may_pass_through(vfs::Ino ino) const EXCLUDES(mutex_);

  /// Counts one more handle.
  /// @param otherwise  kDirect or kCached: what it is where it cannot be passed through; asked
  ///                   for the first handle alone
  /// @param whole      the object, or null
  [[nodiscard]] Answer open(vfs::Ino ino, const std::function<OpenMode()>& otherwise,
                            std::shared_ptr<const cache::ResidentObject> whole,
                            const MakeBacking& make_backing) EXCLUDES(mutex_);

  /// One handle less. The backing id that the caller has to close; 0: none.
  [[nodiscard]] int release(vfs::Ino ino) EXCLUDES(mutex_);

 private:
  struct Inode {
    OpenMode mode = OpenMode::kCached;
    int backing_id = 0;
    std::size_t handles = 0;
    std::shared_ptr<const cache::ResidentObject> whole;  // as long as it has a backing id
  };

  metrics::Counter& direct_;
  metrics::Counter& cached_;
  metrics::Counter& passthrough_;
  metrics::Counter& other_mode_;
  metrics::Counter& refused_;

  mutable Mutex mutex_;  // leaf; held over make_backing, which asks the kernel, and otherwise,
                         // which asks nobody
  std::unordered_map<vfs::Ino, Inode> inodes_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::fuse
