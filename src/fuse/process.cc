// SPDX-License-Identifier: Apache-2.0
// The kernel names the thread, but a file opened by one thread may be closed by another.
#include "fuse/process.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace s3rdmafs::fuse {

vfs::ProcessId process_of(fuse_req_t request) {
  const auto thread = fuse_req_ctx(request)->pid;
  if (thread == 0) return 0;
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  constexpr std::string_view kGroup = "Tgid:";
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kGroup)) return std::stoll(line.substr(kGroup.size()));
  }
  return thread;
}

bool is_running(vfs::ProcessId process) {
  return ::access(("/proc/" + std::to_string(process)).c_str(), F_OK) == 0;
}

}  // namespace s3rdmafs::fuse
