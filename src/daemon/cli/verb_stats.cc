// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "daemon/cli/stats_json.h"
#include "daemon/cli/verbs.h"
#include "daemon/mount/mount_point.h"
#include "metrics/samples.h"
#include "metrics/stats_socket.h"

namespace s3rdmafs::daemon {

int run_stats(const StatsCommand& command) {
  constexpr std::chrono::seconds kTimeout{5};
  const auto mount_point = resolve_mount_point(command.mountpoint);
  if (!mount_point) return report(mount_point.error());
  const auto answer = metrics::ask_stats(metrics::stats_socket_path(*mount_point), kTimeout);
  if (!answer) return report(metrics::not_mounted(*mount_point, answer.error()));
  std::string text = answer->text;
  if (command.json) {
    const auto samples = metrics::parse_prometheus_text(text);
    if (!samples) return report(samples.error());
    text = stats_json({.mount_point = *mount_point, .daemon_pid = answer->daemon_pid}, *samples);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitSuccess;
}

}  // namespace s3rdmafs::daemon
