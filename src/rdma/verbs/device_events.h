// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/rdma/rdma_devices.h"
#include "s3rdmafs/rdma/verbs_handles.h"

namespace s3rdmafs::rdma::verbs {

/// An event that a device reported.
enum class DeviceEvent {
  kPortMayDiffer,  ///< up, down, or with another address: ask port_state()
  kBroken,         ///< the device failed or is gone, or an object on it failed: open it again
};

enum class PortState {
  kAsOpened,
  kDown,
  kChanged,  ///< active, but the address or MTU that it was opened with no longer holds
};

/// The port that a device was opened for, as it was then.
struct OpenedPort {
  std::uint8_t number = 1;
  ibv_mtu mtu = {};
  std::optional<std::uint16_t> lid = {};   ///< nothing where servers do not reach it by its LID
  std::optional<unsigned> gid_index = {};  ///< nothing where servers do not reach it by a GID
  Gid gid = {};
};

/// Makes next_event() return instead of waiting. Errors: kSystem.
[[nodiscard]] Result<void> make_events_nonblocking(ibv_context* context);

/// The next event that concerns this port or the whole device, if there is one. One thread.
/// @param name  begins each line in the log: "rc: rxe0"
/// @param fatal  what breaks the device, besides its own failure
[[nodiscard]] std::optional<DeviceEvent> next_event(ibv_context* context, std::uint8_t port,
                                                    std::string_view name,
                                                    std::span<const ibv_event_type> fatal = {});

/// A port that cannot be queried is down. Any thread.
[[nodiscard]] PortState port_state(ibv_context* context, const OpenedPort& opened);

}  // namespace s3rdmafs::rdma::verbs
