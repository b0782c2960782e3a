// SPDX-License-Identifier: Apache-2.0
#include "csi/node/daemon_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>

namespace s3rdmafs::csi {
namespace {

// More than a mount's command line has, the part before it by systemd-run included.
constexpr std::size_t kCommandLineBytesMax = 16'384;

bool mounts_file(pid_t pid, const std::string& wanted) {
  const std::string path = "/proc/" + std::to_string(pid) + "/cmdline";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kCommandLineBytesMax> line{};
  const ssize_t length = file ? ::read(file.get(), line.data(), line.size()) : 0;
  if (length <= 0) return false;
  return std::string_view(line.data(), static_cast<std::size_t>(length)).contains(wanted);
}

bool is_own(pid_t pid) {
  struct stat status{};
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 &&
         status.st_uid == ::geteuid();
}

}  // namespace

std::vector<FoundProcess> processes_that_mount(const std::string& file) {
  std::vector<FoundProcess> found;
  const std::string wanted = std::string("\0mount\0", 7) + file + '\0';
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc"), ::closedir);
  while (const dirent* const entry = all ? ::readdir(all.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (!is_own(pid) || !mounts_file(pid, wanted)) continue;
    UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // The number may have passed to another process before it was held.
    if (process && mounts_file(pid, wanted)) {
      found.push_back({.pid = pid, .process = std::move(process)});
    }
  }
  return found;
}

void send_signal(const FoundProcess& found, int signal) noexcept {
  ::syscall(SYS_pidfd_send_signal, found.process.get(), signal, nullptr, 0);
}

}  // namespace s3rdmafs::csi
