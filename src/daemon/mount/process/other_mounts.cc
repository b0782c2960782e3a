// SPDX-License-Identifier: Apache-2.0
// Where a file system is mounted besides.
//
// Why. A new mount name space, such as that of a container or of a service, begins with a copy of
// each mount. The copies outlive the unmount of the original where they are private, and the
// daemon serves them: it goes on until the name space ends. Nothing at the mount point shows that.
#include "daemon/mount/process/other_mounts.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

namespace s3rdmafs::daemon {
namespace {

struct Line {
  std::string device;
  std::string mount_point;
};

/// Mount points have spaces, tabs, line ends and backslashes as octal numbers of three digits.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() &&
                           std::from_chars(&text[i + 1], &text[i + 4], code, 8).ptr == &text[i + 4];
    plain += is_escape ? static_cast<char>(code) : text[i];
    if (is_escape) i += 3;
  }
  return plain;
}

std::vector<Line> mounts_in(const std::filesystem::path& mountinfo) {
  std::vector<Line> lines;
  std::ifstream file(mountinfo);
  for (std::string text; std::getline(file, text);) {
    std::string id;
    std::string parent;
    std::string root;
    Line line;
    std::istringstream(text) >> id >> parent >> line.device >> root >> line.mount_point;
    line.mount_point = without_escapes(line.mount_point);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::optional<SeenMount> seen_by(const std::filesystem::path& process, const std::string& device) {
  for (const Line& line : mounts_in(process / "mountinfo")) {
    if (line.device != device) continue;
    SeenMount seen;
    seen.mount_point = line.mount_point;
    std::getline(std::ifstream(process / "comm"), seen.program);
    return seen;
  }
  return std::nullopt;
}

}  // namespace

std::string device_on(const std::string& mount_point) {
  std::string device;
  for (const Line& line : mounts_in("/proc/self/mountinfo")) {
    if (line.mount_point == mount_point) device = line.device;
  }
  return device;
}

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
