// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/choose_fabric.h"

#include <charconv>
#include <ranges>
#include <string>
#include <string_view>

#include "daemon/mount/host_port.h"
#include "rdma/endpoint_fabrics.h"
#include "rdma/mlx5/dc_fabric.h"
#include "rdma/mlx5/find_rails.h"
#include "rdma/null_fabric.h"
#include "rdma/shm/shm_fabric.h"
#include "rdma/verbs/rc_fabric.h"
#include "rdma/verbs/route.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/rdma/shm_wire.h"

namespace s3rdmafs::daemon {
namespace {

// A mount should not wait for a resolver that is down; the first HTTP request reports it anyway.
constexpr std::chrono::milliseconds kLookUpTimeout{3000};

std::string list_of(const std::vector<std::string>& urls) {
  std::string list;
  for (const std::string& url : urls) list += (list.empty() ? "" : ", ") + url;
  return list;
}

std::optional<unsigned> gid_index_of(const config::MountConfig::Rdma& config) {
  unsigned index = 0;
  const std::string& text = config.gid_index;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc()) return std::nullopt;  // "auto" or "none"; config/ has checked it
  return index;
}

rdma::verbs::PacketMarks marks_of(const config::MountConfig::Rdma& config) {
  // config/ has checked their bounds.
  return {.traffic_class = static_cast<std::uint8_t>(config.traffic_class),
          .service_level = static_cast<std::uint8_t>(config.service_level)};
}

rdma::mlx5::DcTokenForm token_form_of(const config::MountConfig::Rdma& config) {
  switch (config.token_form) {
    case config::DcTokenForm::k115:
      return rdma::mlx5::DcTokenForm::k115;
    case config::DcTokenForm::kBase64:
      return rdma::mlx5::DcTokenForm::kBase64;
    case config::DcTokenForm::k81:
      break;
  }
  return rdma::mlx5::DcTokenForm::k81;
}

/// The addresses of all endpoints; empty where the lookup fails, so that any port may be a rail.
std::vector<rdma::verbs::Gid> addresses_of(const config::MountConfig::Endpoint& config) {
  std::vector<std::string> hosts;
  for (const std::string& url : config.all_urls()) hosts.push_back(host_port_of(url).host);
  auto addresses = rdma::verbs::addresses_of_hosts(hosts, kLookUpTimeout);
  if (addresses) return *std::move(addresses);
  log::info("dc: {}; every active port may be a rail", addresses.error().detail);
  return {};
}

rdma::mlx5::RailWish rail_wish(const config::MountConfig& config) {
  rdma::mlx5::RailWish wish{.ports = config.rdma.rails,
                            .gid_index = gid_index_of(config.rdma),
                            .lid_alone_on_infiniband = config.rdma.gid_index == "none"};
  if (wish.ports == "auto") wish.endpoints = addresses_of(config.endpoint);
  return wish;
}

Result<std::unique_ptr<rdma::Fabric>> make_dc_fabric(const config::MountConfig& mount,
                                                     const Clock& clock,
                                                     metrics::Registry& metrics) {
  const config::MountConfig::Rdma& config = mount.rdma;
  const auto routes = rdma::verbs::make_kernel_route_query();
  auto rails = rdma::mlx5::find_rails(rail_wish(mount), *routes);
  if (!rails) return fail_with_context("rdma.fabric is \"dc\"", std::move(rails.error()));
  for (rdma::mlx5::RailPort& rail : *rails) rail.marks = marks_of(config);
  return rdma::mlx5::make_dc_fabric({.rails = std::move(*rails),
                                     .dc_key = config.dc_key,
                                     .token_form = token_form_of(config),
                                     .bind_source = config.bind_source},
                                    clock, metrics);
}

std::unique_ptr<rdma::Fabric> make_shm_fabric(const config::MountConfig& config,
                                              const HostPort& endpoint) {
  return rdma::shm::make_shm_fabric(config.rdma.shm_socket == "auto"
                                        ? rdma::shm::default_socket_name(endpoint.port)
                                        : config.rdma.shm_socket);
}

/// The fabric of one endpoint, which sessions and registrations belong to.
Result<std::unique_ptr<rdma::Fabric>> make_session_fabric(const config::MountConfig& config,
                                                          const std::string& url,
                                                          const Clock& clock,
                                                          metrics::Registry& metrics) {
  const HostPort endpoint = host_port_of(url);
  const auto make_rc = [&] {
    return rdma::verbs::make_rc_fabric({.port = port_wish(config.rdma),
                                        .endpoint_url = url,
                                        .endpoint_host = endpoint.host,
                                        .endpoint_port = endpoint.port,
                                        .connection = config.endpoint.connection,
                                        .sessions_max = config.rdma.sessions_max},
                                       clock, metrics);
  };
  if (config.rdma.fabric == config::FabricChoice::kShm) return make_shm_fabric(config, endpoint);
  if (config.rdma.fabric == config::FabricChoice::kRc) {
    auto fabric = make_rc();
    if (!fabric) return fail_with_context("rdma.fabric is \"rc\"", std::move(fabric.error()));
    return fabric;
  }
  if (is_this_host(endpoint.host) || config.rdma.shm_socket != "auto") {
    return make_shm_fabric(config, endpoint);
  }
  auto fabric = make_rc();
  if (fabric) return fabric;
  log::info("rdma: no fabric reaches {}: {}; transfers go by HTTP", endpoint.host,
            fabric.error().detail);
  return rdma::make_null_fabric();
}

Result<std::unique_ptr<rdma::Fabric>> make_fabric(const config::MountConfig& config,
                                                  const Clock& clock, metrics::Registry& metrics) {
  if (config.rdma.mode == config::RdmaMode::kOff) return rdma::make_null_fabric();
  // One DC fabric serves every endpoint: any server with the DC key accepts its tokens.
  if (config.rdma.fabric == config::FabricChoice::kDc) {
    return make_dc_fabric(config, clock, metrics);
  }
  std::vector<std::unique_ptr<rdma::Fabric>> fabrics;
  for (const std::string& url : config.endpoint.all_urls()) {
    auto fabric = make_session_fabric(config, url, clock, metrics);
    if (!fabric) return fabric;
    fabrics.push_back(*std::move(fabric));
  }
  if (fabrics.size() == 1) return std::move(fabrics.front());
  return rdma::make_endpoint_fabrics(std::move(fabrics));
}

}  // namespace

