// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/probes/target_faults.h"

#include <span>

#include "daemon/doctor/context.h"
#include "daemon/mount/await.h"
#include "daemon/mount/host_port.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

constexpr std::size_t kAnswerBytesMax = 1024UL * 1024;

net::ConnectionOptions without_proxy(net::ConnectionOptions connection) {
  connection.proxy = "none";
  return connection;
}

}  // namespace

TargetFaults::TargetFaults(const Clock& clock, const config::MountConfig::Endpoint& endpoint)
    : clock_(clock),
      url_(endpoint.all_urls().front()),
      engine_({.transfer = {.connect_timeout = kQuestionTimeout,
                            .request_timeout = kQuestionTimeout,
                            .connection = without_proxy(endpoint.connection)}},
              clock) {}

bool TargetFaults::can_be_set() {
  if (!is_this_host(host_port_of(url_).host)) return false;
  const s3::HttpOutcome metrics = ask(s3::HttpMethod::kGet, "/.s3rdma-target/metrics", {});
  if (!metrics || metrics->status != 200) return false;
  return set("").has_value();
}

Result<void> TargetFaults::set(const std::string& lines) {
  const s3::HttpOutcome answer = ask(s3::HttpMethod::kPost, "/.s3rdma-target/faults", lines);
  if (!answer) return std::unexpected(answer.error().error);
  if (answer->status == 204) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("the server answered HTTP {} to a change of its faults", answer->status));
}

s3::HttpOutcome TargetFaults::ask(s3::HttpMethod method, const std::string& path,
                                  const std::string& body) {
  return await<s3::HttpOutcome>([&](auto done) {
    engine_.send({.method = method,
                  .url = url_ + path,
                  .headers = {},
                  .body = std::as_bytes(std::span(body)),
                  .text_bytes_max = kAnswerBytesMax,
                  .deadline = clock_.now() + kQuestionTimeout},
                 std::move(done));
  });
}

}  // namespace s3rdmafs::daemon::doctor
