// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/top_model.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

/// Turns two counts into a rate.
class Rate {
 public:
  Rate(const TopSample& before, const TopSample& now)
      : before_(before.counters),
        now_(now.counters),
        seconds_(std::max(std::chrono::duration<double>(now.at - before.at).count(), 1e-3)) {}

  [[nodiscard]] double of(double before, double now) const {
    return std::max(now - before, 0.0) / seconds_;
  }
  [[nodiscard]] double of(std::string_view name) const {
    return of(before_.sum(name), now_.sum(name));
  }
  [[nodiscard]] double of(std::string_view name, std::string_view label,
                          std::string_view value) const {
    return of(before_.sum(name, label, value), now_.sum(name, label, value));
  }
  /// Those that are not 0.
  [[nodiscard]] std::map<std::string, double> by(std::string_view name,
                                                 std::string_view label) const {
    std::map<std::string, double> rates = now_.by(name, label);
    for (auto& [value, rate] : rates) rate = of(before_.sum(name, label, value), rate);
    std::erase_if(rates, [](const auto& each) { return each.second == 0; });
    return rates;
  }

 private:
  const Counters& before_;
  const Counters& now_;
  const double seconds_;
};

std::string label_of(const ActivityReport& activity, pid_t process) {
  if (process == 0) return "elsewhere";
  const auto found = std::ranges::find(activity.processes, process, &ActivityReport::Process::id);
  const bool has_name = found != activity.processes.end() && !found->name.empty();
  return has_name ? fmt::format("{} {}", found->name, process) : std::to_string(process);
}

std::vector<TopModel::File> files_of(const ActivityReport& before, const ActivityReport& now,
                                     const Rate& rate) {
  std::unordered_map<std::uint64_t, const ActivityReport::File*> former;
  for (const auto& file : before.files) former.emplace(file.handle, &file);
  std::vector<TopModel::File> files;
  for (const auto& file : now.files) {
    const auto found = former.find(file.handle);
    const ActivityReport::File none;
    const ActivityReport::File& was = found == former.end() ? none : *found->second;
    files.push_back(
        {.path = file.path,
         .process = label_of(now, file.process),
         .way = file.way,
         .read = rate.of(static_cast<double>(was.read_bytes), static_cast<double>(file.read_bytes)),
         .written = rate.of(static_cast<double>(was.written_bytes),
                            static_cast<double>(file.written_bytes)),
         .bytes = file.read_bytes + file.written_bytes});
  }
  // By name where they move the same, so that lines do not jump from frame to frame.
  std::ranges::sort(files, {}, [](const TopModel::File& each) {
    return std::pair(-(each.read + each.written), each.path);
  });
  return files;
}

std::vector<TopModel::Process> processes_of(const ActivityReport& before, const ActivityReport& now,
                                            const Rate& rate) {
  std::vector<TopModel::Process> processes;
  for (const auto& process : now.processes) {
    const auto found =
        std::ranges::find(before.processes, process.id, &ActivityReport::Process::id);
    const ActivityReport::Process none;
    const ActivityReport::Process& was = found == before.processes.end() ? none : *found;
    const auto between = [&](std::uint64_t ActivityReport::Process::* count) {
      return rate.of(static_cast<double>(was.*count), static_cast<double>(process.*count));
    };
    processes.push_back({.name = process.id == 0 ? "elsewhere" : process.name,
                         .id = process.id,
                         .read = between(&ActivityReport::Process::read_bytes),
                         .written = between(&ActivityReport::Process::written_bytes),
                         .opens = between(&ActivityReport::Process::opens)});
  }
  std::erase_if(processes, [](const TopModel::Process& each) {
    return each.name.empty() && each.read + each.written + each.opens == 0;
  });
  std::ranges::sort(processes, {}, [](const TopModel::Process& each) {
    return std::tuple(-(each.read + each.written), -each.opens, each.id);
  });
  return processes;
}

std::vector<TopModel::Endpoint> endpoints_of(const Counters& now, const Rate& rate) {
  std::vector<TopModel::Endpoint> endpoints;
  // Each bucket counts its servers: one of several that share a server may find it dead.
  for (const auto& [url, is_alive] : now.least_by("endpoint_alive", "endpoint")) {
    endpoints.push_back(
        {.url = url,
         .is_alive = is_alive != 0,
         .outstanding_bytes = now.sum("endpoint_outstanding_bytes", "endpoint", url),
         .requests = rate.of("endpoint_requests_total", "endpoint", url),
         .failures_total = now.sum("endpoint_failures_total", "endpoint", url)});
  }
  return endpoints;
}

}  // namespace

TopModel compare(const TopSample& before, const TopSample& now) {
  const Rate rate(before, now);
  TopModel model{.mount = now.activity,
                 .kernel = {.read = rate.of("fuse_read_bytes_total"),
                            .written = rate.of("fuse_written_bytes_total")},
                 .past_fuse = rate.of("attach_part_bytes_total"),
                 .rdma = {.read = rate.of("get_bytes_total", "path", "rdma"),
                          .written = rate.of("put_bytes_total", "path", "rdma")},
                 .http = {.read = rate.of("get_bytes_total", "path", "http"),
                          .written = rate.of("put_bytes_total", "path", "http")},
                 .hits = rate.of("cache_reads_total", "result", "hit"),
                 .waits = rate.of("cache_reads_total", "result", "wait"),
                 .requests = rate.by("s3_requests_total", "operation"),
                 .failures = rate.by("s3_attempts_failed_total", "kind"),
                 .fallbacks = rate.by("rdma_fallbacks_total", "reason"),
                 .fallbacks_total = now.counters.by("rdma_fallbacks_total", "reason"),
                 .opens = rate.by("fuse_opens_total", "mode"),
                 .declined = rate.by("passthrough_declined_total", "reason"),
                 .evictions = rate.of("cache_evictions_total"),
                 .lookups_at_store = rate.of("vfs_lookups_total", "source", "store"),
                 .endpoints = endpoints_of(now.counters, rate),
                 .files = files_of(before.activity, now.activity, rate),
                 .files_open = now.activity.files.size() + now.activity.files_left_out,
                 .processes = processes_of(before.activity, now.activity, rate),
                 .now = now.counters};
  model.mount.files.clear();
  model.mount.processes.clear();
  return model;
}

}  // namespace s3rdmafs::daemon
