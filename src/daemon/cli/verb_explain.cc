// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/cli/verbs.h"
#include "daemon/explain/explanation.h"
#include "daemon/mount/mount_point.h"
#include "daemon/resident/path_pattern.h"
#include "daemon/top/take_sample.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::daemon {
namespace {

/// 0 where the kernel does not tell.
std::uint64_t kernel_read_ahead_kib(const std::string& mount_point) {
  struct stat status{};
  if (::stat(mount_point.c_str(), &status) != 0) return 0;
  std::uint64_t kib = 0;
  std::ifstream(fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(status.st_dev),
                            minor(status.st_dev))) >>
      kib;
  return kib;
}

Result<std::string> path_below(const std::string& mount_point, const std::string& path) {
  if (path.empty()) return path;
  std::error_code failed;
  auto below = path_in_mount(mount_point, path, std::filesystem::current_path(failed).string());
  if (below) return printable(*below);
  return below;
}

}  // namespace

int run_explain(const ExplainCommand& command) {
  const auto mount_point = resolve_mount_point(command.mountpoint);
  if (!mount_point) return report(mount_point.error());
  const auto path = path_below(*mount_point, command.path);
  if (!path) return report(path.error());
  const auto before = take_sample(*mount_point);
  if (!before) return report(before.error());
  std::this_thread::sleep_for(command.time);
  const auto now = take_sample(*mount_point);
  if (!now) return report(now.error());
  Look look = look_between(*before, *now);
  look.kernel_read_ahead_kib = kernel_read_ahead_kib(*mount_point);
  const Explanation explanation = explain(look, *path);
  std::fputs((command.json ? to_json(explanation) : to_text(explanation)).c_str(), stdout);
  return kExitSuccess;
}

}  // namespace s3rdmafs::daemon
