// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fuse/access_history.h"
#include "fuse/inode_io_mode.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::fuse {

/// Decides how a file that is not passed through is read: by the mount file's rules, else by the
/// file's size and how it was read when it was last open. Thread-safe.
class IoModePolicy {
 public:
  /// Files from this size on go past the page cache unless they were read in small steps: they are
  /// read once, and the second copy costs two and a half times the first. Smaller files stay in the
  /// page cache, where their next reader pays nothing.
  static constexpr std::uint64_t kLargeFileBytes = 8 * kMiB;

  enum class Preference {
    kAuto,      ///< by size and history
    kDirect,    ///< past the kernel's page cache
    kBuffered,  ///< through it
  };
  /// Whether a rule names a file. Empty: it names none.
  /// @param path  below the mount point, without a leading "/"
  using Match = std::function<bool(const std::string& path)>;
  struct Rules {
    Preference preference = Preference::kAuto;  ///< of all files that no match names
    Match buffered = {};  ///< files that are read through the page cache; comes before `direct`
    Match direct = {};    ///< files that are read past it
  };

  explicit IoModePolicy(Rules rules);

  /// Other rules, for files that are opened from now on.
  void set_rules(Rules rules) EXCLUDES(mutex_);

  /// For the first handle of a version; never kPassthrough.
  /// @param path  below the mount point, without a leading "/"
  /// @param may_be_mapped  whether the kernel maps direct files shared (Linux 6.6)
  [[nodiscard]] OpenMode choose(vfs::Ino ino, const std::string& path, std::uint64_t size_bytes,
                                bool may_be_mapped) EXCLUDES(mutex_);
  /// Records a read that the kernel asked for. Takes no lock.
  void on_read(vfs::Ino ino, AccessHistory::Read read) noexcept { history_.on_read(ino, read); }

 private:
  [[nodiscard]] std::shared_ptr<const Rules> rules() const EXCLUDES(mutex_);

  mutable Mutex mutex_;  // leaf
  std::shared_ptr<const Rules> rules_ GUARDED_BY(mutex_);
  AccessHistory history_;
};

}  // namespace s3rdmafs::fuse
