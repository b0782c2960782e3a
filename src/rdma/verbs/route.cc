// SPDX-License-Identifier: Apache-2.0
//
// Two questions. The first is how the kernel sends from the source address: rules may choose a
// table by it. Where two ports are in one network, the kernel sends from both addresses by one of
// them. So the second question is whether the destination is a neighbour on the device's own
// network. A route over a gateway counts only where the kernel would take it.
#include "rdma/verbs/route.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <future>
#include <iterator>
#include <optional>
#include <span>
#include <thread>

#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::rdma::verbs {
namespace {

// The kernel answers within the call that asks; a bound for the case that it does not.
constexpr timeval kAnswerPatience{.tv_sec = 1, .tv_usec = 0};

constexpr std::size_t kMessageBytesMax = 8192;  // longer than every answer about one route

bool is_ipv4(const Gid& address) {
  constexpr Gid kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(address.begin(), address.begin() + 12, kMapped.begin());
}

/// As in a message: 4 or 16 bytes.
std::span<const std::uint8_t> address_bytes(const Gid& address) {
  return std::span(address).subspan(is_ipv4(address) ? 12 : 0);
}

/// The value at a place in a message, which is aligned for it.
template <class T>
T* at(std::byte* place) {
  return reinterpret_cast<T*>(place);
}
template <class T>
const T* at(const std::byte* place) {
  return reinterpret_cast<const T*>(place);
}

/// A question, built in place.
class Question {
 public:
  explicit Question(const Gid& destination) {
    header()->nlmsg_type = RTM_GETROUTE;
    header()->nlmsg_flags = NLM_F_REQUEST;
    header()->nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg));
    route()->rtm_family = is_ipv4(destination) ? AF_INET : AF_INET6;
    const auto bytes = address_bytes(destination);
    route()->rtm_dst_len = static_cast<unsigned char>(bytes.size() * 8);
    add(RTA_DST, bytes);
  }
  void set_source(const Gid& source) {
    const auto bytes = address_bytes(source);
    route()->rtm_src_len = static_cast<unsigned char>(bytes.size() * 8);
    add(RTA_SRC, bytes);
  }
  /// Only by this network device, and only where the table has such a route: without the flag
  /// the kernel takes every destination for a neighbour.
  void set_device(unsigned device) {
    std::array<std::uint8_t, sizeof(device)> bytes{};
    std::memcpy(bytes.data(), &device, sizeof(device));
    add(RTA_OIF, bytes);
    route()->rtm_flags |= RTM_F_FIB_MATCH;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::span(message_).first(at<nlmsghdr>(message_.data())->nlmsg_len);
  }

 private:
  nlmsghdr* header() { return at<nlmsghdr>(message_.data()); }
  rtmsg* route() { return at<rtmsg>(message_.data() + NLMSG_HDRLEN); }
  void add(unsigned short type, std::span<const std::uint8_t> value) {
    std::byte* end = message_.data() + NLMSG_ALIGN(header()->nlmsg_len);
    auto* attribute = at<rtattr>(end);
    attribute->rta_type = type;
    attribute->rta_len = static_cast<unsigned short>(RTA_LENGTH(value.size()));
    std::ranges::copy(std::as_bytes(value), end + RTA_LENGTH(0));
    header()->nlmsg_len =
        static_cast<std::uint32_t>(NLMSG_ALIGN(header()->nlmsg_len) + attribute->rta_len);
  }

  alignas(nlmsghdr) std::array<std::byte, 256> message_{};
};

/// One route, as far as it matters here.
struct Route {
  int error = 0;  ///< 0, or why there is none
  bool is_local = false;
  bool has_gateway = false;
  unsigned device = 0;
};

Route parse_route(std::span<const std::byte> message) {
  if (message.size() < sizeof(rtmsg)) return {.error = EBADMSG};
  Route route{.is_local = at<rtmsg>(message.data())->rtm_type == RTN_LOCAL};
  message = message.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof(rtmsg)), message.size()));
  while (message.size() >= sizeof(rtattr)) {
    const auto* attribute = at<rtattr>(message.data());
    const std::size_t bytes = attribute->rta_len;
    if (bytes < sizeof(rtattr) || bytes > message.size()) break;
    const bool is_gateway = attribute->rta_type == RTA_GATEWAY || attribute->rta_type == RTA_VIA;
    if (is_gateway) route.has_gateway = true;
    if (attribute->rta_type == RTA_OIF && bytes >= sizeof(rtattr) + sizeof(route.device)) {
      std::memcpy(&route.device, message.data() + sizeof(rtattr), sizeof(route.device));
    }
    message = message.subspan(std::min<std::size_t>(RTA_ALIGN(bytes), message.size()));
  }
  return route;
}

