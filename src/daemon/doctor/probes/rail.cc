// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/probes/rail.h"

#include <utility>

#include "daemon/doctor/context.h"
#include "daemon/doctor/probes/transfers.h"
#include "daemon/mount/await.h"
#include "daemon/mount/choose_fabric.h"
#include "daemon/mount/host_port.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

Rail make_rail(std::string name, const config::MountConfig& config) {
  return {.name = std::move(name),
          .config = config,
          .source_address = {},
          .fault = {},
          .fabric = {},
          .memory = {},
          .store = {}};
}

Result<std::vector<Rail>> rails_of_dc(const config::MountConfig& config) {
  const auto names = dc_rail_names(config);
  if (!names) return std::unexpected(names.error());
  std::vector<Rail> rails;
  for (const std::string& name : *names) {
    Rail rail = make_rail(name, config);
    rail.config.rdma.rails = name;
    rails.push_back(std::move(rail));
  }
  return rails;
}

std::vector<Rail> rails_of_rc(const Context& context, const config::MountConfig& config) {
  std::vector<Rail> rails;
  const auto devices = context.machine->rdma_devices();
  for (const std::string& url : config.endpoint.all_urls()) {
    const HostPort endpoint = host_port_of(url);
    std::string name = url;
    const auto source = rdma::verbs::source_address_towards(endpoint.host, endpoint.port);
    if (devices && source) {
      const auto port = rdma::verbs::choose_port(*devices, port_wish(config.rdma), *source);
      if (port) name = fmt::format("{}:{} to {}", port->device, port->port, url);
    }
    Rail rail = make_rail(std::move(name), config);
    rail.config.rdma.fabric = config::FabricChoice::kRc;
    rail.config.endpoint.url = url;
    rail.config.endpoint.urls.clear();
    if (source) rail.source_address = *source;
    rails.push_back(std::move(rail));
  }
  return rails;
}

Result<void> try_to_open(Context& context, Rail& rail) {
  auto fabric = context.machine->open_fabric(rail.config, context.clock, context.metrics);
  if (!fabric) return std::unexpected(std::move(fabric.error()));
  rail.fabric = std::move(*fabric);
  auto memory = TestMemory::create(*rail.fabric, context.test_bytes);
  if (!memory) return std::unexpected(std::move(memory.error()));
  rail.memory = std::move(*memory);
  auto token = await<Result<rdma::Token>>([&](auto done) {
    const rdma::Window window = rail.memory->landing(1);
    window.region->token(window.offset, window.length, context.clock.now() + kQuestionTimeout,
                         std::move(done));
  });
  if (!token) return std::unexpected(std::move(token.error()));
  if (!token->source_address().empty()) rail.source_address = token->source_address();
  token->end(rdma::TokenFate::kAnswered);  // an answered token returns its session to the pool
  rail.store = make_store(context, config::RdmaMode::kRequire, rail.config.endpoint);
  return {};
}

}  // namespace

void Rail::shut_down() {
  if (store) store->shut_down();
  if (fabric) fabric->shut_down();
}

Result<std::vector<Rail>> list_rails(Context& context) {
  config::MountConfig config = context.config();
  config.rdma.mode = config::RdmaMode::kPrefer;  // a rail that is down is to be described
  const std::string_view fabric = context.fabric->name();
  if (fabric == "dc") return rails_of_dc(config);
  if (fabric == "rc") return rails_of_rc(context, config);
  return std::vector<Rail>();
}

std::vector<RdmaPath> rdma_paths(Context& context) {
  std::vector<RdmaPath> paths;
  for (Rail& rail : context.rails) {
    if (!rail.fault.empty()) continue;
    paths.push_back({.name = rail.name,
                     .source_address = rail.source_address,
                     .path = {.store = *rail.store, .memory = *rail.memory}});
  }
  if (context.rails.empty() && context.rdma_works) {
    paths.push_back({.name = std::string(context.fabric->name()),
                     .source_address = {},
                     .path = {.store = *context.rdma, .memory = *context.memory}});
  }
  return paths;
}

void open_rail(Context& context, Rail& rail) {
  if (auto opened = try_to_open(context, rail); !opened) rail.fault = opened.error().detail;
}

}  // namespace s3rdmafs::daemon::doctor
