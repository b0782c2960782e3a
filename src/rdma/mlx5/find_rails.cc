// SPDX-License-Identifier: Apache-2.0
#include "rdma/mlx5/find_rails.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <infiniband/mlx5dv.h>

#include "rdma/loader/loaded_library.h"
#include "rdma/mlx5/reachable_rails.h"
#include "rdma/verbs/open_device.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

/// One port of one ConnectX, as it is now.
struct FoundPort {
  std::string device;
  std::uint8_t number = 0;
  bool is_active = false;
  bool is_infiniband = false;
  std::vector<ibv_gid_entry> gids;
};

Result<std::vector<FoundPort>> ports_of(ibv_device* device) {
  const std::string name = ibv_get_device_name(device);
  const verbs::Context context(ibv_open_device(device));
  if (!context) return fail_errno("open " + name, errno);
  ibv_device_attr attributes{};
  if (const int error = ibv_query_device(context.get(), &attributes); error != 0) {
    return fail_errno("query " + name, error);
  }
  std::vector<FoundPort> ports;
  for (unsigned number = 1; number <= attributes.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    if (ibv_query_port(context.get(), static_cast<std::uint8_t>(number), &port) != 0) continue;
    FoundPort found{.device = name,
                    .number = static_cast<std::uint8_t>(number),
                    .is_active = port.state == IBV_PORT_ACTIVE,
                    .is_infiniband = port.link_layer == IBV_LINK_LAYER_INFINIBAND,
                    .gids = {}};
    for (int index = 0; index < port.gid_tbl_len; ++index) {
      // Empty entries of the table answer with an error, or with zeros.
      ibv_gid_entry entry{};
      const auto at = static_cast<std::uint32_t>(index);
      if (ibv_query_gid_ex(context.get(), number, at, &entry, 0) != 0) continue;
      if (std::ranges::any_of(entry.gid.raw, [](auto byte) { return byte != 0; })) {
        found.gids.push_back(entry);
      }
    }
    ports.push_back(std::move(found));
  }
  return ports;
}

/// A device that this process cannot use: in a container the kernel lists the whole machine's
/// devices, and only some can be opened.
struct UnusableDevice {
  std::string name;
  std::string cause;
};

struct Found {
  std::vector<FoundPort> ports;
  std::vector<UnusableDevice> unusable;
};

Result<Found> connectx_ports() {
  Result<verbs::DeviceList> list = verbs::device_list();
  if (!list) return std::unexpected(std::move(list.error()));
  Found found;
  for (ibv_device** device = list->get(); *device != nullptr; ++device) {
    errno = 0;
    if (!mlx5dv_is_supported(*device)) {
      if (errno == ELIBACC) return fail(ErrorCode::kUnsupported, loader::mlx5_library().fault());
      continue;
    }
    Result<std::vector<FoundPort>> ports = ports_of(*device);
    if (ports) {
      std::ranges::move(*ports, std::back_inserter(found.ports));
    } else {
      found.unusable.push_back(
          {.name = ibv_get_device_name(*device), .cause = std::move(ports.error().detail)});
    }
  }
  return found;
}

/// The end of an error text: " (not usable: CAUSE; CAUSE)"; empty where every device is usable.
std::string causes(const std::vector<UnusableDevice>& devices) {
  std::string text;
  for (const UnusableDevice& device : devices) text += (text.empty() ? "" : "; ") + device.cause;
  return text.empty() ? text : " (not usable: " + text + ")";
}

in6_addr ip_of(const ibv_gid_entry& gid) {
  in6_addr address{};
  std::ranges::copy(gid.gid.raw, std::begin(address.s6_addr));
  return address;
}

/// Smaller is better.
int rank(const ibv_gid_entry& gid) {
  const in6_addr address = ip_of(gid);
  int rank = 2;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    rank = 0;
  } else if (!IN6_IS_ADDR_LINKLOCAL(&address)) {
    rank = 1;
  }
  // RoCE v1 does not cross routers, and many switches are not configured for it.
  return gid.gid_type == IBV_GID_TYPE_ROCE_V2 ? rank : rank + 3;
}

/// Nothing: servers use the LID alone, or the port has no GID.
std::optional<unsigned> choose_gid(const FoundPort& port, const RailWish& wish) {
  if (wish.gid_index) return wish.gid_index;
  if (port.is_infiniband) {
    return wish.lid_alone_on_infiniband ? std::nullopt : std::optional(0U);
  }
  if (port.gids.empty()) return std::nullopt;
  return std::ranges::min_element(port.gids, {}, rank)->gid_index;
}

RailPort rail_on(const FoundPort& port, std::optional<unsigned> gid_index) {
  return {.device = port.device, .port = port.number, .gid_index = gid_index};
}

