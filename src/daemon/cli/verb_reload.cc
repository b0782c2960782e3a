// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "daemon/cli/verbs.h"
#include "daemon/mount/mount_point.h"
#include "daemon/reload/reload_request.h"
#include "daemon/resident/control_socket.h"
#include "metrics/stats_socket.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::daemon {
namespace {

std::string_view outcome_of(const SettingChange& change, bool is_dry_run) {
  if (!change.is_live) return "needs a new mount";
  return is_dry_run ? "would change now" : "changed";
}

void print(const std::vector<SettingChange>& changes, bool is_dry_run) {
  if (changes.empty()) fmt::print("the mount file says nothing new\n");
  std::size_t key_width = 0;
  std::size_t values_width = 0;
  for (const SettingChange& change : changes) {
    key_width = std::max(key_width, change.key.size());
    values_width = std::max(values_width, change.before.size() + change.after.size() + 4);
  }
  // A list of many patterns would push the outcome out of sight.
  values_width = std::min<std::size_t>(values_width, 40);
  for (const SettingChange& change : changes) {
    fmt::print("{:<{}}  {:<{}}  {}\n", change.key, key_width,
               printable(change.before) + " -> " + printable(change.after), values_width,
               outcome_of(change, is_dry_run));
  }
}

}  // namespace

int run_reload(const ReloadCommand& command) {
  const auto mount_point = resolve_mount_point(command.mountpoint);
  if (!mount_point) return report(mount_point.error());
  const auto changes =
      ask_for_reload(record_socket_path(*mount_point),
                     command.dry_run ? Reloader::Extent::kTell : Reloader::Extent::kApply);
  if (!changes && changes.error().code == ErrorCode::kNotFound) {
    return report(metrics::not_mounted(*mount_point, changes.error()));
  }
  if (!changes) return report_mistakes(changes.error());
  print(*changes, command.dry_run);
  return kExitSuccess;
}

}  // namespace s3rdmafs::daemon
