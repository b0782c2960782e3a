// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>

#include "daemon/top/top_model.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::daemon {

/// Numbers of a mount by name, or by `name{label="value"}`.
using Numbers = std::map<std::string, std::int64_t>;

/// The sample of a daemon with these numbers, `second` seconds after the first look.
inline TopSample sample_at(int second, const Numbers& numbers, ActivityReport activity = {}) {
  metrics::Registry registry;
  for (const auto& [name, value] : numbers) {
    const std::size_t brace = name.find('{');
    const bool has_labels = brace != std::string::npos;
    const std::string labels =
        has_labels ? name.substr(brace + 1, name.size() - brace - 2) : std::string();
    registry.gauge(name.substr(0, brace), "help", labels).set(value);
  }
  return {.at = std::chrono::steady_clock::time_point(std::chrono::seconds(1000 + second)),
          .counters = Counters::parse(registry.prometheus_text()).value(),
          .activity = std::move(activity)};
}

}  // namespace s3rdmafs::daemon
