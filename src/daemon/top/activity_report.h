// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The files that are open in a mount, and the processes that opened files: what the daemon tells
/// `s3rdmafs top`, as JSON. Plain values; every text is fit for a terminal (printable()).
struct ActivityReport {
  struct File {
    std::uint64_t handle = 0;  ///< never used twice in one mount
    std::string path = {};     ///< below the mount point
    pid_t process = 0;         ///< 0: of another PID namespace
    std::string way = {};      ///< "cached", "direct", "kernel" or "memory": how its bytes move
    std::uint64_t read_bytes = 0, written_bytes = 0;
  };
  struct Process {
    pid_t id = 0;
    std::string name = {};  ///< empty after it has ended
    std::uint64_t opens = 0;
    std::uint64_t read_bytes = 0, written_bytes = 0;
  };

  std::string bucket = {}, endpoint = {};
  std::chrono::seconds age{};  ///< of the mount
  /// What the mount runs with, by "section.key", of the keys that decide how fast it is.
  std::map<std::string, std::string> settings = {};
  std::vector<File> files = {};    ///< those that moved the most bytes, at most kFilesMax
  std::size_t files_left_out = 0;  ///< how many more are open
  std::vector<Process> processes = {};

  /// More than a person reads.
  static constexpr std::size_t kFilesMax = 1000;
};

[[nodiscard]] std::string to_text(const ActivityReport& report);

/// Errors: kProtocol, where the text is not one of to_text().
[[nodiscard]] Result<ActivityReport> read_activity(std::string_view text);

/// The socket where a mount's daemon gives its report, next to its stats socket.
[[nodiscard]] std::string activity_socket_path(std::string_view mount_point);

}  // namespace s3rdmafs::daemon
