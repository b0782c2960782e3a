// SPDX-License-Identifier: Apache-2.0
// The kernel names a thread, but one thread may close a file that another opened.
#include "fuse/process.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::fuse {
namespace {

/// The number after `label` in one of /proc's files of lines "label<white space>number".
std::optional<std::uint64_t> number_in(const std::filesystem::path& file, std::string_view label) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(label)) continue;
    std::istringstream rest(line.substr(label.size()));
    std::uint64_t number = 0;
    if (rest >> number) return number;
  }
  return std::nullopt;
}

}  // namespace

vfs::ProcessId process_of(fuse_req_t request) {
  const auto thread = fuse_req_ctx(request)->pid;
  return thread == 0 ? 0 : process_of_thread(thread);
}

vfs::ProcessId process_of_thread(pid_t thread) {
  // Most threads are the first of their process, and tgkill(2) with no signal tells that for far
  // less than a file of /proc costs. After any error, also of a right that it lacks, /proc decides.
  if (::syscall(SYS_tgkill, thread, thread, 0) == 0) return thread;
  const auto group = number_in("/proc/" + std::to_string(thread) + "/status", "Tgid:");
  return group ? static_cast<vfs::ProcessId>(*group) : thread;
}

std::string name_of_process(vfs::ProcessId process) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
  return printable(name);
}

bool is_running(vfs::ProcessId process) {
  return ::access(("/proc/" + std::to_string(process)).c_str(), F_OK) == 0;
}

// fdinfo and not fd: following a link of the latter could be a request to this very mount.
bool has_descriptor(vfs::ProcessId process, vfs::Ino ino) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::directory_iterator at("/proc/" + std::to_string(process) + "/fdinfo", error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (number_in(at->path(), "ino:") == ino) return true;
  }
  return false;
}

}  // namespace s3rdmafs::fuse
