// SPDX-License-Identifier: Apache-2.0
//
// Why by the route. A server answers to the address that a request came from, and separate rails
// seldom route to each other. So the port to use is the one whose address the kernel would send
// from (s3rdmafs-protocol(7)). Any other choice is a guess, made only where it cannot matter.
#include "s3rdmafs/rdma/rdma_devices.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <expected>
#include <memory>

#include <net/if.h>

#include "rdma/loader/loaded_library.h"
#include "s3rdmafs/base/enum_names.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/rdma/verbs_handles.h"

namespace s3rdmafs::rdma::verbs {
namespace {

LinkLayer link_layer_of(std::uint8_t value) {
  if (value == IBV_LINK_LAYER_INFINIBAND) return LinkLayer::kInfiniBand;
  return value == IBV_LINK_LAYER_ETHERNET ? LinkLayer::kEthernet : LinkLayer::kOther;
}

GidType gid_type_of(std::uint32_t value) {
  if (value == IBV_GID_TYPE_ROCE_V1) return GidType::kRoceV1;
  return value == IBV_GID_TYPE_ROCE_V2 ? GidType::kRoceV2 : GidType::kInfiniBand;
}

// The enumeration counts from 256 = 1 in powers of two.
unsigned mtu_bytes(ibv_mtu mtu) { return 128U << mtu; }

std::string network_device_name(std::uint32_t index) {
  char name[IF_NAMESIZE] = {};
  return index != 0 && ::if_indextoname(index, name) != nullptr ? name : "";
}

PortInfo describe_port(ibv_context* context, std::uint8_t number) {
  PortInfo info;
  info.number = number;
  ibv_port_attr port{};
  if (ibv_query_port(context, number, &port) != 0) {
    info.state = "unknown";
    return info;
  }
  info.link_layer = link_layer_of(port.link_layer);
  info.is_active = port.state == IBV_PORT_ACTIVE;
  info.state = ibv_port_state_str(port.state);
  info.active_mtu_bytes = mtu_bytes(port.active_mtu);
  info.lid = port.lid;
  for (int index = 0; index < port.gid_tbl_len; ++index) {
    ibv_gid_entry entry{};
    const auto at = static_cast<std::uint32_t>(index);
    if (ibv_query_gid_ex(context, number, at, &entry, 0) != 0) continue;
    GidEntry gid{.index = at,
                 .gid = {},
                 .type = gid_type_of(entry.gid_type),
                 .network_device = network_device_name(entry.ndev_ifindex)};
    std::ranges::copy(entry.gid.raw, gid.gid.begin());
    if (gid.gid != Gid{}) info.gids.push_back(std::move(gid));
  }
  return info;
}

DeviceInfo describe_device(ibv_device* device) {
  DeviceInfo info{
      .name = ibv_get_device_name(device), .node_guid = {}, .ports = {}, .hindrance = {}};
  const Context context(ibv_open_device(device));
  if (!context) {
    info.hindrance = fmt::format("cannot be opened: {}", std::strerror(errno));
    return info;
  }
  ibv_device_attr attributes{};
  if (const int error = ibv_query_device(context.get(), &attributes); error != 0) {
    info.hindrance = fmt::format("cannot be queried: {}", std::strerror(error));
    return info;
  }
  info.node_guid = fmt::format("{:016x}", be64toh(attributes.node_guid));
  for (unsigned port = 1; port <= attributes.phys_port_cnt; ++port) {
    info.ports.push_back(describe_port(context.get(), static_cast<std::uint8_t>(port)));
  }
  return info;
}

bool is_loopback(std::string_view address) {
  return address == "::1" || address.starts_with("127.");
}

// Larger is better.
int rank(const GidEntry& entry, const std::optional<Gid>& wanted) {
  const bool is_the_one = wanted && entry.gid == *wanted;
  const int of_type = entry.type == GidType::kRoceV1 ? 1 : 2;
  return (is_the_one ? 8 : 0) + (is_link_local(entry.gid) ? 0 : 4) + of_type;
}
constexpr int kRankOfTheOne = 8;

/// One entry of one port's GID table. Borrows all three.
struct GidPlace {
  const DeviceInfo& device;
  const PortInfo& port;
  const GidEntry& entry;
};

/// Every GID of an active port that the mount file allows.
std::vector<GidPlace> allowed_gids(const std::vector<DeviceInfo>& devices, const PortWish& wish) {
  std::vector<GidPlace> allowed;
  for (const DeviceInfo& device : devices) {
    if (!wish.device.empty() && device.name != wish.device) continue;
    for (const PortInfo& port : device.ports) {
      if (!port.is_active || (wish.port && *wish.port != port.number)) continue;
      for (const GidEntry& entry : port.gids) {
        if (wish.gid_index && *wish.gid_index != entry.index) continue;
        allowed.push_back({.device = device, .port = port, .entry = entry});
      }
    }
  }
  return allowed;
}

ChosenPort chosen_port(const GidPlace& place, bool is_the_one, PacketMarks marks) {
  const auto& [device, port, entry] = place;
  return {.device = device.name,
          .port = port.number,
          .gid_index = entry.index,
          .gid = entry.gid,
          .why = fmt::format("{} port {}, {} GID {} ({}){}", device.name, port.number,
                             gid_type_name(entry.type), entry.index, address_of_gid(entry.gid),
                             is_the_one ? ": the address requests are sent from" : ""),
          .marks = marks};
}

std::string what_was_asked(const PortWish& wish) {
  if (!wish.gid_index) return "as asked for";
  return fmt::format("has anything at entry {} of its GID table (rdma.gid_index)", *wish.gid_index);
}

std::string what_there_is(const std::vector<DeviceInfo>& devices) {
  if (devices.empty()) return "this machine has no RDMA device";
  std::string text = "there is";
  for (const DeviceInfo& device : devices) {
    if (!device.hindrance.empty()) text += fmt::format(" {} ({})", device.name, device.hindrance);
    for (const PortInfo& port : device.ports) {
      text += fmt::format(" {}:{} ({}", device.name, port.number, port.state);
      for (const GidEntry& entry : port.gids) text += ", " + address_of_gid(entry.gid);
      text += ")";
    }
  }
  return text;
}

// The address that the kernel would send from, or errno.
std::expected<std::string, int> source_of_route(const addrinfo& destination) {
  // Connecting a datagram socket asks the routing table and sends nothing.
  const UniqueFd probe(::socket(destination.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage source{};
  socklen_t length = sizeof(source);
  if (!probe || ::connect(probe.get(), destination.ai_addr, destination.ai_addrlen) != 0 ||
      ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&source), &length) != 0) {
    return std::unexpected(errno);
  }
  char text[NI_MAXHOST] = {};
  if (::getnameinfo(reinterpret_cast<sockaddr*>(&source), length, text, sizeof(text), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return std::unexpected(ENETUNREACH);
  }
  return text;
}

constexpr EnumNames<GidType::kRoceV2> kGidTypeNames({{GidType::kInfiniBand, "InfiniBand"},
                                                     {GidType::kRoceV1, "RoCE v1"},
                                                     {GidType::kRoceV2, "RoCE v2"}});

}  // namespace

Result<std::vector<DeviceInfo>> list_devices() {
  int count = 0;
  const DeviceList list(ibv_get_device_list(&count));
  if (!list) {
    // ENOSYS: the kernel has no uverbs; a machine like any other without such a card.
    if (errno == ENOSYS) return std::vector<DeviceInfo>();
    if (errno == ELIBACC) return fail(ErrorCode::kUnsupported, loader::verbs_library().fault());
    return fail_errno("list the RDMA devices", errno);
  }
  std::vector<DeviceInfo> devices;
  devices.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    devices.push_back(describe_device(list[static_cast<std::size_t>(i)]));
  }
  return devices;
}

PortWish parse_rail(std::string_view rails, std::optional<unsigned> gid_index) {
  const std::string_view rail = rails.substr(0, rails.find(','));
  PortWish wish{.gid_index = gid_index};
  if (rail == "auto") return wish;
  if (gid_of_address(rail)) {
    wish.address = rail;
    return wish;
  }
  const std::size_t colon = rail.find(':');
  wish.device = rail.substr(0, colon);
  std::uint8_t port = 0;
  if (colon != std::string_view::npos &&
      std::from_chars(rail.data() + colon + 1, rail.data() + rail.size(), port).ec == std::errc()) {
    wish.port = port;
  }
  return wish;
}

Result<ChosenPort> choose_port(const std::vector<DeviceInfo>& devices, const PortWish& wish,
                               std::string_view source_address) {
  if (!wish.address.empty()) source_address = wish.address;
  const std::optional<Gid> wanted = gid_of_address(source_address);
  const bool any_will_do = is_loopback(source_address) || !wish.device.empty() || wish.gid_index;
  const std::vector<GidPlace> allowed = allowed_gids(devices, wish);
  const GidPlace* best = nullptr;
  int best_rank = any_will_do ? 0 : kRankOfTheOne;
  for (const GidPlace& place : allowed) {
    const int value = rank(place.entry, wanted);
    if (value <= best_rank) continue;
    best_rank = value;
    best = &place;
  }
  if (best != nullptr) return chosen_port(*best, best_rank > kRankOfTheOne, wish.marks);
  return fail(
      ErrorCode::kNotFound,
      fmt::format("no active RDMA port {}: {}. {}",
                  any_will_do
                      ? what_was_asked(wish)
                      : fmt::format("has {}, the address requests are sent from", source_address),
                  what_there_is(devices),
                  devices.empty() ? "Use rdma.fabric = \"auto\" or rdma.mode = \"off\""
                                  : "Give the port's interface that address, or name the port with "
                                    "rdma.rails"));
}

Result<std::string> source_address_towards(const std::string& host, std::uint16_t port) {
  // URLs put brackets around an IPv6 address.
  std::string name = host;
  std::erase_if(name, [](char c) { return c == '[' || c == ']'; });
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return fail(ErrorCode::kUnreachable, fmt::format("{}: {}", name, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  int last_errno = ENETUNREACH;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    auto source = source_of_route(*at);
    if (source) return *std::move(source);
    last_errno = source.error();
  }
  return fail_errno("no route to " + name, last_errno);
}

std::optional<Gid> gid_of_address(std::string_view address) {
  std::string text(address.substr(0, address.find('%')));  // without the scope of fe80::1%eth0
  if (text.find(':') == std::string::npos) text = "::ffff:" + text;
  Gid gid{};
  if (::inet_pton(AF_INET6, text.c_str(), gid.data()) != 1) return std::nullopt;
  return gid;
}

std::string address_of_gid(const Gid& gid) {
  constexpr Gid kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  char text[INET6_ADDRSTRLEN] = {};
  if (std::equal(gid.begin(), gid.begin() + 12, kMapped.begin())) {
    ::inet_ntop(AF_INET, gid.data() + 12, text, sizeof(text));
  } else {
    ::inet_ntop(AF_INET6, gid.data(), text, sizeof(text));
  }
  return text;
}

std::string_view gid_type_name(GidType type) noexcept { return kGidTypeNames[type]; }

}  // namespace s3rdmafs::rdma::verbs
