// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/take_sample.h"

#include "metrics/stats_socket.h"

namespace s3rdmafs::daemon {
namespace {

// A daemon answers at once; one that is stopped must not hold the keyboard for long.
constexpr std::chrono::seconds kAnswerTime{2};

Result<std::string> ask(const std::string& mount_point, const std::string& socket) {
  auto answer = metrics::ask_stats(socket, kAnswerTime);
  if (answer) return std::move(answer->text);
  return std::unexpected(metrics::not_mounted(mount_point, answer.error()));
}

}  // namespace

Result<TopSample> take_sample(const std::string& mount_point) {
  auto stats = ask(mount_point, metrics::stats_socket_path(mount_point));
  if (!stats) return std::unexpected(std::move(stats.error()));
  const auto at = std::chrono::steady_clock::now();
  auto activity = ask(mount_point, activity_socket_path(mount_point));
  if (!activity) return std::unexpected(std::move(activity.error()));
  auto counters = Counters::parse(*stats);
  if (!counters) return std::unexpected(std::move(counters.error()));
  auto report = read_activity(*activity);
  if (!report) return std::unexpected(std::move(report.error()));
  return TopSample{.at = at, .counters = *std::move(counters), .activity = *std::move(report)};
}

}  // namespace s3rdmafs::daemon
