// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line, see s3rdmafs(1). Each prints errors on standard error and returns
// the exit status of the process. Called from main() before any thread is started.
#pragma once

#include "daemon/cli/grammar/command_line.h"

namespace s3rdmafs::daemon {

/// Exit statuses, as mount(8) has them.
inline constexpr int kExitSuccess = 0;
inline constexpr int kExitUsage = 1;  ///< the command line, or of `mount` the mount file
inline constexpr int kExitFailure = 32;
/// A usage error of `doctor`, whose status 1 means "degraded" (EX_USAGE of sysexits.h).
inline constexpr int kExitDoctorUsage = 64;
/// `doctor` could not write its report (EX_CANTCREAT of sysexits.h).
inline constexpr int kExitDoctorReport = 73;

[[nodiscard]] int run_mount(const MountCommand& command);
[[nodiscard]] int run_umount(const UmountCommand& command);
[[nodiscard]] int run_stats(const StatsCommand& command);
[[nodiscard]] int run_top(const TopCommand& command);
[[nodiscard]] int run_explain(const ExplainCommand& command);
[[nodiscard]] int run_warm(const WarmCommand& command);
[[nodiscard]] int run_record(const RecordCommand& command);
[[nodiscard]] int run_reload(const ReloadCommand& command);
/// Does not return where the program runs. Returns 127 or 126 as env(1) does.
[[nodiscard]] int run_past_fuse(const PastFuseCommand& command);
[[nodiscard]] int run_recover(const RecoverCommand& command);
[[nodiscard]] int run_doctor(const DoctorCommand& command);
[[nodiscard]] int run_manifest(const ManifestCommand& command);
[[nodiscard]] int run_config(const ConfigCommand& command);

/// Prints "s3rdmafs: detail" and returns kExitFailure.
[[nodiscard]] int report(const Error& error);
/// The same for an error of several lines, as the mistakes in a mount file are: line breaks stay.
[[nodiscard]] int report_mistakes(const Error& error);

}  // namespace s3rdmafs::daemon
