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

/// Where the daemon of a mount point answers: under /run/s3rdmafs for root, under XDG_RUNTIME_DIR
/// (or /tmp/s3rdmafs-UID, or ~/.s3rdmafs where somebody else has that one) for others. The same for
/// the same absolute path.
[[nodiscard]] std::string stats_socket_path(std::string_view mount_point);

/// Serves a registry's Prometheus text on a UNIX socket: who connects is sent the text and hung up
/// on. Only the mount's own user and root can connect. Runs until destroyed; then the socket's name
/// is gone too.
class StatsSocket {
 public:
  /// Errors: kSystem. A name left behind by a daemon that died is taken over.
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

/// What a daemon said on its stats socket.
struct StatsAnswer {
  std::string text;
  pid_t daemon_pid = 0;
};

/// Asks a daemon. Errors: kNotFound (no daemon there), kTimedOut, kSystem.
[[nodiscard]] Result<StatsAnswer> ask_stats(const std::string& path, std::chrono::seconds timeout);

}  // namespace s3rdmafs::metrics
