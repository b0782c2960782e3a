// SPDX-License-Identifier: Apache-2.0
// The RDMA devices of this machine, and which port a mount should use. Plain values: discovery is
// one call, and the choice is a function of its result.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::rdma::verbs {

using Gid = std::array<std::uint8_t, 16>;  ///< network order

/// fe80::/10: an address that is valid on its own link only.
[[nodiscard]] inline bool is_link_local(const Gid& gid) {
  return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

enum class GidType { kInfiniBand, kRoceV1, kRoceV2 };
enum class LinkLayer { kInfiniBand, kEthernet, kOther };

struct GidEntry {
  unsigned index = 0;
  Gid gid{};
  GidType type = GidType::kRoceV2;
  std::string network_device;  ///< "eth0"; empty where the kernel names none
};

struct PortInfo {
  std::uint8_t number = 1;
  LinkLayer link_layer = LinkLayer::kOther;
  bool is_active = false;
  std::string state;  ///< in libibverbs' words: "PORT_ACTIVE"
  unsigned active_mtu_bytes = 0;
  std::uint16_t lid = 0;       ///< 0 on Ethernet
  std::vector<GidEntry> gids;  ///< without the empty ones
};

struct DeviceInfo {
  std::string name;  ///< "mlx5_0", "rxe0"
  std::string node_guid;
  std::vector<PortInfo> ports;
  /// Why the device has no ports here: it cannot be opened or queried, as a device that a container
  /// was not given. Empty: it is usable.
  std::string hindrance = {};
};

/// Every device, its ports and their GIDs, in the kernel's order. An empty list is not an error,
/// and neither is a device that cannot be opened. Errors: kSystem where the kernel does not list
/// devices.
[[nodiscard]] Result<std::vector<DeviceInfo>> list_devices();

/// How packets from our queue pairs are marked for the switches: the answers to a server's reads of
/// our memory, which carry the bytes of a PUT.
struct PacketMarks {
  std::uint8_t traffic_class = 0;  ///< of the GRH or IP header: DSCP times 4, and ECN
  std::uint8_t service_level = 0;  ///< 0 to 15 on InfiniBand; on RoCE the priority, 0 to 7

  bool operator==(const PacketMarks&) const = default;
};

/// The port that the mount file asks for; the defaults mean "choose".
struct PortWish {
  std::string device = {};                 ///< empty: any
  std::string address = {};                ///< the port has this IP address; empty: any
  std::optional<std::uint8_t> port = {};   ///< from 1
  std::optional<unsigned> gid_index = {};  ///< in that port's table
  PacketMarks marks = {};                  ///< of the port that is chosen
};

/// The first of rdma.rails: "auto", "device", "device:port" or an IP address of a port.
[[nodiscard]] PortWish parse_rail(std::string_view rails, std::optional<unsigned> gid_index);

struct ChosenPort {
  std::string device;
  std::uint8_t port = 1;
  unsigned gid_index = 0;
  Gid gid{};
  std::string why;  ///< one line for the log
  PacketMarks marks = {};
};

/// The port on the route to the server: the one with a RoCE v2 GID equal to `source_address`, else
/// with another GID equal to it. Where the source is this host's loopback address, or no port has
/// that address and the mount file names a device: the first active port. RoCE v2 with an IP
/// address is preferred to link-local, and to v1.
/// @param source_address  text of an IP address; source_address_towards() finds it
/// Errors: kNotFound, with what there is and what to do.
[[nodiscard]] Result<ChosenPort> choose_port(const std::vector<DeviceInfo>& devices,
                                             const PortWish& wish, std::string_view source_address);

/// The address this host would send from to reach host:port, as the routing table has it. Sends
/// nothing. Errors: kUnreachable (the name is unknown, or there is no route).
[[nodiscard]] Result<std::string> source_address_towards(const std::string& host,
                                                         std::uint16_t port);

/// IPv4 addresses as ::ffff:a.b.c.d. Nothing if the text is not an address.
[[nodiscard]] std::optional<Gid> gid_of_address(std::string_view address);
/// "10.0.0.1" or "fe80::1".
[[nodiscard]] std::string address_of_gid(const Gid& gid);
[[nodiscard]] std::string_view gid_type_name(GidType type) noexcept;  ///< "RoCE v2"

}  // namespace s3rdmafs::rdma::verbs
