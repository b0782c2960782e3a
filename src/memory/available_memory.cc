// SPDX-License-Identifier: Apache-2.0
// Why ask first: taking more pages than the machine has does not fail. The kernel's out-of-memory
// killer ends processes until there are enough, and killing does not free pages of shared memory.
#include "memory/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::memory {
namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// The number in a file of lines "NAME VALUE".
std::optional<std::uint64_t> value_of(const std::filesystem::path& file, std::string_view name) {
  std::ifstream lines(file);
  std::string word;
  std::uint64_t value = 0;
  while (lines >> word) {
    if (word == name && lines >> value) return value;
    lines.clear();
    lines.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream text(file);
  std::uint64_t value = 0;
  if (text >> value) return value;
  return std::nullopt;  // not there, or "max"
}

// The files and the words of memory.stat in which a version of control groups tells the limit and
// the use of a group.
struct Version {
  std::string_view limit, used, active_file, inactive_file;
};
constexpr Version kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_active_file", "total_inactive_file"};
constexpr Version kVersion2 = {"memory.max", "memory.current", "active_file", "inactive_file"};

// The memory that one control group leaves. Its pages of files on disks count as free: the kernel
// drops them when memory is short.
std::uint64_t left_by_group(const Version& version, const std::filesystem::path& group) {
  const auto limit = number_in(group / version.limit);
  if (!limit) return kUnknown;
  const std::uint64_t used = number_in(group / version.used).value_or(0);
  const auto stat = group / "memory.stat";
  const std::uint64_t droppable = value_of(stat, version.active_file).value_or(0) +
                                  value_of(stat, version.inactive_file).value_or(0);
  const std::uint64_t held = used - std::min(used, droppable);
  return *limit - std::min(*limit, held);
}

// A group is bound by its own limit and by those of all above it. In a container its path may be
// the host's, and only the mount of the groups is visible: that has the container's limit.
std::uint64_t left_by_groups(const Version& version, const std::filesystem::path& mount,
                             std::filesystem::path group) {
  std::uint64_t left = kUnknown;
  for (;; group = group.parent_path()) {
    left = std::min(left, left_by_group(version, mount / group));
    if (group.empty()) return left;
  }
}

// The path of this process's group below the mount of its groups: the line "0::/PATH" for version
// 2, "NUMBER:...,CONTROLLER,...:/PATH" for version 1.
std::string group_of_this_process(const std::filesystem::path& root, std::string_view controller) {
  const std::string wanted = "," + std::string(controller) + ",";
  std::ifstream lines(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(":/", first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_it = controllers.find(wanted) != std::string::npos;
    if (is_it) return line.substr(second + 2);
  }
  return {};
}

}  // namespace

std::uint64_t available_memory_bytes(const std::filesystem::path& root) {
  std::uint64_t available = kUnknown;
  if (const auto kib = value_of(root / "proc/meminfo", "MemAvailable:")) available = *kib * kKiB;
  const std::filesystem::path groups = root / "sys/fs/cgroup";
  return std::min(
      {available, left_by_groups(kVersion2, groups, group_of_this_process(root, "")),
       left_by_groups(kVersion1, groups / "memory", group_of_this_process(root, "memory"))});
}

}  // namespace s3rdmafs::memory
