// SPDX-License-Identifier: Apache-2.0
#include "csi/node/mount_daemons.h"

#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "csi/node/child_process.h"
#include "csi/node/daemon_processes.h"
#include "csi/node/pod_folder.h"
#include "csi/node/private_files.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mount_table.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::csi {
namespace {

// The root of a mount is answered by its daemon from memory; one that takes this long hangs.
constexpr std::chrono::seconds kAnswerTime{5};
// A daemon ends within moments of its last mount; later it is waiting for a copy of the mount in a
// container, or stores.
constexpr std::chrono::seconds kEndPatience{2};
constexpr std::chrono::milliseconds kLook{20};
constexpr std::size_t kSaidBytesMax = 1024;

// The end of a file: what a program said last.
std::string last_words(const std::string& path) {
  const auto text = read_private_file(path);
  if (!text || !*text) return "";
  std::string words = **text;
  while (!words.empty() && words.back() == '\n') words.pop_back();
  if (words.size() > kSaidBytesMax) words.erase(0, words.size() - kSaidBytesMax);
  constexpr std::string_view kPrefix = "s3rdmafs: ";
  if (words.starts_with(kPrefix)) words.erase(0, kPrefix.size());
  return printable(words);
}

std::string last_line(const std::string& path) {
  const std::string words = last_words(path);  // a line feed is "\n" in it
  const std::size_t at = words.rfind("\\n");
  return at == std::string::npos ? words : words.substr(at + 2);
}

bool all_ended(const std::vector<FoundProcess>& processes, const Clock& clock, Deadline deadline) {
  return std::ranges::all_of(processes, [&](const FoundProcess& found) {
    return wait_for_process(found.process, clock, deadline);
  });
}

}  // namespace

std::vector<std::string> MountDaemons::environment_of(const MountedDaemon& daemon) const {
  std::vector<std::string> environment;
  for (const std::string& variable : options_.environment) {
    // Kubernetes names services in the environment: one called s3rdmafs-x would set keys of every
    // mount.
    if (variable.starts_with("S3RDMAFS_")) continue;
    if (variable.starts_with("AWS_") && !daemon.has_node_credentials) continue;
    environment.push_back(variable);
  }
  return environment;
}

std::vector<std::string> MountDaemons::start_words(const MountedDaemon& daemon,
                                                   const std::string& said) const {
  std::vector<std::string> words;
  if (options_.owner == DaemonOwner::kSystemd) {
    // systemd-run is the node's, and talks to the node's systemd, so it runs among the node's own
    // files.
    words = {"nsenter",
             "--target",
             "1",
             "--mount",
             "--uts",
             "--ipc",
             "--net",
             "--",
             "systemd-run",
             "--quiet",
             "--collect",
             "--unit=s3rdmafs-csi-" + daemon.mount,
             "--service-type=forking",
             "--property=StandardOutput=append:" + said,
             "--property=StandardError=append:" + said,
             "--property=LimitMEMLOCK=infinity",
             "--property=LimitNOFILE=1048576"};
    if (daemon.has_node_credentials) {
      for (const std::string& variable : environment_of(daemon)) {
        if (variable.starts_with("AWS_")) words.push_back("--setenv=" + variable);
      }
    }
  }
  words.insert(words.end(), {options_.program, "mount", daemon.file, daemon.point});
  return words;
}

Result<void> MountDaemons::start(const MountedDaemon& daemon, Deadline deadline) const {
  const std::string said = daemon.folder + "/said";
  const auto status = run_command(
      {.words = start_words(daemon, said), .environment = environment_of(daemon), .output = said},
      clock_, deadline);
  if (status && *status == 0) return {};
  // A daemon that still comes up would be a mount that no call has asked for.
  for (const FoundProcess& found : processes_that_mount(daemon.file)) send_signal(found, SIGKILL);
  if (auto gone = detach(daemon, clock_.now() + kAnswerTime); !gone) {
    log::warn("mount {}: it cannot be unmounted after a failed start: {}", daemon.mount,
              gone.error().detail);
  }
  if (!status) return std::unexpected(status.error());
  const std::string words = last_words(said);
  return fail(ErrorCode::kSystem,
              words.empty() ? fmt::format("s3rdmafs ended with status {} and said nothing", *status)
                            : words);
}

