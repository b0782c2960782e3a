// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/device_events.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::verbs {
namespace {

bool is_of_port(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<void> make_events_nonblocking(ibv_context* context) {
  const int flags = ::fcntl(context->async_fd, F_GETFL);
  if (flags >= 0 && ::fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) >= 0) return {};
  return fail_errno("make the device's events non-blocking", errno);
}

std::optional<DeviceEvent> next_event(ibv_context* context, std::uint8_t port,
                                      std::string_view name,
                                      std::span<const ibv_event_type> fatal) {
  ibv_async_event event{};
  while (ibv_get_async_event(context, &event) == 0) {
    // At once: an object is not destroyed before all its events are acknowledged.
    ibv_ack_async_event(&event);
    const ibv_event_type type = event.event_type;
    if (type == IBV_EVENT_DEVICE_FATAL || std::ranges::find(fatal, type) != fatal.end()) {
      log::warn("{}: {}", name, ibv_event_type_str(type));
      return DeviceEvent::kBroken;
    }
    if (is_of_port(type) && event.element.port_num == port) {
      log::info("{}: {}", name, ibv_event_type_str(type));
      return DeviceEvent::kPortMayDiffer;
    }
    // A neighbour's port; or one queue pair's trouble, which the request that used it reports.
    log::debug("{}: {}", name, ibv_event_type_str(type));
  }
  if (errno == EAGAIN || errno == EINTR) return std::nullopt;
  return DeviceEvent::kBroken;  // the device was taken out of the machine
}

PortState port_state(ibv_context* context, const OpenedPort& opened) {
  ibv_port_attr port{};
  if (ibv_query_port(context, opened.number, &port) != 0) return PortState::kDown;
  if (port.state != IBV_PORT_ACTIVE) return PortState::kDown;
  if (port.active_mtu != opened.mtu) return PortState::kChanged;
  if (opened.lid && port.lid != *opened.lid) return PortState::kChanged;
  if (!opened.gid_index) return PortState::kAsOpened;
  ibv_gid gid{};
  const int index = static_cast<int>(*opened.gid_index);
  const bool is_same = ibv_query_gid(context, opened.number, index, &gid) == 0 &&
                       std::ranges::equal(gid.raw, opened.gid);
  return is_same ? PortState::kAsOpened : PortState::kChanged;
}

}  // namespace s3rdmafs::rdma::verbs
