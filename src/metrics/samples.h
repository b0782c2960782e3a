// SPDX-License-Identifier: Apache-2.0
// What a client makes of a daemon's Prometheus text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Bucket {
  double border_s = 0;      ///< inclusive; infinity: the last
  std::uint64_t count = 0;  ///< cumulative
};

/// One line of the text, or the lines of one histogram. Plain value.
struct Sample {
  std::string name;  ///< of a histogram without _bucket, _sum and _count
  std::string type;  ///< "counter", "gauge", "histogram"
  std::string help;
  Labels labels;                     ///< without "le"
  double value = 0;                  ///< of counters and gauges
  std::vector<Bucket> buckets = {};  ///< of histograms, by border
  double sum_s = 0;
  std::uint64_t count = 0;
};

/// The samples of a text that Registry::prometheus_text() made, in its order. Errors: kProtocol,
/// with the line.
[[nodiscard]] Result<std::vector<Sample>> parse_prometheus_text(std::string_view text);

/// The duration, in seconds, that a share of a histogram's durations does not exceed: the middle of
/// the bucket that has it, which is within 6.3 % of the true one, or half a microsecond. That of
/// the last border for longer ones. Empty for an empty histogram.
/// @param share  0 < share <= 1
[[nodiscard]] std::optional<double> percentile(const Sample& histogram, double share);

/// The upper border, in seconds, of the highest bucket that has a duration. Empty for an empty
/// histogram, and where that bucket has none.
[[nodiscard]] std::optional<double> highest_border(const Sample& histogram);

}  // namespace s3rdmafs::metrics
