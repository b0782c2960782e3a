// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "metrics/samples.h"

namespace s3rdmafs::daemon {

/// The mount that numbers are of.
struct StatsOf {
  std::string mount_point;
  pid_t daemon_pid = 0;
};

/// The output of `s3rdmafs stats --json`: a JSON object as packaging/schema/stats.schema.json
/// describes it, with a line break at its end.
[[nodiscard]] std::string stats_json(const StatsOf& of, std::span<const metrics::Sample> samples);

}  // namespace s3rdmafs::daemon
