// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/metrics/registry.h"

struct MHD_Daemon;

namespace s3rdmafs::metrics {

/// Answers GET /metrics over HTTP/1.1 with a registry's Prometheus text, for scrapers that are not
/// the mount's user. Every other path gets 404, every other method 405. It has one thread, at most
/// kConnectionsMax connections, and closes one that is idle or does not read for kIdleSeconds.
/// Runs until destroyed; the destructor also removes a UNIX socket's name.
class ScrapeListener {
 public:
  static constexpr unsigned kConnectionsMax = 16;
  static constexpr unsigned kIdleSeconds = 10;

  struct Options {
    std::string address;     ///< "127.0.0.1:9464", "[::1]:9464" or "unix:/PATH"
    mode_t mode = 0660;      ///< of the UNIX socket
    std::string group = {};  ///< of the UNIX socket, a name or number; empty: the process's
  };

  /// Takes over a UNIX socket's name that a dead daemon left. Borrows the registry. Errors:
  /// kSystem, kInvalidArgument (no such group), kBusy (another process listens at the UNIX socket),
  /// each with the address.
  [[nodiscard]] static Result<std::unique_ptr<ScrapeListener>> listen(const Registry& registry,
                                                                      const Options& options);
  ~ScrapeListener();
  ScrapeListener(const ScrapeListener&) = delete;
  ScrapeListener& operator=(const ScrapeListener&) = delete;

 private:
  ScrapeListener() = default;

  MHD_Daemon* daemon_ = nullptr;
  std::string socket_path_;  // empty: over TCP
};

}  // namespace s3rdmafs::metrics
