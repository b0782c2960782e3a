// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace s3rdmafs::csi {

/// The owner of a mount's daemon, which has to outlive the driver (src/csi/README.md says
/// how).
enum class DaemonOwner {
  kFork,     ///< the first process of the driver's process name space
  kSystemd,  ///< the node's systemd: a transient unit for each mount
};

}  // namespace s3rdmafs::csi
