// SPDX-License-Identifier: Apache-2.0
// The kernel's own answers, in a network namespace that has one network device.
#include "rdma/verbs/route.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <net/route.h>

#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::rdma::verbs {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using Answer = RouteQuery::Answer;

constexpr const char* kSource = "10.7.7.7";
constexpr int kNoNamespace = 77;

Gid gid(const std::string& address) { return gid_of_address(address).value(); }

void set_address(sockaddr& into, const char* address) {
  auto* ipv4 = reinterpret_cast<sockaddr_in*>(&into);
  *ipv4 = {};
  ipv4->sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &ipv4->sin_addr);
}

/// A network of one device, "lo", with the address kSource and a route to 198.51.100.0/24.
bool make_network() {
  // Root needs no user namespace, which a process with a second thread cannot have:
  // ThreadSanitizer starts one in each child.
  const bool is_made = ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
  if (!is_made) return false;
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq alias{};
  std::strncpy(alias.ifr_name, "lo:1", IFNAMSIZ - 1);
  set_address(alias.ifr_addr, kSource);
  if (::ioctl(socket.get(), SIOCSIFADDR, &alias) != 0) return false;
  set_address(alias.ifr_netmask, "255.255.255.255");
  if (::ioctl(socket.get(), SIOCSIFNETMASK, &alias) != 0) return false;
  ifreq device{};
  std::strncpy(device.ifr_name, "lo", IFNAMSIZ - 1);
  device.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &device) != 0) return false;
  rtentry route{};
  char name[] = "lo";
  route.rt_dev = name;
  route.rt_flags = RTF_UP;
  set_address(route.rt_dst, "198.51.100.0");
  set_address(route.rt_genmask, "255.255.255.0");
  return ::ioctl(socket.get(), SIOCADDRT, &route) == 0;
}

/// The kernel's answer in that network, or kNoNamespace.
int ask_in_network(unsigned device, const char* source, const char* destination) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!make_network()) ::_exit(kNoNamespace);
    ::_exit(
        static_cast<int>(make_kernel_route_query()->ask(device, gid(source), gid(destination))));
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

constexpr unsigned kLoopback = 1;  // in every network namespace
constexpr unsigned kNoDevice = 4711;

class KernelRouteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (ask_in_network(kLoopback, kSource, "127.0.0.1") == kNoNamespace) {
      GTEST_SKIP() << "network namespaces cannot be made here";
    }
  }
};

TEST_F(KernelRouteTest, LeadsThereByTheNetworkDeviceOfTheRoute) {
  EXPECT_EQ(ask_in_network(kLoopback, kSource, "198.51.100.9"),
            static_cast<int>(Answer::kLeadsThere));
  EXPECT_EQ(ask_in_network(kLoopback, "fe80::1", "198.51.100.9"),
            static_cast<int>(Answer::kLeadsThere))
      << "for every source that is not an address of the network";
}

TEST_F(KernelRouteTest, LeadsElsewhereByEveryOther) {
  EXPECT_EQ(ask_in_network(kNoDevice, kSource, "198.51.100.9"),
            static_cast<int>(Answer::kLeadsElsewhere));
  EXPECT_EQ(ask_in_network(kLoopback, kSource, "203.0.113.9"),
            static_cast<int>(Answer::kLeadsElsewhere))
      << "no route exists";
  EXPECT_EQ(ask_in_network(kLoopback, kSource, "2001:db8::1"),
            static_cast<int>(Answer::kLeadsElsewhere))
      << "an IPv4 address sends to no IPv6 one";
}

TEST_F(KernelRouteTest, IsUnknownToThisHost) {
  EXPECT_EQ(ask_in_network(kLoopback, kSource, "127.0.0.1"), static_cast<int>(Answer::kUnknown));
}

TEST(AddressesOfHosts, AreThoseInTheTextAndThoseOfNames) {
  const auto in_text = addresses_of_hosts({"192.0.2.1", "[2001:db8::1]"}, 0ms);
  ASSERT_TRUE(in_text) << "without a look-up, so at once";
  EXPECT_THAT(*in_text, ElementsAre(gid("192.0.2.1"), gid("2001:db8::1")));
  const auto by_name = addresses_of_hosts({"192.0.2.1", "localhost"}, 60s);
  ASSERT_TRUE(by_name) << by_name.error().detail;
  EXPECT_EQ(by_name->front(), gid("192.0.2.1"));
  EXPECT_THAT(*by_name, testing::AnyOf(Contains(gid("127.0.0.1")), Contains(gid("::1"))));
}

TEST(AddressesOfHosts, AreAnErrorWhereOneIsNotKnown) {
  const auto found = addresses_of_hosts({"192.0.2.1", "no-such-host.invalid"}, 60s);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnreachable);
  EXPECT_THAT(found.error().detail, HasSubstr("no-such-host.invalid"));
}

}  // namespace
}  // namespace s3rdmafs::rdma::verbs
