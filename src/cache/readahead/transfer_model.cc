// SPDX-License-Identifier: Apache-2.0
// Why extremes and not means. A GET that waited after others shows how busy the mount was, not what
// the network can do; with means a long queue would ask for a longer one. The shortest time and the
// best rate belong to transfers that did not hinder each other, as in congestion control by
// bottleneck bandwidth and round trip (BBR).
//
// Far servers. Of a GET that takes 50 ms the network may need one: its bytes in its time are not
// what the network can do. So there the time of an answer without bytes does not count. A mistake
// then costs a stream no more time of the network than the wait that it saves, times the jitter;
// before the first GET the rate is a guess, and a slow network pays more for the first mistake.
// Near servers have no such time that can be told from chance. GETs alone do not show that a server
// is far: they take as long where the network is slow, and there a longer window helps no reader.
#include "cache/readahead/transfer_model.h"

#include <algorithm>
#include <bit>

namespace s3rdmafs::cache {
namespace {

using Seconds = std::chrono::duration<double>;

std::uint64_t part_of(double bytes) {
  const double bounded = std::clamp(bytes, static_cast<double>(TransferModel::kPartBytesMin),
                                    static_cast<double>(TransferModel::kPartBytesMax));
  return std::bit_floor(static_cast<std::uint64_t>(bounded));
}

}  // namespace

void TransferModel::on_answer(std::chrono::nanoseconds took, Time now) {
  const MutexLock lock(mutex_);
  if (!answers_.began || now - *answers_.began >= kAnswerMemory) {
    answers_ = {.before = answers_.now, .began = now};
  }
  answers_.now = std::min(answers_.now, took);
  if (began_) return;
  if (far_answer()) return set_pace();
  store({});  // the answers before were slow for another reason
}

std::optional<std::chrono::nanoseconds> TransferModel::far_answer() const {
  const std::chrono::nanoseconds shortest = std::min(answers_.now, answers_.before);
  const bool is_known = shortest != std::chrono::nanoseconds::max();
  return is_known && shortest >= kFarFrom ? std::optional(shortest) : std::nullopt;
}

void TransferModel::on_done(std::uint64_t bytes, std::chrono::nanoseconds took, Time now) {
  took = std::max(took, std::chrono::nanoseconds{1});  // a coarse clock
  const auto rate_in = [bytes](std::chrono::nanoseconds time) {
    return static_cast<double>(bytes) / Seconds(time).count();
  };
  const MutexLock lock(mutex_);
  if (!began_ || now - *began_ >= kMemory) {
    before_ = now_;
    now_ = {};
    began_ = now;
  }
  now_.latency = std::min(now_.latency, took);
  now_.bytes_per_second = std::max(now_.bytes_per_second, rate_in(took));
  if (const auto answer = far_answer()) {
    const auto moving = std::max<std::chrono::nanoseconds>(took - *answer, kRequestTime);
    now_.network_bytes_per_second = std::max(now_.network_bytes_per_second, rate_in(moving));
  }
  set_pace();
}

void TransferModel::set_pace() {
  const auto answer = far_answer();
  const double latency_s =
      Seconds(answer.value_or(std::min(now_.latency, before_.latency))).count();
  const double network = std::max(now_.network_bytes_per_second, before_.network_bytes_per_second);
  const double rate = !answer       ? std::max(now_.bytes_per_second, before_.bytes_per_second)
                      : network > 0 ? network
                                    : kGuessedBytesPerSecond;
  const double part_s = std::max(Seconds(kPartTime).count(), kPartRoundTrips * latency_s);
  const std::uint64_t part = part_of(rate * part_s);
  const double useful_bytes = answer ? kUsefulBytesPerSecond * latency_s : 0;
  store({.first_bytes = part_of(rate * latency_s),
         .part_bytes = part,
         .window_bytes = std::max(2 * part, static_cast<std::uint64_t>(rate * latency_s * kJitter)),
         .useful_bytes = std::max(kUsefulBytesMin, static_cast<std::uint64_t>(useful_bytes)),
         .is_far = answer.has_value()});
}

void TransferModel::store(const Pace& pace) {
  first_bytes_ = pace.first_bytes;
  part_bytes_ = pace.part_bytes;
  window_bytes_ = pace.window_bytes;
  useful_bytes_ = pace.useful_bytes;
  is_far_ = pace.is_far;
}

Pace TransferModel::pace() const {
  return {.first_bytes = first_bytes_,
          .part_bytes = part_bytes_,
          .window_bytes = window_bytes_,
          .useful_bytes = useful_bytes_,
          .is_far = is_far_};
}

}  // namespace s3rdmafs::cache
