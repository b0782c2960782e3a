// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/counters.h"

#include <algorithm>
#include <functional>

namespace s3rdmafs::daemon {

Result<Counters> Counters::parse(std::string_view text) {
  auto samples = metrics::parse_prometheus_text(text);
  if (!samples) return std::unexpected(std::move(samples.error()));
  constexpr std::string_view kPrefix = "s3rdmafs_";
  Counters counters;
  for (metrics::Sample& sample : *samples) {
    if (sample.type == "histogram" || !sample.name.starts_with(kPrefix)) continue;
    std::string name = sample.name.substr(kPrefix.size());
    counters.numbers_.emplace(std::move(name), std::move(sample));
  }
  return counters;
}

double Counters::sum(std::string_view name) const {
  double sum = 0;
  const auto [begin, end] = numbers_.equal_range(name);
  for (auto at = begin; at != end; ++at) sum += at->second.value;
  return sum;
}

double Counters::sum(std::string_view name, std::string_view label, std::string_view value) const {
  const auto values = by(name, label);
  const auto found = values.find(std::string(value));
  return found == values.end() ? 0 : found->second;
}

template <class Join>
std::map<std::string, double> Counters::joined_by(std::string_view name, std::string_view label,
                                                  Join join) const {
  std::map<std::string, double> values;
  const auto [begin, end] = numbers_.equal_range(name);
  for (auto at = begin; at != end; ++at) {
    const auto& labels = at->second.labels;
    const auto found = std::ranges::find(
        labels, label, [](const auto& each) { return std::string_view(each.first); });
    if (found == labels.end()) continue;
    const auto [value, is_first] = values.emplace(found->second, at->second.value);
    if (!is_first) value->second = join(value->second, at->second.value);
  }
  return values;
}

std::map<std::string, double> Counters::by(std::string_view name, std::string_view label) const {
  return joined_by(name, label, std::plus<double>());
}

std::map<std::string, double> Counters::least_by(std::string_view name,
                                                 std::string_view label) const {
  return joined_by(name, label, [](double one, double other) { return std::min(one, other); });
}

}  // namespace s3rdmafs::daemon
