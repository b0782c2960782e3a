// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "daemon/top/text_line.h"

namespace s3rdmafs::daemon {

/// The bytes that moved in one interval, for each second of it.
struct Throughput {
  double read = 0, written = 0;
};

/// The throughput of the last intervals as columns, writes on top of reads.
struct GraphOptions {
  std::size_t columns = 0;  ///< of the whole graph, its scale included
  std::size_t rows = 0;     ///< at least 2
  bool is_ascii = false;    ///< for terminals without UTF-8
  bool is_plain = false;
};

/// One line for each row, the newest interval at the right end; `points` in the order of time.
[[nodiscard]] std::vector<TextLine> draw_graph(std::span<const Throughput> points,
                                               const GraphOptions& options);

/// The least of 1, 2 and 5 times a power of ten that is not below `value`; at least 1 MB/s.
[[nodiscard]] double top_of_scale(double value);

/// "3.42 GB/s", in at most 9 characters.
[[nodiscard]] std::string format_rate(double bytes_per_second);
/// "12.3 GiB".
[[nodiscard]] std::string format_bytes(double bytes);
/// "1,234/s", "0.5/s".
[[nodiscard]] std::string format_frequency(double per_second);

}  // namespace s3rdmafs::daemon
