// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "daemon/cli/verbs.h"
#include "daemon/mount/mount_point.h"
#include "metrics/stats_socket.h"

namespace s3rdmafs::daemon {

int run_stats(const StatsCommand& command) {
  constexpr std::chrono::seconds kTimeout{5};
  const auto mount_point = resolve_mount_point(command.mountpoint);
  if (!mount_point) return report(mount_point.error());
  const auto answer = metrics::ask_stats(metrics::stats_socket_path(*mount_point), kTimeout);
  if (!answer) {
    return report({answer.error().code, "this user has no s3rdmafs mounted on " + *mount_point +
                                            " (" + answer.error().detail + ")"});
  }
  std::fwrite(answer->text.data(), 1, answer->text.size(), stdout);
  return kExitSuccess;
}

}  // namespace s3rdmafs::daemon
