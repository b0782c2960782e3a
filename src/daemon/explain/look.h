// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "daemon/top/top_model.h"

namespace s3rdmafs::daemon {

/// Everything that `s3rdmafs explain` knows when it judges a mount. Plain value.
struct Look {
  /// Between two looks; of a mount that stood still meanwhile, since it was mounted.
  TopModel rates;
  bool is_since_mount = false;
  std::chrono::duration<double> time{};  ///< that the rates are of
  /// Of the kernel for this mount, in KiB (/sys/class/bdi/*/read_ahead_kb); 0: not known.
  std::uint64_t kernel_read_ahead_kib = 0;

  /// The value that the mount runs with, by "section.key"; empty for a key that it does not tell.
  [[nodiscard]] std::string setting(const std::string& key) const {
    const auto found = rates.mount.settings.find(key);
    return found == rates.mount.settings.end() ? "" : found->second;
  }
  /// A sum as it is now.
  [[nodiscard]] double now(std::string_view name) const { return rates.now.sum(name); }
  /// Bytes that came from, or went to, servers in a second.
  [[nodiscard]] double from_servers() const { return rates.rdma.read + rates.http.read; }
  [[nodiscard]] double to_servers() const { return rates.rdma.written + rates.http.written; }
  /// Reads that reached the daemon in a second.
  [[nodiscard]] double reads() const { return rates.hits + rates.waits; }
};

}  // namespace s3rdmafs::daemon
