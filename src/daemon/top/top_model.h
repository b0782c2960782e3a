// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "daemon/top/activity_report.h"
#include "daemon/top/counters.h"
#include "daemon/top/graph.h"

namespace s3rdmafs::daemon {

/// The numbers of a mount's daemon at one time.
struct TopSample {
  std::chrono::steady_clock::time_point at;
  Counters counters;
  ActivityReport activity;
};

/// The changes between two samples, and the state now. All rates are by the second.
struct TopModel {
  struct File {
    std::string path = {}, process = {}, way = {};
    double read = 0, written = 0;  ///< bytes a second
    std::uint64_t bytes = 0;       ///< since it was opened
  };
  struct Process {
    std::string name = {};
    pid_t id = 0;
    double read = 0, written = 0, opens = 0;
  };
  struct Endpoint {
    std::string url = {};
    bool is_alive = true;
    double outstanding_bytes = 0, requests = 0, failures_total = 0;
  };

  ActivityReport mount;   ///< bucket, endpoint and age; its lists are in `files` and `processes`
  Throughput kernel;      ///< between programs and the daemon
  double past_fuse = 0;   ///< bytes of the parts that programs were given, to read past FUSE
  Throughput rdma, http;  ///< between the daemon and servers
  double hits = 0, waits = 0;
  std::map<std::string, double> requests;         ///< by operation
  std::map<std::string, double> failures;         ///< attempts that failed, by kind
  std::map<std::string, double> fallbacks;        ///< by reason
  std::map<std::string, double> fallbacks_total;  ///< since the mount
  std::map<std::string, double> opens;            ///< by mode
  std::map<std::string, double> declined;         ///< opens not passed through, by reason
  double evictions = 0;                           ///< of slabs of the cache
  double lookups_at_store = 0;                    ///< that no cache of the mount answered
  std::vector<Endpoint> endpoints;
  std::vector<File> files;  ///< the busiest first
  std::size_t files_open = 0;
  std::vector<Process> processes;  ///< the busiest first
  Counters now;

  /// The reads and writes of programs, in either way.
  [[nodiscard]] Throughput programs() const {
    return {.read = kernel.read + past_fuse, .written = kernel.written};
  }
};

/// Rates are those between the samples; counters that went back, as of a mount that began again,
/// count as still.
[[nodiscard]] TopModel compare(const TopSample& before, const TopSample& now);

}  // namespace s3rdmafs::daemon
