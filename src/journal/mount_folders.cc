// SPDX-License-Identifier: Apache-2.0
#include "journal/mount_folders.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::journal {

std::string machine_name(const std::string& id_file) {
  std::string id;
  if (std::getline(std::ifstream(id_file), id) && !id.empty()) return id;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return "";
  return host.data();
}

std::string mount_name(std::span<const std::string> parts) {
  std::uint64_t hash = 0;
  for (const std::string& part : parts) {
    hash = crc64nvme(hash, std::as_bytes(std::span(part)));
    hash = crc64nvme(hash, std::as_bytes(std::span("", 1)));  // so that "a", "bc" is not "ab", "c"
  }
  return fmt::format("{:016x}", hash);
}

std::string default_state_folder(uid_t user, const std::string& mount_name) {
  if (user == 0) return "/var/lib/s3rdmafs/" + mount_name;
  const char* const state_home = std::getenv("XDG_STATE_HOME");
  // The specification says: paths that are not absolute are to be ignored.
  if (state_home != nullptr && state_home[0] == '/') {
    return std::string(state_home) + "/s3rdmafs/" + mount_name;
  }
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') {
    return std::string(home) + "/.local/state/s3rdmafs/" + mount_name;
  }
  return fmt::format("/var/tmp/s3rdmafs-{}-{}", user, mount_name);
}

// Directly in /dev/shm: a folder between could belong to another user. When a regular user logs out
// for the last time, systemd-logind removes all that the user has there (RemoveIPC in
// logind.conf(5)), also below a mount that goes on.
std::string default_staging_folder(uid_t user, const std::string& mount_name) {
  constexpr uid_t kSystemUserMax = 999;  // systemd's own bound, and Debian's
  if (user > kSystemUserMax) return default_state_folder(user, mount_name + "-staged");
  return fmt::format("/dev/shm/s3rdmafs-{}-{}", user, mount_name);
}

}  // namespace s3rdmafs::journal
