// SPDX-License-Identifier: Apache-2.0
// Transfers compared byte by byte: nothing else shows MTUs that differ, or a server that reports a
// success it did not have.
#include <algorithm>
#include <array>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/probes/transfers.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon::doctor {
namespace {

// The reason why RDMA cannot be tested; empty: it can.
std::string why_not_rdma(const Context& context) {
  if (!context.object) return "because there is no test object";
  if (!context.rdma) return "because no RDMA fabric is in use";
  return {};
}

ReadPath by_rdma(Context& context) { return {.store = *context.rdma, .memory = *context.memory}; }

Finding check_rdma_read(Context& context) {
  if (auto why = why_not_rdma(context); !why.empty()) return {Level::kSkipped, why, {}};
  const std::size_t length = context.memory->expected().size();
  Finding finding = read_and_compare(context, by_rdma(context), length, if_rdma_fails(context));
  context.rdma_works = finding.level == Level::kPass;
  if (context.rdma_works) {
    finding.seen = fmt::format("the server accepts our tokens; {} bytes are equal", length);
  }
  return finding;
}

// Around every path MTU (256 B to 4 KiB), and more than 64 of the largest.
Finding check_sizes(Context& context) {
  if (!context.rdma_works) return {Level::kSkipped, "because nothing was read by RDMA", {}};
  constexpr auto kSizes = std::to_array<std::size_t>(
      {1, 255, 257, 1023, 1025, 4095, 4096, 4097, 64 * 1024 + 1, 64 * 4096 + 1});
  const std::size_t all = context.memory->expected().size();
  std::size_t tried = 0;
  for (const std::size_t size : kSizes) {
    if (size > all) continue;
    Finding finding = read_and_compare(context, by_rdma(context), size, if_rdma_fails(context));
    if (finding.level != Level::kPass) return finding;
    ++tried;
  }
  if (tried < kSizes.size()) {
    return {Level::kNote,
            fmt::format("{} of {} sizes are equal; the object is too small for the rest", tried,
                        kSizes.size()),
            {}};
  }
  return {
      Level::kPass, fmt::format("{} sizes from 1 to {} bytes are equal", tried, kSizes.back()), {}};
}

Finding check_rdma_write(Context& context) {
  if (!context.rdma_works) return {Level::kSkipped, "because nothing was read by RDMA", {}};
  if (!context.may_write) return {Level::kSkipped, "because nothing may be written", {}};
  const std::string key = random_key(context);
  const s3::PutOutcome stored = put(context, *context.rdma, key);
  if (!stored.etag) {
    return {if_rdma_fails(context), stored.etag.error().detail,
            "see the server's log; reads by RDMA work"};
  }
  context.object->key = key;
  context.object->etag = *stored.etag;
  const std::size_t length = context.memory->expected().size();
  Finding finding = read_and_compare(context, {.store = *context.http, .memory = *context.memory},
                                     length, Level::kFail);
  if (finding.level == Level::kPass) {
    finding.seen = fmt::format("{} bytes are equal when read by HTTP", length);
  }
  return finding;
}

// The median of nine is steady, and nine reads take little time.
constexpr std::size_t kSpeedRepeats = 9;

double median_seconds(Context& context, s3::HttpObjectStore& store, std::size_t length) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < kSpeedRepeats; ++i) {
    const auto begin = context.clock.now();
    if (!get(context, store, context.memory->landing(length))) continue;
    seconds.push_back(std::chrono::duration<double>(context.clock.now() - begin).count());
  }
  if (seconds.empty()) return 0;
  std::ranges::sort(seconds);
  return seconds.at(seconds.size() / 2);
}

std::string measure_speed(Context& context, s3::HttpObjectStore& store) {
  const std::size_t all = context.memory->expected().size();
  const double latency = median_seconds(context, store, 1);
  const double whole = median_seconds(context, store, all);
  if (latency == 0 || whole == 0) return "not measured: a read failed";
  return fmt::format("{:.0f} us for 1 byte, {:.0f} MB/s with {} KiB", latency * 1e6,
                     static_cast<double>(all) / 1e6 / whole, all / kKiB);
}

Finding check_speed(Context& context) {
  if (!context.object) return {Level::kSkipped, why_not_rdma(context), {}};
  std::string seen = "HTTP " + measure_speed(context, *context.http);
  if (context.rdma_works) seen = "RDMA " + measure_speed(context, *context.rdma) + "; " + seen;
  return {Level::kNote, seen + " (one request at a time)", {}};
}

}  // namespace

void add_transfer_checks(Checks& checks) {
  checks.insert(checks.end(), {{"RDMA read", "test object", check_rdma_read},
                               {"RDMA sizes and MTU", "RDMA read", check_sizes},
                               {"RDMA write", "RDMA read", check_rdma_write},
                               {"speed", "test object", check_speed}});
}

}  // namespace s3rdmafs::daemon::doctor
