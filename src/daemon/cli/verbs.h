// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line. Each returns the process's exit status; what went wrong stands on
// standard error. See s3rdmafs(1).
#pragma once

#include "daemon/cli/command_line.h"

namespace s3rdmafs::daemon {

/// Exit statuses, those of mount(8).
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitUsage = 1;
inline constexpr int kExitFailure = 32;
/// Usage errors of `doctor`, whose 1 means "degraded" (sysexits.h: EX_USAGE).
inline constexpr int kExitDoctorUsage = 64;
/// Of `doctor`, whose report could not be written (sysexits.h: EX_CANTCREAT).
inline constexpr int kExitDoctorReport = 73;

[[nodiscard]] int run_mount(const MountCommand& command);
[[nodiscard]] int run_umount(const UmountCommand& command);
[[nodiscard]] int run_stats(const StatsCommand& command);
[[nodiscard]] int run_warm(const WarmCommand& command);
[[nodiscard]] int run_doctor(const DoctorCommand& command);
[[nodiscard]] int run_config(const ConfigCommand& command);

/// Prints "s3rdmafs: detail" and returns kExitFailure.
[[nodiscard]] int report(const Error& error);
/// The same for the mistakes in a mount file, which come one a line and have no text of a server's.
[[nodiscard]] int report_mistakes(const Error& error);

}  // namespace s3rdmafs::daemon
