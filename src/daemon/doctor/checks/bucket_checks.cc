// SPDX-License-Identifier: Apache-2.0
// One signed listing tests credentials and bucket alike; two checks tell which of them is at fault.
#include <fmt/format.h>

#include "config/credentials/credentials.h"
#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/probes/transfers.h"
#include "daemon/mount/await.h"
#include "daemon/mount/choose_fabric.h"
#include "daemon/mount/host_port.h"
#include "daemon/mount/store_options.h"
#include "s3/check_bucket.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

// Lists by HTTP at one endpoint.
Result<void> list(Context& context, const std::string& url) {
  config::MountConfig::Endpoint only = context.config().endpoint;
  only.url = url;
  only.urls.clear();
  const auto store = make_store(context, config::RdmaMode::kOff, only);
  return await<Result<void>>([&](auto done) {
    s3::check_bucket(*store, context.config().bucket.prefix, context.clock.now() + kQuestionTimeout,
                     std::move(done));
  });
}

// The worst answer of the endpoints that answer at all: they must all serve the same bucket and
// accept the same keys.
Result<void> list_everywhere(Context& context) {
  Result<void> answer = fail(ErrorCode::kUnreachable, "");
  for (const std::string& url : context.config().endpoint.all_urls()) {
    Result<void> listed = list(context, url);
    const bool is_reached = listed || listed.error().code != ErrorCode::kUnreachable;
    if (!listed && is_reached) return listed;
    if (!answer) answer = std::move(listed);  // one that works makes up for those not reached
  }
  return answer;
}

Finding check_credentials(Context& context) {
  const auto found = config::choose_credentials(context.config(), context.environment);
  if (!found) return {Level::kFail, found.error().detail, "see s3rdmafs.toml(5), CREDENTIALS"};
  auto opened = open_keys(*found, context.config(), context.clock, context.metrics);
  if (!opened) return {Level::kFail, opened.error().detail, "see s3rdmafs.toml(5), CREDENTIALS"};
  context.credentials = std::move(*opened);
  context.http = make_store(context, config::RdmaMode::kOff, context.config().endpoint);
  const Result<void> listed = list_everywhere(context);
  if (!listed) context.listing_error = listed.error();
  if (!listed && listed.error().code == ErrorCode::kAccessDenied) {
    return {Level::kFail, listed.error().detail,
            "check the keys (from " + found->origin + ") and their permissions"};
  }
  const bool is_anonymous = context.config().credentials.anonymous;
  return {Level::kPass, is_anonymous ? "none: requests are unsigned" : "from " + found->origin, {}};
}

Finding check_bucket_listing(Context& context) {
  const auto& bucket = context.config().bucket;
  if (context.listing_error) {
    return {Level::kFail, context.listing_error->detail, "check bucket.name and endpoint.url"};
  }
  return {Level::kPass, fmt::format("{} can be listed below '{}'", bucket.name, bucket.prefix), {}};
}

// The ports that the fabric uses, or the reason why it has none; empty where it needs no NIC.
std::string describe_ports(const Context& context, std::string_view fabric) {
  const config::MountConfig& config = context.config();
  if (fabric == "dc") {
    const auto names = dc_rail_names(config);
    return names ? fmt::format("; rails {}", fmt::join(*names, ", ")) : "; " + names.error().detail;
  }
  if (fabric == "shm") return {};
  const auto devices = context.machine->rdma_devices();
  if (!devices || devices->empty()) return "; no NIC";
  const HostPort endpoint = host_port_of(config.endpoint.all_urls().front());
  const auto source = rdma::verbs::source_address_towards(endpoint.host, endpoint.port);
  if (!source) return "; " + source.error().detail;
  const auto port = rdma::verbs::choose_port(*devices, port_wish(config.rdma), *source);
  if (!port) return "; " + port.error().detail;
  return fmt::format("; of the NICs {} port {} GID {} ({})", port->device, port->port,
                     port->gid_index, port->why);
}

Finding check_fabric(Context& context) {
  config::MountConfig config = context.config();
  const bool is_required = config.rdma.mode == config::RdmaMode::kRequire;
  const bool is_off = config.rdma.mode == config::RdmaMode::kOff;
  // With "prefer" a fabric that is down is still returned, and can be described.
  if (is_required) config.rdma.mode = config::RdmaMode::kPrefer;
  auto fabric = context.machine->open_fabric(config, context.clock, context.metrics);
  if (!fabric) return {Level::kFail, fabric.error().detail, "see section rdma of the mount file"};
  context.fabric = std::move(*fabric);
  if (is_off) return {Level::kNote, "rdma.mode is \"off\": all bytes go by HTTP", {}};
  const std::vector<std::string> urls = config.endpoint.all_urls();
  const std::string ports = describe_ports(context, context.fabric->name());
  if (!context.fabric->is_up()) {
    return {is_required ? Level::kFail : Level::kDegraded,
            fmt::format("no RDMA fabric reaches {}{} (fabric {}{})", urls.front(),
                        urls.size() > 1 ? " or the other endpoints" : "", context.fabric->name(),
                        ports),
            "start the server's side of RDMA (s3rdma-target: --shm-socket auto), or set "
            "rdma.mode = \"off\""};
  }
  context.rdma = make_store(context, config::RdmaMode::kRequire, config.endpoint);
  return {Level::kPass, fmt::format("{}{}", context.fabric->name(), ports), {}};
}

}  // namespace

void add_bucket_checks(Checks& checks) {
  checks.insert(checks.end(), {{"credentials", "TLS and HTTP", check_credentials},
                               {"bucket", "credentials", check_bucket_listing},
                               {"RDMA fabric", "bucket", check_fabric}});
}

}  // namespace s3rdmafs::daemon::doctor