/// An IPv4 or IPv6 address as it stands in a GID.
std::optional<in6_addr> parse_address(const std::string& text) {
  in6_addr address{};
  if (inet_pton(AF_INET6, text.c_str(), &address) == 1) return address;
  if (inet_pton(AF_INET6, ("::ffff:" + text).c_str(), &address) == 1) return address;
  return std::nullopt;
}

Result<RailPort> rail_with_address(const Found& found, const std::string& text,
                                   const in6_addr& address) {
  const ibv_gid_entry* best = nullptr;
  const FoundPort* best_port = nullptr;
  for (const FoundPort& port : found.ports) {
    for (const ibv_gid_entry& gid : port.gids) {
      const in6_addr other = ip_of(gid);
      if (port.is_infiniband || !IN6_ARE_ADDR_EQUAL(&address, &other)) continue;
      if (best != nullptr && rank(*best) <= rank(gid)) continue;  // v1 and v2 come in pairs
      best = &gid;
      best_port = &port;
    }
  }
  if (best == nullptr) {
    return fail(ErrorCode::kNotFound,
                fmt::format("rdma.rails: no RoCE port of a ConnectX has the address {}{}", text,
                            causes(found.unusable)));
  }
  return rail_on(*best_port, best->gid_index);
}

Result<RailPort> find_rail(const Found& found, const std::string& text, const RailWish& wish) {
  if (const auto address = parse_address(text)) return rail_with_address(found, text, *address);
  const std::size_t colon = text.find(':');
  const std::string device = text.substr(0, colon);
  unsigned number = 1;
  if (colon != std::string::npos) {
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data() + colon + 1, end, number).ptr != end) number = 0;
  }
  const auto port = std::ranges::find_if(found.ports, [&](const FoundPort& candidate) {
    return candidate.device == device && candidate.number == number;
  });
  if (port != found.ports.end()) return rail_on(*port, choose_gid(*port, wish));
  const auto unusable = std::ranges::find(found.unusable, device, &UnusableDevice::name);
  if (unusable != found.unusable.end()) {
    return fail(ErrorCode::kSystem,
                fmt::format("rdma.rails: '{}' cannot be used: {}", text, unusable->cause));
  }
  std::string known;
  for (const FoundPort& candidate : found.ports) {
    known += fmt::format("{}{}:{}", known.empty() ? "" : ", ", candidate.device, candidate.number);
  }
  return fail(
      ErrorCode::kNotFound,
      fmt::format("rdma.rails: there is no '{}'; the ports of this machine's ConnectX are {}{}",
                  text, known.empty() ? "none" : known, causes(found.unusable)));
}

/// The port as the routing table knows it.
RailCandidate candidate_on(const FoundPort& port, const RailWish& wish) {
  RailCandidate candidate{.rail = rail_on(port, choose_gid(port, wish))};
  if (port.is_infiniband) return candidate;  // its GIDs are not addresses of a network device
  const auto gid =
      std::ranges::find(port.gids, candidate.rail.gid_index, &ibv_gid_entry::gid_index);
  if (gid == port.gids.end()) return candidate;
  candidate.network_device = gid->ndev_ifindex;
  std::ranges::copy(gid->gid.raw, candidate.address.begin());
  return candidate;
}

Result<std::vector<RailPort>> all_rails(const Found& found, const RailWish& wish,
                                        verbs::RouteQuery& routes) {
  std::vector<RailCandidate> candidates;
  for (const FoundPort& port : found.ports) {
    const bool is_usable = port.is_active && (port.is_infiniband || !port.gids.empty());
    if (is_usable) candidates.push_back(candidate_on(port, wish));
  }
  if (candidates.empty()) {
    return fail(ErrorCode::kUnsupported,
                "no port of a ConnectX is active on this machine" + causes(found.unusable));
  }
  for (const UnusableDevice& device : found.unusable) {
    log::warn("dc: {} cannot be used: {}; not using it", device.name, device.cause);
  }
  return reachable_rails(std::move(candidates), wish.endpoints, routes);
}

Result<std::vector<RailPort>> named_rails(const Found& found, const RailWish& wish) {
  std::vector<RailPort> rails;
  std::string_view text = wish.ports;
  while (true) {
    const std::size_t comma = text.find(',');
    Result<RailPort> rail = find_rail(found, std::string(text.substr(0, comma)), wish);
    if (!rail) return std::unexpected(std::move(rail.error()));
    rails.push_back(std::move(*rail));
    if (comma == std::string_view::npos) return rails;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<std::vector<RailPort>> find_rails(const RailWish& wish, verbs::RouteQuery& routes) {
  const Result<Found> found = connectx_ports();
  if (!found) return std::unexpected(found.error());
  return wish.ports == "auto" ? all_rails(*found, wish, routes) : named_rails(*found, wish);
}

}  // namespace s3rdmafs::rdma::mlx5
