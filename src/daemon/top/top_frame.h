// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "daemon/top/text_line.h"
#include "daemon/top/top_model.h"

namespace s3rdmafs::daemon {

struct FrameOptions {
  std::size_t columns = 80, rows = 24;
  bool is_ascii = false;  ///< for terminals without UTF-8
  bool is_plain = false;  ///< without styles, for output that is not a terminal
  bool is_paused = false;
  std::chrono::milliseconds interval{1000};
};

/// The frame for a person: exactly `rows` lines of at most `columns` cells.
/// @param history  throughput between programs and the daemon, in the order of time
[[nodiscard]] std::vector<std::string> draw_frame(const TopModel& model,
                                                  std::span<const Throughput> history,
                                                  const std::string& mount_point,
                                                  const FrameOptions& options);

}  // namespace s3rdmafs::daemon
