// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "csi/node/daemon_owner.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// The command line of s3rdmafs-csi. Plain value.
struct DriverOptions {
  std::string endpoint = "unix:///csi/csi.sock";
  std::string name = "csi.s3rdmafs";
  std::string node_id;
  std::string pods = "/var/lib/kubelet";
  std::string state = "/run/s3rdmafs-csi";
  std::string keep = "/var/lib/s3rdmafs-csi";
  std::string program = "/usr/bin/s3rdmafs";
  DaemonOwner owner = DaemonOwner::kFork;
  std::vector<std::string> environment = {};
};

/// Serves until SIGTERM or SIGINT; calls that run have 10 s to end then. Mounts and their daemons
/// stay. The caller has no other thread. Errors: kInvalidArgument, kBusy (another driver has the
/// socket or the state), kSystem.
[[nodiscard]] Result<void> run_driver(const DriverOptions& options);

}  // namespace s3rdmafs::csi
