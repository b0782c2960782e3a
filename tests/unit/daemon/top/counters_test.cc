// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(Counters, AreThoseOfTheRegistry) {
  metrics::Registry registry;
  registry.counter("get_bytes_total", "Bytes", R"(path="rdma")").add(7'000'000'000);
  registry.counter("get_bytes_total", "Bytes", R"(path="http")").add(5);
  registry.gauge("cache_pins", "Pins").set(-2);
  const Counters counters = Counters::parse(registry.prometheus_text()).value();
  EXPECT_EQ(counters.sum("get_bytes_total"), 7'000'000'005);
  EXPECT_EQ(counters.sum("get_bytes_total", "path", "http"), 5);
  EXPECT_EQ(counters.sum("cache_pins"), -2);
  EXPECT_THAT(counters.by("get_bytes_total", "path"),
              ElementsAre(Pair("http", 5), Pair("rdma", 7'000'000'000)));
}

TEST(Counters, TheLeastOfAServerIsThatOfTheBucketThatFoundItDead) {
  metrics::Registry registry;
  registry.gauge("endpoint_alive", "A", R"(bucket="a",endpoint="x")").set(1);
  registry.gauge("endpoint_alive", "A", R"(bucket="b",endpoint="x")").set(0);
  registry.gauge("endpoint_alive", "A", R"(bucket="b",endpoint="y")").set(1);
  const Counters counters = Counters::parse(registry.prometheus_text()).value();
  EXPECT_THAT(counters.least_by("endpoint_alive", "endpoint"),
              ElementsAre(Pair("x", 0), Pair("y", 1)));
}

TEST(Counters, OneThatIsNotThereIsNothing) {
  metrics::Registry registry;
  registry.counter("a_total", "A").add(3);
  const Counters counters = Counters::parse(registry.prometheus_text()).value();
  EXPECT_EQ(counters.sum("a_total"), 3);
  EXPECT_EQ(counters.sum("b_total"), 0);
  EXPECT_EQ(counters.sum("a_total", "path", "rdma"), 0);
  EXPECT_THAT(counters.by("a_total", "path"), IsEmpty());
}

TEST(Counters, ATextThatIsNoneOfADaemonIsAnError) {
  EXPECT_EQ(Counters::parse("HTTP/1.1 200 OK").error().code, ErrorCode::kProtocol);
}

}  // namespace
}  // namespace s3rdmafs::daemon