class KernelRouteQuery final : public RouteQuery {
 public:
  KernelRouteQuery() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
    if (socket_) {
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerPatience,
                   sizeof(kAnswerPatience));
    }
  }

  Answer ask(unsigned device, const Gid& source, const Gid& destination) override {
    const bool has_source = !is_link_local(source);
    if (has_source && is_ipv4(source) != is_ipv4(destination)) return Answer::kLeadsElsewhere;
    Question first(destination);
    if (has_source) first.set_source(source);
    const std::optional<Route> taken = answer_to(first);
    if (!taken || taken->is_local) return Answer::kUnknown;
    if (taken->error == 0 && taken->device == device) return Answer::kLeadsThere;
    Question second(destination);
    if (has_source) second.set_source(source);
    second.set_device(device);
    const std::optional<Route> own = answer_to(second);
    if (!own) return Answer::kUnknown;
    const bool is_neighbour = own->error == 0 && own->device == device && !own->has_gateway;
    return is_neighbour ? Answer::kLeadsThere : Answer::kLeadsElsewhere;
  }

 private:
  /// Nothing where the kernel does not answer the question at all.
  std::optional<Route> answer_to(const Question& question) {
    const auto asked = question.bytes();
    if (!socket_ || ::send(socket_.get(), asked.data(), asked.size(), 0) < 0) return std::nullopt;
    alignas(nlmsghdr) std::array<std::byte, kMessageBytesMax> message{};
    const ssize_t received = ::recv(socket_.get(), message.data(), message.size(), 0);
    if (received < NLMSG_HDRLEN) return std::nullopt;
    const auto* header = at<nlmsghdr>(message.data());
    const auto payload = std::span<const std::byte>(message)
                             .first(static_cast<std::size_t>(received))
                             .subspan(NLMSG_HDRLEN);
    if (header->nlmsg_type == RTM_NEWROUTE) return parse_route(payload);
    if (header->nlmsg_type != NLMSG_ERROR || payload.size() < sizeof(nlmsgerr)) return std::nullopt;
    const int error = -at<nlmsgerr>(payload.data())->error;
    // Anything else is about the question: an old kernel, or one without this family.
    const bool has_no_route =
        error == ENETUNREACH || error == EHOSTUNREACH || error == EACCES || error == ENODEV;
    return has_no_route ? std::optional(Route{.error = error}) : std::nullopt;
  }

  const UniqueFd socket_;
};

std::optional<Gid> gid_of(const sockaddr* address) {
  Gid gid{};
  if (address->sa_family == AF_INET6) {
    const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(address);
    std::ranges::copy(ipv6->sin6_addr.s6_addr, gid.begin());
    return gid;
  }
  if (address->sa_family != AF_INET) return std::nullopt;
  gid[10] = gid[11] = 0xff;
  std::memcpy(&gid[12], &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
  return gid;
}

Result<std::vector<Gid>> look_up(const std::vector<std::string>& names) {
  std::vector<Gid> addresses;
  for (const std::string& name : names) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found); error != 0) {
      return fail(ErrorCode::kUnreachable, name + ": " + ::gai_strerror(error));
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
      if (const auto gid = gid_of(at->ai_addr)) addresses.push_back(*gid);
    }
  }
  return addresses;
}

}  // namespace

std::unique_ptr<RouteQuery> make_kernel_route_query() {
  return std::make_unique<KernelRouteQuery>();
}

Result<std::vector<Gid>> addresses_of_hosts(const std::vector<std::string>& hosts,
                                            std::chrono::milliseconds patience) {
  std::vector<Gid> addresses;
  std::vector<std::string> names;
  for (std::string host : hosts) {
    std::erase_if(host, [](char c) { return c == '[' || c == ']'; });
    if (const auto gid = gid_of_address(host)) {
      addresses.push_back(*gid);
    } else {
      names.push_back(std::move(host));
    }
  }
  if (names.empty()) return addresses;
  const std::string first = names.front();
  // A resolver may take half a minute. Nothing waits for the thread, which owns all that it uses.
  std::promise<Result<std::vector<Gid>>> promise;
  std::future<Result<std::vector<Gid>>> future = promise.get_future();
  std::thread([names = std::move(names), promise = std::move(promise)]() mutable {
    promise.set_value(look_up(names));
  }).detach();
  if (future.wait_for(patience) != std::future_status::ready) {
    return fail(ErrorCode::kUnreachable, first + ": not looked up in time");
  }
  Result<std::vector<Gid>> found = future.get();
  if (!found) return found;
  std::ranges::copy(*found, std::back_inserter(addresses));
  return addresses;
}

}  // namespace s3rdmafs::rdma::verbs
