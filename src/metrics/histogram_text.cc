// SPDX-License-Identifier: Apache-2.0
// A bucket is printed if it has a duration, or if the one above has: a program that computes a
// percentile then finds both borders of the bucket that it is in. The empty ones between are left
// out, since a scraper keeps a series for each line.
#include "metrics/histogram_text.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::metrics {
namespace {

// All borders are whole microseconds.
std::string seconds_text(std::chrono::microseconds time) {
  std::string text = fmt::format("{}.{:06}", time.count() / 1'000'000, time.count() % 1'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

void add_histogram_text(std::string_view name, std::string_view labels,
                        const Histogram::Snapshot& histogram, std::string& text) {
  if (histogram.total() == 0) return;
  const std::string_view comma = labels.empty() ? "" : ",";
  const auto add_bucket = [&](std::string_view border, std::uint64_t count) {
    text += fmt::format("{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, border, count);
  };
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < LatencyBuckets::kBordered; ++i) {
    so_far += histogram.counts[i];
    if (histogram.counts[i] == 0 && histogram.counts[i + 1] == 0) continue;
    add_bucket(seconds_text(LatencyBuckets::upper_border(i)), so_far);
  }
  so_far += histogram.counts[LatencyBuckets::kBordered];
  add_bucket("+Inf", so_far);
  const std::string braces = labels.empty() ? "" : fmt::format("{{{}}}", labels);
  text += fmt::format("{}_sum{} {}.{:09}\n", name, braces, histogram.sum.count() / 1'000'000'000,
                      histogram.sum.count() % 1'000'000'000);
  text += fmt::format("{}_count{} {}\n", name, braces, so_far);
}

}  // namespace s3rdmafs::metrics
