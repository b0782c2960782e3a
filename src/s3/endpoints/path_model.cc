// SPDX-License-Identifier: Apache-2.0
//
// Why measure. Nobody publishes a crossover, and it moves with the server's load, the session
// handling of the fabric and the length of the pipe. Why so simple. There are two ways and a dozen
// lengths that matter; a mean for each is all there is to know, and it can be explained.
#include "s3/endpoints/path_model.h"

#include <algorithm>
#include <bit>

namespace s3rdmafs::s3 {
namespace {

/// Weight of a new sample once there are some: forgets what is more than some 16 transfers old, so
/// that a change of load shows within a second of a busy mount.
constexpr double kNewWeight = 1.0 / 16;

/// HTTP must be faster by more than this: RDMA also spares the processor,
/// which no latency shows.
constexpr double kHttpMustBe = 0.9;

constexpr std::size_t kSmallestClassBytes = 4 * kKiB;

Path other(Path path) { return path == Path::kRdma ? Path::kHttp : Path::kRdma; }

}  // namespace

void PathModel::Mean::add(double value) {
  ++samples;
  const double weight = std::max(1.0 / samples, kNewWeight);
  nanoseconds += (value - nanoseconds) * weight;
}

Path PathModel::choose(std::size_t length_bytes) {
  if (length_bytes >= kAlwaysRdmaBytes) return Path::kRdma;
  const MutexLock lock(mutex_);
  const Path path = better_locked(length_bytes);
  SizeClass& size_class = classes_.at(class_of(length_bytes));
  return ++size_class.chosen % kExploreEvery == 0 ? other(path) : path;
}

Path PathModel::better(std::size_t length_bytes) const {
  if (length_bytes >= kAlwaysRdmaBytes) return Path::kRdma;
  const MutexLock lock(mutex_);
  return better_locked(length_bytes);
}

Path PathModel::better_locked(std::size_t length_bytes) const {
  const SizeClass& size_class = classes_.at(class_of(length_bytes));
  if (size_class.rdma.samples < kSamplesMin || size_class.http.samples < kSamplesMin) {
    return length_bytes >= kGuessBytes ? Path::kRdma : Path::kHttp;
  }
  const bool is_http_better =
      size_class.http.nanoseconds < size_class.rdma.nanoseconds * kHttpMustBe;
  return is_http_better ? Path::kHttp : Path::kRdma;
}

void PathModel::on_done(std::size_t length_bytes, Path path, std::chrono::nanoseconds took) {
  if (length_bytes >= kAlwaysRdmaBytes) return;
  const MutexLock lock(mutex_);
  SizeClass& size_class = classes_.at(class_of(length_bytes));
  Mean& mean = path == Path::kRdma ? size_class.rdma : size_class.http;
  mean.add(static_cast<double>(took.count()));
}

std::size_t PathModel::class_of(std::size_t length_bytes) {
  const std::size_t steps = (std::max<std::size_t>(length_bytes, 1) - 1) / kSmallestClassBytes;
  return std::min<std::size_t>(std::bit_width(steps), kClasses - 1);
}

}  // namespace s3rdmafs::s3
