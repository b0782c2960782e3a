// SPDX-License-Identifier: Apache-2.0
// Causes between the mount and its servers.
#include <algorithm>

#include "daemon/explain/causes.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

// Below this share of the bytes, transfers by HTTP do not decide how fast a mount is.
constexpr double kHttpShare = 0.05;

std::string_view advice_for(std::string_view fallback) {
  struct Row {
    std::string_view reason, advice;
  };
  static constexpr Row kRows[] = {
      {"fabric_down",
       "the RDMA device, or the server's side of it, is down: `s3rdmafs doctor FILE.toml` names "
       "it"},
      {"endpoint_declines", "the server does no RDMA at present: ask for its RDMA service"},
      {"endpoint_rejects_tokens",
       "the server refuses tokens: compare rdma.fabric with what the server speaks"},
      {"too_long", "lower cache.block_size or write.part_size to what the server takes at once"},
      {"not_known_to_read",
       "whole objects go by RDMA once one part did: nothing to do where files are large"},
      {"stored_wrong",
       "the server ignores tokens of PUT: report it with `s3rdmafs doctor --report`"},
      {"verify_failed",
       "RDMA delivered wrong bytes: run `s3rdmafs doctor --report` before all else"},
      {"transfer_failed",
       "transfers break: `s3rdmafs doctor FILE.toml --measure` tests each port"}};
  const auto* const row = std::ranges::find(kRows, fallback, &Row::reason);
  return row == std::end(kRows) ? "`s3rdmafs doctor FILE.toml` tests the way by RDMA" : row->advice;
}

std::optional<Finding> by_http(const Look& look) {
  const double http = look.rates.http.read + look.rates.http.written;
  const double all = look.from_servers() + look.to_servers();
  if (all == 0 || http < kHttpShare * all) return std::nullopt;
  Finding finding{.cause = "bytes go by HTTP instead of RDMA",
                  .evidence = fmt::format("{:.0f} % of the bytes", 100 * http / all),
                  .advice = {}};
  if (look.setting("rdma.mode") == "off") {
    finding.evidence += "; rdma.mode is off";
    finding.advice = "set rdma.mode to \"prefer\" where the server has RDMA";
    return finding;
  }
  if (look.setting("rdma.fabric") == "none") {
    finding.evidence += "; this mount has found no fabric";
    finding.advice = "`s3rdmafs doctor FILE.toml` says which device or package is missing";
    return finding;
  }
  const auto& reasons = look.rates.fallbacks_total;
  const auto most =
      std::ranges::max_element(reasons, {}, [](const auto& each) { return each.second; });
  if (most == reasons.end()) {
    finding.evidence += "; they are shorter than rdma.threshold";
    finding.advice = "small objects cost a request whatever the way: see the other causes";
    return finding;
  }
  finding.evidence += fmt::format("; {} times \"{}\"", most->second, most->first);
  finding.advice = advice_for(most->first);
  return finding;
}

std::optional<Finding> server_is_silent(const Look& look) {
  const auto dead = std::ranges::find(look.rates.endpoints, false, &TopModel::Endpoint::is_alive);
  if (dead == look.rates.endpoints.end()) return std::nullopt;
  return Finding{.cause = "a server does not answer",
                 .evidence = fmt::format("{}, after {} failures", dead->url, dead->failures_total),
                 .advice = "the others carry its share; see the log for why it failed"};
}

// One in a hundred, as each failure costs a wait besides.
std::optional<Finding> requests_fail(const Look& look) {
  double failures = 0, requests = 0;
  for (const auto& [kind, rate] : look.rates.failures) failures += rate;
  for (const auto& [operation, rate] : look.rates.requests) requests += rate;
  if (failures == 0 || failures < requests / 100) return std::nullopt;
  const auto most = std::ranges::max_element(look.rates.failures, {},
                                             [](const auto& each) { return each.second; });
  const bool is_throttled = most->first == "Throttled";
  return Finding{
      .cause = "requests fail and are sent again",
      .evidence = fmt::format("{} of {} fail, mostly {}", format_frequency(failures),
                              format_frequency(requests), most->first),
      .advice = is_throttled
                    ? "the server asks to slow down: lower http.connections_max"
                    : "the log names the requests; `s3rdmafs doctor FILE.toml` tests each"};
}

std::optional<Finding> keys_fail(const Look& look) {
  const double failures = look.now("credentials_failures_total");
  if (failures == 0) return std::nullopt;
  return Finding{.cause = "new keys cannot be had",
                 .evidence = fmt::format("{} tries failed since the mount", failures),
                 .advice = "the log names the source; requests fail when the present keys end"};
}

}  // namespace

std::vector<Cause> server_causes() {
  return {{"by_http", by_http},
          {"server_is_silent", server_is_silent},
          {"requests_fail", requests_fail},
          {"keys_fail", keys_fail}};
}

}  // namespace s3rdmafs::daemon
