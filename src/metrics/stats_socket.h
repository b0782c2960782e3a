// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::metrics {

/// The socket of a mount point's daemon, in the runtime_folder() of this process's user. Equal for
/// equal absolute paths.
[[nodiscard]] std::string stats_socket_path(std::string_view mount_point);

/// Serves a registry's Prometheus text on a UNIX socket: each client is sent the text and then
/// disconnected. Only the mount's own user and root can connect. Runs until destroyed; the
/// destructor also removes the socket's name.
class StatsSocket {
 public:
  /// Takes over a name that a dead daemon left. Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<StatsSocket>> listen(const Registry& registry,
                                                                   std::string path);
  ~StatsSocket();
  StatsSocket(const StatsSocket&) = delete;
  StatsSocket& operator=(const StatsSocket&) = delete;

 private:
  StatsSocket(const Registry& registry, std::string path, UniqueFd listener);
  void run(const std::stop_token& stop);

  const Registry& registry_;
  const std::string path_;
  UniqueFd listener_;
  std::jthread thread_;  // last: ends before what it uses
};

/// A daemon's answer on its stats socket.
struct StatsAnswer {
  std::string text;
  pid_t daemon_pid = 0;
};

/// Asks a daemon for its numbers. Errors: kNotFound (no daemon there), kTimedOut, kSystem.
[[nodiscard]] Result<StatsAnswer> ask_stats(const std::string& path, std::chrono::seconds timeout);

}  // namespace s3rdmafs::metrics
