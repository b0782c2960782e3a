// SPDX-License-Identifier: Apache-2.0
// Where a file system is mounted besides.
//
// Why. A new mount name space, such as that of a container or of a service, begins with a copy of
// each mount. The copies outlive the unmount of the original where they are private, and the
// daemon serves them: it goes on until the name space ends. Nothing at the mount point shows that.
#include "daemon/mount/process/other_mounts.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

#include "s3rdmafs/base/mount_table.h"

namespace s3rdmafs::daemon {
namespace {

std::optional<SeenMount> seen_by(const std::filesystem::path& process, const std::string& device) {
  const auto table = mount_table_of(process);
  if (!table) return std::nullopt;
  const auto found = std::ranges::find(*table, device, &MountEntry::device);
  if (found == table->end()) return std::nullopt;
  SeenMount seen;
  seen.mount_point = found->point;
  std::getline(std::ifstream(process / "comm"), seen.program);
  return seen;
}

}  // namespace

std::vector<SeenMount> mounts_of(const std::string& device) {
  std::vector<SeenMount> found;
  std::set<std::string> name_spaces;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    std::error_code ended;
    const auto name_space = std::filesystem::read_symlink(entry.path() / "ns/mnt", ended);
    if (ended || !name_spaces.insert(name_space).second) continue;
    if (auto seen = seen_by(entry.path(), device)) {
      seen->pid = pid;
      found.push_back(*std::move(seen));
    }
  }
  return found;
}

}  // namespace s3rdmafs::daemon
