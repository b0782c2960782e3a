// SPDX-License-Identifier: Apache-2.0
// The path to the server in steps, so that the first step that fails names the fault. Requests use
// the same HTTP engine as a mount.
#include <cstring>
#include <future>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/probes/tcp.h"
#include "daemon/mount/host_port.h"
#include "s3/http/http_engine.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

// Looks at every endpoint and makes one finding, with each endpoint named where there are several.
// A mount works as long as one endpoint does, so only a failure of all is a failure.
template <Finding (*look)(Context& context, const std::string& url)>
Finding at_each_endpoint(Context& context) {
  const std::vector<std::string> urls = context.config().endpoint.all_urls();
  if (urls.size() == 1) return look(context, urls.front());
  Finding all;
  std::size_t failed = 0;
  for (const std::string& url : urls) {
    const Finding one = look(context, url);
    all.seen += fmt::format("{}{}: {}", all.seen.empty() ? "" : "; ", url, one.seen);
    if (one.level != Level::kFail) continue;
    ++failed;
    all.advice = one.advice;
  }
  if (failed > 0) all.level = failed == urls.size() ? Level::kFail : Level::kDegraded;
  return all;
}

/// Where connections go: to the server, or to the proxy that the mount file names. One of the
/// environment is libcurl's to find.
HostPort first_hop(const Context& context, const std::string& url) {
  const std::string& proxy = context.config().endpoint.connection.proxy;
  return host_port_of(proxy == "auto" || proxy == "none" ? url : proxy);
}

Finding look_up_name(Context& context, const std::string& url) {
  const HostPort endpoint = first_hop(context, url);
  int error = 0;
  const AddressList list = look_up(endpoint, error);
  if (error != 0) {
    return {Level::kFail,
            fmt::format("the name {} is unknown: {}", endpoint.host, ::gai_strerror(error)),
            "check endpoint.url and /etc/resolv.conf"};
  }
  std::string addresses;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    addresses += (addresses.empty() ? "" : ", ") + text_of(*at);
  }
  return {Level::kPass, fmt::format("{} is {}", endpoint.host, addresses), {}};
}

Finding connect_to(Context& context, const std::string& url) {
  const HostPort endpoint = first_hop(context, url);
  int error = 0;
  const AddressList list = look_up(endpoint, error);
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    error = try_connect(*at, {}, kQuestionTimeout);
    if (error == 0) {
      return {Level::kPass,
              fmt::format("{} port {} accepts connections", text_of(*at), endpoint.port),
              {}};
    }
  }
  return {Level::kFail,
          fmt::format("no connection to {} port {}: {}", endpoint.host, endpoint.port,
                      std::strerror(error)),
          "start the server; check the port of endpoint.url, and firewalls"};
}

Finding ask_by_http(Context& context, const std::string& url) {
  const config::MountConfig& config = context.config();
  s3::HttpEngine engine({.transfer = {.connect_timeout = config.http.connect_timeout,
                                      .request_timeout = kQuestionTimeout,
                                      .connection = config.endpoint.connection}},
                        context.clock);
  std::promise<s3::HttpOutcome> answer;
  auto answered = answer.get_future();
  constexpr std::size_t kAnswerBytesMax = 1024UL * 1024;  // an S3 server's answer is shorter
  engine.send({.url = url + "/",
               .headers = {},
               .text_bytes_max = kAnswerBytesMax,
               .deadline = context.clock.now() + kQuestionTimeout},
              [&answer](s3::HttpOutcome outcome) { answer.set_value(std::move(outcome)); });
  s3::HttpOutcome outcome = answered.get();
  if (!outcome) {
    const bool is_tls = outcome.error().error.code == ErrorCode::kConfig;
    return {
        Level::kFail, outcome.error().error.detail,
        is_tls ? "name the certificate's authority in endpoint.ca_file"
               : "check that an S3 server listens there, and whether it wants http:// or https://"};
  }
  context.answer = std::move(*outcome);
  return {Level::kPass,
          fmt::format("{}, answers HTTP {} to an unsigned request",
                      url.starts_with("https:") ? "the certificate is trusted" : "no TLS",
                      context.answer->status),
          {}};
}

Finding check_clock(Context& context) {
  const auto date = context.answer->headers.date;
  if (!date) return {Level::kNote, "the server's answers carry no Date", {}};
  return judge_clock(std::chrono::round<std::chrono::seconds>(context.clock.wall_now() - *date));
}

}  // namespace

// S3 refuses signatures more than 15 minutes off (RequestTimeTooSkewed).
Finding judge_clock(std::chrono::seconds ours_ahead) {
  constexpr std::chrono::seconds kRefused = std::chrono::minutes(15);
  constexpr std::chrono::seconds kNoticed = std::chrono::minutes(1);
  const auto off = std::chrono::abs(ours_ahead);
  const std::string seen =
      fmt::format("this machine's clock {} the server's by {} s",
                  ours_ahead.count() < 0 ? "lags behind" : "is ahead of", off.count());
  const std::string advice = "set both clocks (chrony, systemd-timesyncd)";
  if (off > kRefused)
    return {Level::kFail, "clock skew: " + seen + "; S3 refuses more than 15 min", advice};
  if (off > kNoticed) return {Level::kNote, "clock skew: " + seen, advice};
  return {Level::kPass, seen, {}};
}

void add_network_checks(Checks& checks) {
  checks.insert(checks.end(), {{"DNS", "mount file", at_each_endpoint<look_up_name>},
                               {"TCP", "DNS", at_each_endpoint<connect_to>},
                               {"TLS and HTTP", "TCP", at_each_endpoint<ask_by_http>},
                               {"clock", "TLS and HTTP", check_clock}});
}

}  // namespace s3rdmafs::daemon::doctor
