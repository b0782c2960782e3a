// SPDX-License-Identifier: Apache-2.0
// Why extremes and not means. A GET that waited after others shows how busy the mount was, not what
// the network can do; with means a long queue would ask for a longer one. The shortest time and the
// best rate belong to transfers that did not hinder each other, as in congestion control by
// bottleneck bandwidth and round trip (BBR).
#include "cache/readahead/transfer_model.h"

#include <algorithm>
#include <bit>

namespace s3rdmafs::cache {
namespace {

std::uint64_t part_of(double bytes) {
  const double bounded = std::clamp(bytes, static_cast<double>(TransferModel::kPartBytesMin),
                                    static_cast<double>(TransferModel::kPartBytesMax));
  return std::bit_floor(static_cast<std::uint64_t>(bounded));
}

}  // namespace

void TransferModel::on_done(std::uint64_t bytes, std::chrono::nanoseconds took, Time now) {
  using Seconds = std::chrono::duration<double>;
  took = std::max(took, std::chrono::nanoseconds{1});  // a coarse clock
  const MutexLock lock(mutex_);
  if (!began_ || now - *began_ >= kMemory) {
    before_ = now_;
    now_ = {};
    began_ = now;
  }
  now_.latency = std::min(now_.latency, took);
  now_.bytes_per_second =
      std::max(now_.bytes_per_second, static_cast<double>(bytes) / Seconds(took).count());

  const double latency_s = Seconds(std::min(now_.latency, before_.latency)).count();
  const double rate = std::max(now_.bytes_per_second, before_.bytes_per_second);
  const double part_s = std::max(Seconds(kPartTime).count(), kPartRoundTrips * latency_s);
  const std::uint64_t part = part_of(rate * part_s);
  first_bytes_ = part_of(rate * latency_s);
  part_bytes_ = part;
  window_bytes_ = std::max(2 * part, static_cast<std::uint64_t>(rate * latency_s * kJitter));
}

Pace TransferModel::pace() const {
  return {.first_bytes = first_bytes_, .part_bytes = part_bytes_, .window_bytes = window_bytes_};
}

}  // namespace s3rdmafs::cache
