// SPDX-License-Identifier: Apache-2.0
//
// Draining. A port that went down gets no new tokens. Those that are out end by themselves, as
// answers or time-outs, and the target that they name stays until the port is back. Only a target
// that is no longer right (fatal event, another LID, GID or MTU) is closed before they end.
#include "rdma/mlx5/rail.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::mlx5 {

std::string ip_address_of(const DcAddress& address) {
  // InfiniBand GIDs look like IPv6 addresses, but are not.
  if (!address.has_gid || address.lid != 0) return {};
  const auto& gid = address.gid;
  std::array<char, INET6_ADDRSTRLEN> text{};
  in6_addr ipv6{};
  std::ranges::copy(gid, std::begin(ipv6.s6_addr));
  if (IN6_IS_ADDR_V4MAPPED(&ipv6)) {
    inet_ntop(AF_INET, &gid[12], text.data(), text.size());
  } else if (!IN6_IS_ADDR_LINKLOCAL(&ipv6) && !IN6_IS_ADDR_UNSPECIFIED(&ipv6)) {
    inet_ntop(AF_INET6, &ipv6, text.data(), text.size());
  }
  return text.data();
}

std::optional<Rail::Reach> Rail::reach() const {
  const MutexLock lock(mutex_);
  if (!is_up_.load(std::memory_order_relaxed)) return std::nullopt;
  if (health_.may_bind()) return reach_;
  return Reach{.target = reach_.target, .source_address = {}};
}

void Rail::on_end(std::size_t bytes, TokenFate fate, bool is_bound) noexcept {
  outstanding_bytes_.fetch_sub(bytes);
  if (fate == TokenFate::kAnswered && !is_bound) fate = TokenFate::kAnsweredUnbound;
  if (!health_.on_end(fate)) return;
  if (fate == TokenFate::kUnconnected) {
    log::warn(
        "dc: no connection can be made from the address of {}; using other rails or any address, "
        "trying it again now and then",
        name());
  } else {
    log::warn(
        "dc: {} failed {} transfers in a row; using other rails, trying it again now and then",
        name(), RailHealth::kFailuresMax);
  }
}

Result<void> Rail::open() {
  auto target = DcTarget::open(where_, dc_key_);
  if (!target) return std::unexpected(std::move(target.error()));
  {
    const MutexLock lock(mutex_);
    target_ = std::move(*target);
    reach_ = {.target = target_->address(), .source_address = ip_address_of(target_->address())};
  }
  set_up(true);
  return {};
}

std::shared_ptr<DcTarget> Rail::withdraw() {
  set_up(false);
  const MutexLock lock(mutex_);
  return std::exchange(target_, nullptr);
}

UniqueFd Rail::events() const {
  const MutexLock lock(mutex_);
  if (!target_) return UniqueFd();
  return UniqueFd(fcntl(target_->event_fd(), F_DUPFD_CLOEXEC, 0));
}

bool Rail::take_events() {
  const std::shared_ptr<DcTarget> target = this->target();
  if (!target) return true;
  bool may_differ = !is_up();  // an event may have been missed
  while (const std::optional<DcTarget::Event> event = target->next_event()) {
    if (*event == DcTarget::Event::kBroken) return false;
    may_differ = true;
  }
  if (!may_differ) return true;
  const DcTarget::Port port = target->port();
  if (port == DcTarget::Port::kChanged) return false;
  set_up(port == DcTarget::Port::kAsOpened);
  return true;
}

void Rail::set_up(bool up) {
  {
    const MutexLock lock(mutex_);
    if (is_up_.exchange(up) == up) return;
  }
  if (up) {
    log::info("dc: {} is up", name());
  } else {
    log::warn("dc: {} is down; not using it until it is up", name());
  }
}

}  // namespace s3rdmafs::rdma::mlx5
