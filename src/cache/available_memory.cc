// SPDX-License-Identifier: Apache-2.0
// Why ask: taking more pages than there are does not fail. The kernel's out-of-memory killer ends
// processes until they are there, and pages of shared memory are not freed by its killing.
#include "cache/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::cache {
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

// What one control group leaves; what it holds of files on disks is given up when memory is short.
std::uint64_t left_by_group(const std::filesystem::path& group) {
  const auto limit = number_in(group / "memory.max");
  if (!limit) return kUnknown;
  const std::uint64_t used = number_in(group / "memory.current").value_or(0);
  const std::uint64_t droppable = value_of(group / "memory.stat", "active_file").value_or(0) +
                                  value_of(group / "memory.stat", "inactive_file").value_or(0);
  const std::uint64_t held = used - std::min(used, droppable);
  return *limit - std::min(*limit, held);
}

// The path of this process's group below the mount of all groups, as "0::/PATH" says it.
std::string group_of_this_process(const std::filesystem::path& root) {
  constexpr std::string_view kVersion2 = "0::/";
  std::ifstream lines(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with(kVersion2)) return line.substr(kVersion2.size());
  }
  return {};
}

}  // namespace

std::uint64_t available_memory_bytes(const std::filesystem::path& root) {
  std::uint64_t available = kUnknown;
  if (const auto kib = value_of(root / "proc/meminfo", "MemAvailable:")) available = *kib * kKiB;
  const std::filesystem::path groups = root / "sys/fs/cgroup";
  // A group is bound by its own limit and by those of all above it.
  for (std::filesystem::path group = group_of_this_process(root);; group = group.parent_path()) {
    available = std::min(available, left_by_group(groups / group));
    if (group.empty()) return available;
  }
}

}  // namespace s3rdmafs::cache
