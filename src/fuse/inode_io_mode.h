// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>

#include "cache/resident_objects.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/types.h"

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
/// that what is unused here is unused there. Hence the page cache can be filled for the first
/// handle: nobody reads the inode, so none of its pages is locked until we answer, which storing
/// into them would wait for; and no second handle is given out before that is done.
class InodeIoModes {
 public:
  struct Answer {
    OpenMode mode = OpenMode::kCached;
    int backing_id = 0;  ///< of a file passed through
  };
  /// Makes a backing id of a descriptor; 0 or less: the kernel refuses.
  using MakeBacking = std::function<int(int fd)>;
  /// Stores into the kernel's page cache what is at hand of the file.
  using FillPageCache = std::function<void()>;

  explicit InodeIoModes(metrics::Registry& metrics);

  /// Whether an open of it now can be passed through.
  [[nodiscard]] bool may_pass_through(vfs::Ino ino) const;

  /// Counts one more handle.
  /// @param otherwise  kDirect or kCached: what it is where it cannot be passed through; asked
  ///                   for the first handle alone
  /// @param whole      the object, or null
  /// @param fill       called, before this returns, for the first handle of an inode that is
  /// kCached
  [[nodiscard]] Answer open(vfs::Ino ino, const std::function<OpenMode()>& otherwise,
                            std::shared_ptr<const cache::ResidentObject> whole,
                            const MakeBacking& make_backing, const FillPageCache& fill);

  /// One handle less. The backing id that the caller has to close; 0: none.
  [[nodiscard]] int release(vfs::Ino ino);

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

  /// Those inodes whose numbers, which are hashes, leave one remainder. So that few opens wait for
  /// another's call of the kernel.
  struct Stripe {
    mutable Mutex mutex;  // leaf; held over make_backing and fill, which ask the kernel,
                          // and otherwise, which asks nobody
    std::unordered_map<vfs::Ino, Inode> inodes GUARDED_BY(mutex);
  };
  [[nodiscard]] Stripe& stripe_of(vfs::Ino ino) { return stripes_.at(ino % stripes_.size()); }
  [[nodiscard]] const Stripe& stripe_of(vfs::Ino ino) const {
    return stripes_.at(ino % stripes_.size());
  }

  std::array<Stripe, 64> stripes_;  // more than threads that answer opens
};

}  // namespace s3rdmafs::fuse
