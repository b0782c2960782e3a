// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/metrics/registry.h"

#include <map>
#include <vector>

namespace s3rdmafs::metrics {

Registry::Entry& Registry::find_or_add(std::string_view name, std::string_view help,
                                       std::string_view labels, bool is_counter) {
  const MutexLock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.name == name && entry.labels == labels) return entry;
  }
  Entry& entry = entries_.emplace_back();
  entry.name = name;
  entry.help = help;
  entry.labels = labels;
  entry.is_counter = is_counter;
  return entry;
}

Counter& Registry::counter(std::string_view name, std::string_view help, std::string_view labels) {
  return find_or_add(name, help, labels, /*is_counter=*/true).counter;
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, std::string_view labels) {
  return find_or_add(name, help, labels, /*is_counter=*/false).gauge;
}

std::string Registry::prometheus_text() const {
  // The format wants all samples of one name together, under one HELP and TYPE.
  std::map<std::string_view, std::vector<const Entry*>> by_name;
  std::string text;
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) by_name[entry.name].push_back(&entry);
  for (const auto& [name, entries] : by_name) {
    const std::string full_name = "s3rdmafs_" + std::string(name);
    text += "# HELP " + full_name + " " + entries.front()->help + "\n";
    text += "# TYPE " + full_name + (entries.front()->is_counter ? " counter\n" : " gauge\n");
    for (const Entry* entry : entries) {
      text += full_name;
      if (!entry->labels.empty()) text += "{" + entry->labels + "}";
      text += " " + (entry->is_counter ? std::to_string(entry->counter.value())
                                       : std::to_string(entry->gauge.value()));
      text += "\n";
    }
  }
  return text;
}

}  // namespace s3rdmafs::metrics