// By s3rdmafs itself, since a daemon that was killed leaves sockets that it knows of.
Result<void> MountDaemons::detach(const MountedDaemon& daemon, Deadline deadline) const {
  while (true) {
    const auto found = mount_on(daemon.point);
    if (!found) return std::unexpected(found.error());
    if (!*found) return {};
    const auto status = run_command({.words = {options_.program, "umount", "--lazy", daemon.point},
                                     .environment = environment_of(daemon),
                                     .output = daemon.folder + "/said"},
                                    clock_, deadline);
    if (status && *status == 0) continue;
    if (::umount2(daemon.point.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH) != 0 && errno != EINVAL) {
      return fail_errno("unmount " + daemon.point, errno);
    }
  }
}

// A driver that was killed may have begun a start that still goes on, or an end.
Result<void> MountDaemons::await_other_start(const MountedDaemon& daemon, Deadline deadline) const {
  while (!processes_that_mount(daemon.file).empty()) {
    const auto found = mount_on(daemon.point);
    if (!found) return std::unexpected(found.error());
    if (*found) return {};
    if (clock_.now() >= deadline) {
      return fail(
          ErrorCode::kTimedOut,
          fmt::format("an earlier daemon of mount {} has not ended yet; try again", daemon.mount));
    }
    pause_until(clock_, std::min(deadline, clock_.now() + kLook));
  }
  return {};
}

Result<void> MountDaemons::ensure(const MountedDaemon& daemon, Deadline deadline) const {
  auto found = mount_on(daemon.point);
  if (found && !*found) {
    if (auto waited = await_other_start(daemon, deadline); !waited) return waited;
    found = mount_on(daemon.point);
  }
  if (!found) return std::unexpected(found.error());
  if (*found) {
    const auto answer =
        ask_file_system(daemon.point, clock_, std::min(deadline, clock_.now() + kAnswerTime));
    if (answer) return {};
    if (answer.error().code != ErrorCode::kStale) return std::unexpected(answer.error());
    log::warn(
        "mount {}: its daemon has died: {}; it is mounted again, and pods that used it see errors "
        "until they "
        "are restarted",
        daemon.mount, last_line(daemon.log));
    if (auto gone = detach(daemon, deadline); !gone) return gone;
  }
  return start(daemon, deadline);
}

Result<void> MountDaemons::end(const MountedDaemon& daemon, Deadline deadline) const {
  if (auto gone = detach(daemon, deadline); !gone) return gone;
  const auto processes = processes_that_mount(daemon.file);
  if (all_ended(processes, clock_, std::min(deadline, clock_.now() + kEndPatience))) return {};
  // A container that has copied the node's mounts keeps the daemon; a signal ends it as an unmount
  // does, with all that was closed stored.
  log::info(
      "mount {}: its daemon still runs: a container has a copy of the mount, or it is storing "
      "files; it is told to end",
      daemon.mount);
  for (const FoundProcess& found : processes) send_signal(found, SIGTERM);
  if (all_ended(processes, clock_, deadline)) return {};
  return fail(ErrorCode::kTimedOut,
              fmt::format("the daemon of mount {} has not ended yet; try again", daemon.mount));
}

Result<void> MountDaemons::check_node() const {
  if (options_.owner == DaemonOwner::kFork && ::access(options_.program.c_str(), X_OK) != 0) {
    return fail(ErrorCode::kUnsupported, "there is no program " + options_.program);
  }
  if (::access("/dev/fuse", R_OK | W_OK) != 0) {
    return fail(ErrorCode::kUnsupported, "there is no /dev/fuse; the node needs the module fuse");
  }
  return {};
}

}  // namespace s3rdmafs::csi
