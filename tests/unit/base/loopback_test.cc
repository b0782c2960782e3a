// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/loopback.h"

#include <gtest/gtest.h>

namespace s3rdmafs {
namespace {

TEST(Loopback, IsThisHostByAddressOrName) {
  for (const auto* url : {"http://127.0.0.1:9000", "https://127.9.9.9", "http://localhost:9000",
                          "http://[::1]:9000", "localhost", "127.0.0.1"}) {
    EXPECT_TRUE(is_loopback_url(url)) << url;
  }
}

TEST(Loopback, IsNoOtherHost) {
  for (const auto* url : {"http://192.0.2.1:9000", "http://s3.example.com/127.0.0.1",
                          "http://[2001:db8::1]:9000", "http://not-localhost", ""}) {
    EXPECT_FALSE(is_loopback_url(url)) << url;
  }
}

}  // namespace
}  // namespace s3rdmafs
