// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/machine_facts.h"

#include <charconv>
#include <cstdint>
#include <fstream>
#include <string_view>

namespace s3rdmafs::daemon::doctor {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool has_capability(unsigned number) {
  constexpr std::string_view kField = "CapEff:\t";
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kField)) continue;
    std::uint64_t mask = 0;
    std::from_chars(line.data() + kField.size(), line.data() + line.size(), mask, 16);
    return ((mask >> number) & 1U) != 0;
  }
  return false;
}

}  // namespace s3rdmafs::daemon::doctor
