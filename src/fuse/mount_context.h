// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuse/copy_guess.h"
#include "fuse/failure_log.h"
#include "fuse/inode_io_mode.h"
#include "fuse/io_mode_policy.h"
#include "fuse/status/status_files.h"
#include "fuse/watch/access_log.h"
#include "fuse/watch/activity.h"
#include "fuse/watch/operation_times.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/file_system.h"

struct fuse_session;

namespace s3rdmafs::fuse {

/// The context of every operation: the file system and how the mount presents it. One for each
/// session, which libfuse carries as its user data. Thread-safe.
struct MountContext {
  struct Presentation {
    uid_t uid = 0;
    gid_t gid = 0;
    mode_t file_mode = 0;
    mode_t directory_mode = 0;
    std::chrono::milliseconds negative_ttl{};
    std::chrono::milliseconds deadline{};  ///< of one operation
  };

  vfs::FileSystem& file_system;
  const Clock& clock;
  metrics::Registry& metrics;
  Presentation presentation;
  IoModePolicy::Rules read = {};
  std::vector<StatusFile> status_files = {};
  /// Of a mount of several buckets: the file systems of their directories, that of volume 1 first.
  /// `file_system` then has these directories alone. Borrowed.
  std::vector<vfs::FileSystem*> volumes = {};
  /// Where programs that read past FUSE find the daemon; empty: they cannot.
  std::string attach_socket = {};
  metrics::Counter& read_bytes =
      metrics.counter("fuse_read_bytes_total", "Bytes of files given to the kernel");
  metrics::Counter& written_bytes =
      metrics.counter("fuse_written_bytes_total", "Bytes of files taken from the kernel");

  /// Set by Session::mount; valid while requests are served. Notifications to the kernel use it.
  fuse_session* session = nullptr;
  /// Set by Session::mount: requests come over io_uring. Read by INIT only.
  bool over_ring = false;
  FailureLog failures{clock, metrics};
  OperationTimes times{metrics};
  InodeIoModes io_modes{metrics};
  IoModePolicy io_policy{read};
  CopyGuess copy_guess{clock};
  Activity activity{};
  AccessLog access_log{};
  StatusFiles status{status_files};

  /// Set by INIT: files opened for direct I/O can be mapped shared (Linux 6.6). Read by open only.
  bool direct_io_allows_mmap = false;
  /// The log has said why symbolic links are refused.
  std::atomic<bool> has_refused_links = false;

  /// Set by INIT: the kernel can read whole objects itself (Linux 6.9). Read by open only.
  bool passes_through = false;
  /// Set by INIT: the kernel can write staged files itself. Read by open and create only.
  bool passes_writes = false;

  /// Whose an inode or a handle is.
  [[nodiscard]] vfs::FileSystem& file_system_of(std::uint64_t number) const {
    const std::size_t volume = volumes.empty() ? 0 : vfs::volume_of(number);
    return volume == 0 || volume > volumes.size() ? file_system : *volumes[volume - 1];
  }
  /// How long the kernel may keep that a name does not exist.
  [[nodiscard]] std::chrono::milliseconds negative_ttl_of(vfs::Ino parent) const {
    return volumes.empty() ? presentation.negative_ttl : file_system_of(parent).negative_ttl();
  }
  /// Whether any file system of the mount is so.
  [[nodiscard]] bool any(bool (vfs::FileSystem::*is_so)() const) const {
    return (file_system.*is_so)() ||
           std::ranges::any_of(volumes, [is_so](const auto* one) { return (one->*is_so)(); });
  }

  [[nodiscard]] Deadline deadline() const { return clock.now() + presentation.deadline; }
  [[nodiscard]] struct stat stat_of(const vfs::Attributes& attributes) const;
  /// How long the kernel may keep attributes that it asked for by number.
  [[nodiscard]] std::chrono::milliseconds valid_time_of(const vfs::Attributes& attributes) const;
};

/// A duration as libfuse wants it.
[[nodiscard]] inline double seconds(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace s3rdmafs::fuse
