// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/host_port.h"

#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

TEST(HostPort, IsTheUrlsOrTheSchemesDefault) {
  const HostPort named = host_port_of("http://storage.example:9000");
  EXPECT_EQ(named.host, "storage.example");
  EXPECT_EQ(named.port, 9000);
  EXPECT_EQ(host_port_of("http://storage.example").port, 80);
  EXPECT_EQ(host_port_of("https://storage.example").port, 443);
  EXPECT_EQ(host_port_of("https://[2001:db8::1]:9000").host, "[2001:db8::1]");
}

TEST(HostPort, IsEmptyForATextThatIsNotAUrl) { EXPECT_EQ(host_port_of("no url at all").host, ""); }

TEST(HostPort, OnlyLoopbackNamesAreSurelyThisHost) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.0.1", "[::1]"}) {
    EXPECT_TRUE(is_this_host(host)) << host;
  }
  for (const char* host : {"storage.example", "192.0.2.1", "[2001:db8::1]", ""}) {
    EXPECT_FALSE(is_this_host(host)) << host;
  }
}

}  // namespace
}  // namespace s3rdmafs::daemon
