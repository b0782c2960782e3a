// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/metrics/registry.h"

#include <map>
#include <vector>

#include "metrics/histogram_text.h"
#include "s3rdmafs/base/enum_names.h"

namespace s3rdmafs::metrics {
namespace {

constexpr std::string_view kNamePrefix = "s3rdmafs_";

}  // namespace

std::string label_text(std::string_view name, std::string_view value) {
  std::string text = std::string(name) + "=\"";
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

Registry::Entry& Registry::find_or_add(std::string_view name, std::string_view help,
                                       std::string_view labels, Kind kind) {
  if (whole_ != nullptr) {
    std::string all = part_labels_;
    if (!labels.empty()) all.append(",").append(labels);
    return whole_->find_or_add(name, help, all, kind);
  }
  const MutexLock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.name == name && entry.labels == labels) return entry;
  }
  Entry& entry = entries_.emplace_back();
  entry.name = name;
  entry.help = help;
  entry.labels = labels;
  entry.kind = kind;
  return entry;
}

Counter& Registry::counter(std::string_view name, std::string_view help, std::string_view labels) {
  return find_or_add(name, help, labels, Kind::kCounter).counter;
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, std::string_view labels) {
  return find_or_add(name, help, labels, Kind::kGauge).gauge;
}

Histogram& Registry::histogram(std::string_view name, std::string_view help,
                               std::string_view labels) {
  return find_or_add(name, help, labels, Kind::kHistogram).histogram;
}

void Registry::add_samples(const Entry& entry, std::string& text) {
  const std::string name = std::string(kNamePrefix) + entry.name;
  if (entry.kind == Kind::kHistogram) {
    add_histogram_text(name, entry.labels, entry.histogram.snapshot(), text);
    return;
  }
  text += name;
  if (!entry.labels.empty()) text += "{" + entry.labels + "}";
  text += " " + (entry.kind == Kind::kCounter ? std::to_string(entry.counter.value())
                                              : std::to_string(entry.gauge.value()));
  text += "\n";
}

std::string Registry::prometheus_text() const {
  static constexpr EnumNames<Kind::kHistogram> kTypeNames(
      {{Kind::kCounter, "counter"}, {Kind::kGauge, "gauge"}, {Kind::kHistogram, "histogram"}});
  // The format wants all samples of one name together, under one HELP and TYPE.
  std::map<std::string_view, std::vector<const Entry*>> by_name;
  std::string text;
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) by_name[entry.name].push_back(&entry);
  for (const auto& [name, entries] : by_name) {
    const std::string full_name = std::string(kNamePrefix) + std::string(name);
    text += "# HELP " + full_name + " " + entries.front()->help + "\n";
    text += "# TYPE " + full_name + " " + std::string(kTypeNames[entries.front()->kind]) + "\n";
    for (const Entry* entry : entries) add_samples(*entry, text);
  }
  return text;
}

}  // namespace s3rdmafs::metrics
