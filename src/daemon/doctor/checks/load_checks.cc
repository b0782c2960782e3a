// SPDX-License-Identifier: Apache-2.0
// Bandwidth and CPU cost by request size and requests in flight, which tell a slow rail from one
// with long latency.
#include <algorithm>
#include <array>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/probes/load.h"
#include "daemon/doctor/probes/rail.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon::doctor {
namespace {

constexpr auto kRequestBytes =
    std::to_array<std::size_t>({64 * kKiB, kMiB, 4 * kMiB, 8 * kMiB, 16 * kMiB});
constexpr auto kInFlight = std::to_array<unsigned>({1, 4, 16});

// The time of one measurement, and of all together.
struct Times {
  std::chrono::milliseconds each;
  std::chrono::milliseconds all;
};
constexpr Times kShort{.each = std::chrono::milliseconds(200), .all = std::chrono::seconds(8)};
constexpr Times kLong{.each = std::chrono::seconds(2), .all = std::chrono::seconds(120)};

struct BestLoad {
  double rate = 0;
  std::string text = "not measured";
};

// Whether these requests would end in time, at the best rate so far.
bool is_over_by(const Context& context, const Load& load, double rate, Deadline end) {
  const std::chrono::duration<double> left = end - context.clock.now();
  if (rate == 0) return left.count() > 0;
  const double gigabytes = static_cast<double>(load.request_bytes * load.in_flight) / 1e9;
  return gigabytes / rate < left.count();
}

BestLoad best_load_of(const Load& load, const LoadResult& result) {
  return {.rate = result.gigabytes_per_second(),
          .text = fmt::format("{:.3g} GB/s, {:.2g} CPU s/GB with {} KiB, {} in flight",
                              result.gigabytes_per_second(), result.cpu_seconds_per_gigabyte(),
                              load.request_bytes / kKiB, load.in_flight)};
}

toml::table load_row(const std::string& path, const Load& load, const LoadResult& result) {
  return toml::table{{"path", path},
                     {"request_bytes", static_cast<std::int64_t>(load.request_bytes)},
                     {"in_flight", static_cast<std::int64_t>(load.in_flight)},
                     {"bytes", static_cast<std::int64_t>(result.bytes)},
                     {"failures", static_cast<std::int64_t>(result.failures)},
                     {"seconds", result.seconds},
                     {"gigabytes_per_second", result.gigabytes_per_second()},
                     {"cpu_seconds_per_gigabyte", result.cpu_seconds_per_gigabyte()}};
}

BestLoad measure_path(Context& context, const RdmaPath& path, std::chrono::milliseconds each,
                      Deadline end, toml::array& measured) {
  BestLoad best;
  for (const std::size_t bytes : kRequestBytes) {
    if (bytes > context.memory->expected().size()) break;
    for (const unsigned in_flight : kInFlight) {
      const Load load{.request_bytes = bytes, .in_flight = in_flight};
      if (!is_over_by(context, load, best.rate, end)) continue;
      const LoadResult result = run_load(context, path.path, load, each);
      measured.push_back(load_row(path.name, load, result));
      if (result.gigabytes_per_second() > best.rate) best = best_load_of(load, result);
    }
  }
  return best;
}

Finding check_bandwidth(Context& context) {
  const std::vector<RdmaPath> paths = rdma_paths(context);
  if (paths.empty()) return {Level::kSkipped, "because nothing works by RDMA", {}};
  const Times times = context.measures_long ? kLong : kShort;
  const auto share = times.all / static_cast<int>(paths.size());
  Finding finding{.level = Level::kNote, .seen = {}, .advice = {}};
  toml::array measured;
  for (const RdmaPath& path : paths) {
    BestLoad best = measure_path(context, path, times.each, context.clock.now() + share, measured);
    finding.seen += fmt::format("{}{}: {}", finding.seen.empty() ? "" : "; ", path.name, best.text);
  }
  finding.evidence.insert("measured", std::move(measured));
  return finding;
}

}  // namespace

void add_load_checks(Checks& checks) {
  checks.push_back({"bandwidth", "test object", check_bandwidth});
}

}  // namespace s3rdmafs::daemon::doctor
