// SPDX-License-Identifier: Apache-2.0
//
// Why measure. No vendor publishes a crossover, and it moves with the server's load, the fabric's
// sessions and the latency of the network.
// Why so simple. There are two paths and a dozen lengths that matter. A mean for each explains
// every choice.
#include "s3/endpoints/path_model.h"

namespace s3rdmafs::s3 {
namespace {

/// HTTP must take less than this part of RDMA's time: RDMA also spares the processor, which no
/// latency shows.
constexpr double kHttpMustBe = 0.9;

}  // namespace

Path PathModel::choose(std::size_t length_bytes) {
  if (length_bytes >= kAlwaysRdmaBytes) return Path::kRdma;
  const MutexLock lock(mutex_);
  const Path path = better_locked(length_bytes);
  if (++chosen_.at(size_class(length_bytes, kClasses)) % kExploreEvery != 0) return path;
  return path == Path::kRdma ? Path::kHttp : Path::kRdma;
}

Path PathModel::better(std::size_t length_bytes) const {
  if (length_bytes >= kAlwaysRdmaBytes) return Path::kRdma;
  const MutexLock lock(mutex_);
  return better_locked(length_bytes);
}

Path PathModel::better_locked(std::size_t length_bytes) const {
  const auto rdma = by_rdma_.mean(length_bytes);
  const auto http = by_http_.mean(length_bytes);
  if (!rdma || !http) return length_bytes >= kGuessBytes ? Path::kRdma : Path::kHttp;
  return *http < *rdma * kHttpMustBe ? Path::kHttp : Path::kRdma;
}

void PathModel::on_done(std::size_t length_bytes, Path path, std::chrono::nanoseconds took) {
  if (length_bytes >= kAlwaysRdmaBytes) return;
  const MutexLock lock(mutex_);
  (path == Path::kRdma ? by_rdma_ : by_http_).add(length_bytes, took);
}

}  // namespace s3rdmafs::s3
