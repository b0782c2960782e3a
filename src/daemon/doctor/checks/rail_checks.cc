// SPDX-License-Identifier: Apache-2.0
// Each rail by itself: together they hide the failure of one, and reads only become slow.
#include <algorithm>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/probes/rail.h"
#include "daemon/doctor/probes/tcp.h"
#include "daemon/mount/host_port.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

// A network without a route to the server answers at once or never.
constexpr std::chrono::milliseconds kConnectTimeout{2000};
// Enough for one rail; later checks read more through the whole fabric.
constexpr std::size_t kReadBytesMax = 1024UL * 1024;

// The reason why this rail's address does not reach an endpoint that others reach; empty: it does.
std::string find_unreached(const Rail& rail) {
  if (rail.source_address.empty()) return {};
  for (const std::string& url : rail.config.endpoint.all_urls()) {
    const HostPort endpoint = host_port_of(url);
    const auto reached = connect_from(rail.source_address, endpoint, kConnectTimeout);
    if (!reached && connect_from({}, endpoint, kConnectTimeout)) return reached.error().detail;
  }
  return {};
}

toml::table evidence_of(const Rail& rail) {
  return toml::table{{"name", rail.name},
                     {"source_address", rail.source_address},
                     {"works", rail.fault.empty()},
                     {"fault", rail.fault}};
}

Finding test_rail(Context& context, Rail& rail) {
  open_rail(context, rail);
  if (rail.fault.empty()) rail.fault = find_unreached(rail);
  if (!rail.fault.empty()) {
    return {Level::kDegraded,
            {},
            "leave it out of rdma.rails, or give its network a route to the server (ip route get "
            "SERVER from ADDRESS)"};
  }
  const std::size_t length = std::min(context.memory->expected().size(), kReadBytesMax);
  Finding read = read_and_compare(context, {.store = *rail.store, .memory = *rail.memory}, length,
                                  Level::kDegraded);
  if (read.level != Level::kPass) rail.fault = read.seen;
  return read;
}

// The rails that fail come first. Wrong bytes are a failure, whichever rail they come by.
Finding sum_up_rails(const Context& context, const Finding& worst) {
  std::string good;
  std::string bad;
  toml::array rails;
  for (const Rail& rail : context.rails) {
    if (rail.fault.empty()) {
      good += (good.empty() ? "" : ", ") + rail.name;
    } else {
      bad += fmt::format("{}rail {}: {}", bad.empty() ? "" : "; ", rail.name, rail.fault);
    }
    rails.push_back(evidence_of(rail));
  }
  const bool has_wrong_bytes = worst.level == Level::kFail;
  Finding finding;
  finding.evidence.insert("rails", std::move(rails));
  if (bad.empty()) {
    finding.seen = "each by itself: " + good;
    return finding;
  }
  finding.level = has_wrong_bytes ? Level::kFail : if_rdma_fails(context);
  finding.seen = bad + (good.empty() ? "" : "; good: " + good);
  finding.advice = worst.advice;
  return finding;
}

Finding check_rails(Context& context) {
  if (!context.object) {
    return {Level::kSkipped, "because there is no test object", {}};
  }
  auto rails = list_rails(context);
  if (!rails) return {if_rdma_fails(context), rails.error().detail, "see rdma.rails"};
  if (rails->empty()) {
    return {Level::kPass, fmt::format("the fabric {} has no rails", context.fabric->name()), {}};
  }
  context.rails = std::move(*rails);
  Finding worst;
  for (Rail& rail : context.rails) {
    const Finding one = test_rail(context, rail);
    if (one.level != Level::kPass && worst.level == Level::kPass) worst = one;
  }
  return sum_up_rails(context, worst);
}

}  // namespace

void add_rail_checks(Checks& checks) {
  checks.push_back({"RDMA rails", "test object", check_rails});
}

}  // namespace s3rdmafs::daemon::doctor