// Names from the mount file stay as they are: an address selects a GID, a device name does not.
Result<std::vector<std::string>> dc_rail_names(const config::MountConfig& config) {
  std::vector<std::string> names;
  if (config.rdma.rails != "auto") {
    for (const auto part : std::views::split(std::string_view(config.rdma.rails), ',')) {
      names.emplace_back(std::string_view(part));
    }
    return names;
  }
  const auto routes = rdma::verbs::make_kernel_route_query();
  auto rails = rdma::mlx5::find_rails(rail_wish(config), *routes);
  if (!rails) return std::unexpected(std::move(rails.error()));
  for (const rdma::mlx5::RailPort& rail : *rails) names.push_back(rail.name());
  return names;
}

rdma::verbs::PortWish port_wish(const config::MountConfig::Rdma& config) {
  rdma::verbs::PortWish wish = rdma::verbs::parse_rail(config.rails, gid_index_of(config));
  wish.marks = marks_of(config);
  return wish;
}

Result<std::unique_ptr<rdma::Fabric>> choose_fabric(const config::MountConfig& config,
                                                    const Clock& clock,
                                                    metrics::Registry& metrics) {
  auto fabric = make_fabric(config, clock, metrics);
  if (!fabric) return fabric;
  if (config.rdma.mode == config::RdmaMode::kRequire && !(*fabric)->is_up()) {
    return fail(ErrorCode::kUnsupported,
                "rdma.mode is \"require\", but no RDMA fabric reaches " +
                    list_of(config.endpoint.all_urls()) +
                    ": start the server's side of it, or set rdma.mode = \"prefer\"");
  }
  return fabric;
}

}  // namespace s3rdmafs::daemon
