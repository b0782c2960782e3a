// SPDX-License-Identifier: Apache-2.0
// Unmounts and waits until the daemon has ended: its memory, sockets and connections are then free
// for the next mount.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "daemon/attach/attach_socket.h"
#include "daemon/cli/verbs.h"
#include "daemon/mount/mount_point.h"
#include "daemon/mount/process/other_mounts.h"
#include "daemon/mount/process/unmount.h"
#include "daemon/resident/control_socket.h"
#include "metrics/stats_socket.h"
#include "s3rdmafs/base/mount_table.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::chrono::seconds kAskTimeout{2};
// A daemon ends within moments of its unmount, unless closed files are still being uploaded to a
// server that is slow or gone: it waits for them until retry.deadline, 30 s by default. A lazy
// unmount may live as long as its last user.
constexpr int kEndTimeoutMs = 45'000;
// Longer than a daemon takes that has nothing to wait for, shorter than a user does.
constexpr int kPatienceMs = 2'000;

// A pidfd of the mount's daemon; empty where no daemon answers.
UniqueFd daemon_of(const std::string& mount_point) {
  const auto answer = metrics::ask_stats(metrics::stats_socket_path(mount_point), kAskTimeout);
  if (!answer || answer->daemon_pid <= 0) return {};
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, answer->daemon_pid, 0)));
}

bool ends_within(const UniqueFd& daemon, int time_ms) {
  pollfd ended{.fd = daemon.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, time_ms) != 0;
}

Error still_runs(const std::string& mount_point, const std::string& device) {
  std::string problem = mount_point + " is unmounted, but its daemon still runs";
  std::string separator = ": ";
  for (const SeenMount& seen : mounts_of(device)) {
    problem += fmt::format("{}process {} ({}) has the mount at {} of its mount name space",
                           separator, seen.pid, seen.program, seen.mount_point);
    separator = ", ";
  }
  return {ErrorCode::kTimedOut, std::move(problem)};
}

/// Returns the exit status.
int wait_for_end(const UniqueFd& daemon, const std::string& mount_point,
                 const std::string& device) {
  if (ends_within(daemon, kPatienceMs)) return kExitSuccess;
  Error error = still_runs(mount_point, device);
  error.detail += "; waiting for its end";
  std::ignore = report(error);
  if (ends_within(daemon, kEndTimeoutMs - kPatienceMs)) return kExitSuccess;
  return report(still_runs(mount_point, device));
}

}  // namespace

int run_umount(const UmountCommand& command) {
  // The mount point of a daemon that died cannot be resolved, but can be unmounted.
  const auto resolved = resolve_mount_point(command.mountpoint);
  const std::string mount_point = resolved ? *resolved : command.mountpoint;
  const UniqueFd daemon = daemon_of(mount_point);
  const auto mounted = mount_on(mount_point).value_or(std::nullopt);
  const std::string device = mounted ? mounted->device : std::string();
  if (auto done = unmount(mount_point, command.lazy); !done) return report(done.error());
  // A daemon that was killed could not remove its sockets.
  if (!daemon) {
    ::unlink(metrics::stats_socket_path(mount_point).c_str());
    ::unlink(control_socket_path(mount_point).c_str());
    ::unlink(attach_socket_path(mount_point).c_str());
  }
  if (!daemon || command.lazy) return kExitSuccess;
  return wait_for_end(daemon, mount_point, device);
}

}  // namespace s3rdmafs::daemon
