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
/// would wait, and no second handle is given out before the fill is done. An open to write is
/// counted even before its answer is known: by then the inode may have another local file.
class InodeIoModes {
 public:
  struct Answer {
    OpenMode mode = OpenMode::kCached;
    int backing_id = 0;  ///< of a file passed through
  };
  /// Makes a backing id of a descriptor; 0 or less: the kernel refused.
  using MakeBacking = std::function<int(int fd)>;
  /// The local file that has what is written to an inode. The file system keeps it as long as a
  /// handle of the inode is open, and knows of a handle before its mode is asked for here.
  struct Written {
    /// The number of the file that the inode is now; 0: of none. Takes the file system's locks.
    std::function<std::uint64_t()> number;
    std::function<void(int backing_id)> close_backing;
  };
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
                            const MakeBacking& make_backing, const FillPageCache& fill,
                            const Written& written);

  /// Counts one more handle, or user, that writes. False, and none is counted: the inode is passed
  /// through to an object, so what is written would not reach its readers.
  [[nodiscard]] bool open_to_write(vfs::Ino ino);

  /// The mode of a handle that writes, which was counted. Passes the inode through to the local
  /// file, if the caller may and has its only handle: then the kernel has no page of the inode,
  /// since the file is new or the open empties it.
  /// @param local_fd  of the file that the inode is now; -1: the caller may not begin to pass it
  [[nodiscard]] Answer mode_to_write(vfs::Ino ino, int local_fd, const MakeBacking& make_backing,
                                     const Written& written);

  /// Counts one handle less. Returns the backing id that the caller has to close; 0: none.
  [[nodiscard]] int release(vfs::Ino ino);

 private:
  struct Inode {
    OpenMode mode = OpenMode::kCached;
    int backing_id = 0;
    std::size_t handles = 0;
    /// While it has a backing id; null: the backing file is that of what is written.
    std::shared_ptr<const cache::ResidentObject> whole;
    std::uint64_t local_number = 0;  ///< of that file
  };

  /// Takes `whole` where it gets a backing id.
  void choose_mode(Inode& inode, const std::function<OpenMode()>& otherwise,
                   std::shared_ptr<const cache::ResidentObject>& whole,
                   const MakeBacking& make_backing);
  /// Ends a passthrough whose handles are closed: only opens that have no answer yet are counted.
  static void drop_former_file(Inode& inode, const Written& written);
  metrics::Counter& opens_in(OpenMode mode);

  metrics::Counter& direct_;
  metrics::Counter& cached_;
  metrics::Counter& passthrough_;
  metrics::Counter& other_mode_;
  metrics::Counter& refused_;
  metrics::Counter& passed_writes_;

  /// The inodes whose numbers, which are hashes, leave one remainder: few opens wait for another's
  /// call of the kernel.
  struct Stripe {
    // Lock order 0. Held over functions that call the kernel, or take locks of the file system,
    // which knows nothing of this class.
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
