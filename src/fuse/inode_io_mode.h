// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "cache/resident_objects.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/types.h"

namespace s3rdmafs::fuse {

/// How an inode's reads are served while it is open.
enum class OpenMode {
  kDirect,       ///< by the daemon, past the kernel's page cache
  kCached,       ///< by the kernel's page cache, which asks the daemon for what it lacks
  kPassthrough,  ///< by the kernel, from a file of the daemon's (FUSE_PASSTHROUGH)
};

/// Keeps the kernel's rule that an inode is passed through by all of its handles, with one backing
/// file, or by none: an open that breaks it gets EIO (fs/fuse/iomode.c in Linux). So an inode takes
/// a mode when it is opened first and keeps it until its last handle is closed. Thread-safe.
///
/// A handle is counted from before the kernel hears of its open until after the kernel reported its
/// close, so an inode that is unused here is unused in the kernel. Hence the page cache can be
/// filled for the first handle: the kernel has locked none of the inode's pages, for which storing
/// would wait, and no second handle is given out before the fill is done.
class InodeIoModes {
 public:
  struct Answer {
    OpenMode mode = OpenMode::kCached;
    int backing_id = 0;  ///< of a file passed through
  };
  /// Makes a backing id of a descriptor; 0 or less: the kernel refused.
  using MakeBacking = std::function<int(int fd)>;
  /// Stores the bytes of the file that came with its open into the kernel's page cache.
  using FillPageCache = std::function<void()>;

  explicit InodeIoModes(metrics::Registry& metrics);

  /// Whether an open now can be passed through.
  [[nodiscard]] bool may_pass_through(vfs::Ino ino) const;

  /// Counts one more handle.
  /// @param otherwise  gives the mode of a file that cannot be passed through: kDirect or kCached;
  ///                   called for the first handle only
  /// @param whole      the object, or null
  /// @param fill       called before this returns, for the first handle of an inode in kCached
  [[nodiscard]] Answer open(vfs::Ino ino, const std::function<OpenMode()>& otherwise,
                            std::shared_ptr<const cache::ResidentObject> whole,
                            const MakeBacking& make_backing, const FillPageCache& fill);

  /// Counts one more handle, or user, that writes. Nothing, and none is counted: the inode is
  /// passed through, so what is written would not reach its readers.
  [[nodiscard]] std::optional<OpenMode> open_to_write(vfs::Ino ino);

  /// Counts one handle less. Returns the backing id that the caller has to close; 0: none.
  [[nodiscard]] int release(vfs::Ino ino);

 private:
  struct Inode {
    OpenMode mode = OpenMode::kCached;
    int backing_id = 0;
    std::size_t handles = 0;
    std::shared_ptr<const cache::ResidentObject> whole;  // while it has a backing id
  };

  /// Takes `whole` where it gets a backing id.
  void choose_mode(Inode& inode, const std::function<OpenMode()>& otherwise,
                   std::shared_ptr<const cache::ResidentObject>& whole,
                   const MakeBacking& make_backing);
  metrics::Counter& opens_in(OpenMode mode);

  metrics::Counter& direct_;
  metrics::Counter& cached_;
  metrics::Counter& passthrough_;
  metrics::Counter& other_mode_;
  metrics::Counter& refused_;

  /// The inodes whose numbers, which are hashes, leave one remainder: few opens wait for another's
  /// call of the kernel.
  struct Stripe {
    // Leaf. Held over make_backing and fill, which call the kernel, and over otherwise, which takes
    // no lock.
    mutable Mutex mutex;
    std::unordered_map<vfs::Ino, Inode> inodes GUARDED_BY(mutex);
  };
  [[nodiscard]] Stripe& stripe_of(vfs::Ino ino) { return stripes_.at(ino % stripes_.size()); }
  [[nodiscard]] const Stripe& stripe_of(vfs::Ino ino) const {
    return stripes_.at(ino % stripes_.size());
  }

  std::array<Stripe, 64> stripes_;  // more than threads that answer opens
};

}  // namespace s3rdmafs::fuse
