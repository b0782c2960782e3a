// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/endpoint_lease.h"

#include <utility>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "s3/endpoints/endpoints.h"

namespace s3rdmafs::s3 {
namespace {

constexpr std::uint64_t kLeasedBytes = 4096;

class EndpointLeaseTest : public ::testing::Test {
 protected:
  EndpointLease lease() { return endpoints_.lease(kLeasedBytes, {}); }
  std::uint64_t outstanding() {
    return static_cast<std::uint64_t>(endpoints_.peek().outstanding_bytes.value());
  }
  std::uint64_t failures() { return endpoints_.peek().failures.value(); }

  const fakes::FakeClock clock_;
  metrics::Registry metrics_;
  StaticCredentials credentials_{{.anonymous = true}};
  Endpoints endpoints_{
      {.urls = {"http://a"}, .region = "r"}, "bucket", {}, credentials_, clock_, metrics_};
};

TEST_F(EndpointLeaseTest, CountsItsBytesUntilItEnds) {
  EndpointLease one = lease();
  EXPECT_EQ(outstanding(), kLeasedBytes);
  one.end(EndpointSet::Outcome::kAnswered);
  EXPECT_EQ(outstanding(), 0U);
}

TEST_F(EndpointLeaseTest, EndsOnceWhenItIsDestroyed) {
  {
    const EndpointLease one = lease();
  }
  EXPECT_EQ(outstanding(), 0U);
  EXPECT_EQ(failures(), 0U) << "a request that was never sent is not a failure";
  {
    EndpointLease one = lease();
    one.end(EndpointSet::Outcome::kNoAnswer);
    one.end(EndpointSet::Outcome::kNoAnswer);
  }
  EXPECT_EQ(outstanding(), 0U);
  EXPECT_EQ(failures(), 1U);
}

TEST_F(EndpointLeaseTest, IsHeldByOneOwnerAfterAMove) {
  EndpointLease one = lease();
  EndpointLease other = std::move(one);
  EXPECT_EQ(outstanding(), kLeasedBytes);
  other = lease();
  EXPECT_EQ(outstanding(), kLeasedBytes) << "the lease that was replaced has ended";
  EXPECT_EQ(&other.endpoint(), &endpoints_.peek());
}

}  // namespace
}  // namespace s3rdmafs::s3
