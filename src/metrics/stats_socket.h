// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
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

/// Serves a text on a UNIX socket, such as a registry's: each client is sent it and then
/// disconnected. Only the mount's own user and root can connect. Runs until destroyed; the
/// destructor also removes the socket's name.
class StatsSocket {
 public:
  /// Makes the text for one client. Runs on the socket's thread, and takes no longer than a client
  /// waits.
  using Text = std::function<std::string()>;

  /// Takes over a name that a dead daemon left. Errors: kSystem.
  [[nodiscard]] static Result<std::unique_ptr<StatsSocket>> listen(const Registry& registry,
                                                                   std::string path);
  /// @param thread  the name of the socket's thread; a literal
  [[nodiscard]] static Result<std::unique_ptr<StatsSocket>> listen(Text text, std::string path,
                                                                   const char* thread);
  ~StatsSocket();
  StatsSocket(const StatsSocket&) = delete;
  StatsSocket& operator=(const StatsSocket&) = delete;

 private:
  StatsSocket(Text text, std::string path, const char* thread, UniqueFd listener);
  void run(const std::stop_token& stop, const char* name);

  const Text text_;
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

/// The error for a mount point at which no daemon answers this user, by any of its sockets.
[[nodiscard]] Error not_mounted(const std::string& mount_point, const Error& error);

}  // namespace s3rdmafs::metrics
