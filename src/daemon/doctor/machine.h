// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/mount_config.h"
#include "fuse/kernel/ring.h"
#include "memory/memory_file.h"
#include "rdma/fabric.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/interface.h"
#include "s3rdmafs/metrics/registry.h"
#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::daemon::doctor {

/// Everything that checks ask of the machine, answered by this one. Tests override single answers
/// to plant a fault. Used by one thread.
class Machine : public Interface {
 public:
  /// As in uname(2): "6.1.0-13-amd64".
  [[nodiscard]] virtual std::string kernel_release() const;
  /// Errors: those of fuse::check_fuse_device().
  [[nodiscard]] virtual Result<void> open_fuse_device() const;
  [[nodiscard]] virtual fuse::UringBlocker uring_blocker() const;
  /// Errors: those of memory::make_memory_file().
  [[nodiscard]] virtual Result<memory::MemoryFile> make_memory_file(std::uint64_t size_bytes) const;
  /// Errors: those of rdma::verbs::list_devices().
  [[nodiscard]] virtual Result<std::vector<rdma::verbs::DeviceInfo>> rdma_devices() const;
  /// RLIMIT_MEMLOCK; its largest value means unlimited.
  [[nodiscard]] virtual std::uint64_t locked_memory_limit_bytes() const;
  /// Whether this process has the capability (capabilities(7)) in effect.
  [[nodiscard]] virtual bool has_capability(unsigned number) const;
  /// The IP addresses of all interfaces that are up, without link-local ones.
  [[nodiscard]] virtual std::vector<std::string> addresses() const;
  /// Errors: those of choose_fabric(). Borrows clock and metrics.
  [[nodiscard]] virtual Result<std::unique_ptr<rdma::Fabric>> open_fabric(
      const config::MountConfig& config, const Clock& clock, metrics::Registry& metrics) const;
  /// Blocks for this time, during which a server may still write.
  virtual void pause(std::chrono::milliseconds time) const;
};

/// The first line of a file of /proc or /sys; empty where it cannot be read.
[[nodiscard]] std::string first_line(const std::string& path);

}  // namespace s3rdmafs::daemon::doctor
