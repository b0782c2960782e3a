// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "config/mount_config.h"
#include "daemon/doctor/check.h"
#include "s3rdmafs/rdma/rdma_devices.h"

namespace s3rdmafs::daemon::doctor {

/// Each function appends its checks, in order.
void add_machine_checks(Checks& checks);
void add_mount_file_checks(Checks& checks);   ///< the file, and the memory and disk it asks for
void add_network_checks(Checks& checks);      ///< name, TCP, TLS, clock
void add_bucket_checks(Checks& checks);       ///< credentials, bucket, the fabric
void add_test_object_checks(Checks& checks);  ///< an object to transfer, listings, ETags
void add_rail_checks(Checks& checks);         ///< each rail by itself
void add_transfer_checks(Checks& checks);     ///< transfers, byte by byte
void add_fence_checks(Checks& checks);        ///< writes after a reply, and after a fence
void add_load_checks(Checks& checks);         ///< bandwidth
/// The checks of the machine and, if there is one, of the mount file, in the order in which they
/// run.
[[nodiscard]] Checks machine_checks(bool has_mount_file);
/// The checks of one bucket and its servers, which follow those.
[[nodiscard]] Checks bucket_checks();

// The verdicts that are functions of plain data.

/// @param release  as in uname(2): "6.1.0-13-amd64"
[[nodiscard]] Finding judge_kernel(const std::string& release);
/// @param limit_bytes  RLIMIT_MEMLOCK
/// @param may_exceed   whether the process has CAP_IPC_LOCK
/// @param is_required  whether cache.lock is "require"
[[nodiscard]] Finding judge_locked_memory(std::uint64_t limit_bytes, bool may_exceed,
                                          std::uint64_t cache_bytes, bool is_required);
/// Looks at the folder; never creates it.
[[nodiscard]] Finding judge_disk_cache(const config::MountConfig::Disk& disk);
/// @param ours_ahead  this machine's time minus the server's
[[nodiscard]] Finding judge_clock(std::chrono::seconds ours_ahead);
/// One line with every device, port and GID, and the reason why any cannot be used.
[[nodiscard]] Finding judge_devices(const std::vector<rdma::verbs::DeviceInfo>& devices);

}  // namespace s3rdmafs::daemon::doctor
