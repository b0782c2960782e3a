// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "csi/node/daemon_owner.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::csi {

/// The files and places of one mount's daemon. Plain value.
struct MountedDaemon {
  std::string mount;   ///< its name, for units and messages
  std::string folder;  ///< absolute
  std::string file;    ///< the mount file; no other process has it in its command line
  std::string point;
  std::string log;
  bool has_node_credentials = false;  ///< AWS_* of this process's environment are handed on
};

/// Starts, finds, checks and ends daemons of s3rdmafs. It remembers nothing: a daemon is known by
/// its command line, a mount by the kernel's table, so a driver that was killed has forgotten
/// nothing. Thread-safe; callers hold the mount's lock.
class MountDaemons {
 public:
  struct Options {
    std::string program;  ///< s3rdmafs
    DaemonOwner owner = DaemonOwner::kFork;
    std::vector<std::string>
        environment;  ///< "NAME=VALUE"; S3RDMAFS_* is left out, as it would set keys of mounts
  };
  MountDaemons(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  /// The mount answers when this returns: it did before, or was started. A dead one is replaced.
  /// Errors: kTimedOut (it hangs, or did not come up; nothing is left of it then), kSystem
  /// (s3rdmafs failed; the detail is what it said).
  [[nodiscard]] Result<void> ensure(const MountedDaemon& daemon, Deadline deadline) const;

  /// Detaches the mount and waits until its daemon has ended, which may have bytes to store.
  /// Nothing there is no error. Errors: kTimedOut, kSystem.
  [[nodiscard]] Result<void> end(const MountedDaemon& daemon, Deadline deadline) const;

  /// Errors: kUnsupported (no program, no /dev/fuse).
  [[nodiscard]] Result<void> check_node() const;

 private:
  [[nodiscard]] Result<void> start(const MountedDaemon& daemon, Deadline deadline) const;
  [[nodiscard]] Result<void> detach(const MountedDaemon& daemon, Deadline deadline) const;
  [[nodiscard]] Result<void> await_other_start(const MountedDaemon& daemon,
                                               Deadline deadline) const;
  [[nodiscard]] std::vector<std::string> start_words(const MountedDaemon& daemon,
                                                     const std::string& said) const;
  [[nodiscard]] std::vector<std::string> environment_of(const MountedDaemon& daemon) const;

  const Options options_;
  const Clock& clock_;
};

}  // namespace s3rdmafs::csi
