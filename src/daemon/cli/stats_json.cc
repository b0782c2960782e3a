// SPDX-License-Identifier: Apache-2.0
// Made of the Prometheus text, so that both say the same and the daemon computes nothing.
#include "daemon/cli/stats_json.h"

#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

namespace s3rdmafs::daemon {
namespace {

using Json = nlohmann::ordered_json;

// Grows when a member changes its meaning or goes; new members do not count.
constexpr int kFormat = 1;

Json labels_of(const metrics::Sample& sample) {
  Json labels = Json::object();
  for (const auto& [name, value] : sample.labels) labels[name] = value;
  return labels;
}

Json number_or_null(std::optional<double> number) { return number ? Json(*number) : Json(); }

Json value_of(const metrics::Sample& sample) {
  return {{"name", sample.name},
          {"type", sample.type},
          {"labels", labels_of(sample)},
          {"value", static_cast<std::int64_t>(sample.value)}};
}

Json histogram_of(const metrics::Sample& sample) {
  Json buckets = Json::array();
  for (const metrics::Bucket& bucket : sample.buckets) {
    if (std::isinf(bucket.border_s)) continue;  // its count is that of all
    buckets.push_back({{"le_s", bucket.border_s}, {"count", bucket.count}});
  }
  return {{"name", sample.name},
          {"labels", labels_of(sample)},
          {"count", sample.count},
          {"sum_s", sample.sum_s},
          {"p50_s", number_or_null(metrics::percentile(sample, 0.50))},
          {"p90_s", number_or_null(metrics::percentile(sample, 0.90))},
          {"p99_s", number_or_null(metrics::percentile(sample, 0.99))},
          {"max_s", number_or_null(metrics::highest_border(sample))},
          {"buckets", std::move(buckets)}};
}

}  // namespace

std::string stats_json(const StatsOf& of, std::span<const metrics::Sample> samples) {
  Json values = Json::array();
  Json histograms = Json::array();
  for (const metrics::Sample& sample : samples) {
    if (sample.type == "histogram") {
      histograms.push_back(histogram_of(sample));
    } else {
      values.push_back(value_of(sample));
    }
  }
  const Json all = {{"format", kFormat},
                    {"mount_point", of.mount_point},
                    {"daemon_pid", of.daemon_pid},
                    {"values", std::move(values)},
                    {"histograms", std::move(histograms)}};
  return all.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + '\n';
}

}  // namespace s3rdmafs::daemon
