// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/metrics/registry.h"

#include <gtest/gtest.h>

namespace s3rdmafs::metrics {
namespace {

TEST(Registry, GivesTheSameCounterForTheSameNameAndLabels) {
  Registry registry;
  registry.counter("reads_total", "Reads", R"(path="rdma")").add(2);
  registry.counter("reads_total", "Reads", R"(path="rdma")").add(3);
  EXPECT_EQ(registry.counter("reads_total", "Reads", R"(path="rdma")").value(), 5U);
  EXPECT_EQ(registry.counter("reads_total", "Reads", R"(path="http")").value(), 0U);
}

TEST(Registry, WritesPrometheusTextWithOneHeadForEachName) {
  Registry registry;
  registry.counter("reads_total", "Reads", R"(path="rdma")").add(7);
  registry.gauge("pins", "Held blocks").set(-1);
  registry.counter("reads_total", "Reads", R"(path="http")").add(1);
  EXPECT_EQ(registry.prometheus_text(),
            "# HELP s3rdmafs_pins Held blocks\n"
            "# TYPE s3rdmafs_pins gauge\n"
            "s3rdmafs_pins -1\n"
            "# HELP s3rdmafs_reads_total Reads\n"
            "# TYPE s3rdmafs_reads_total counter\n"
            "s3rdmafs_reads_total{path=\"rdma\"} 7\n"
            "s3rdmafs_reads_total{path=\"http\"} 1\n");
}

}  // namespace
}  // namespace s3rdmafs::metrics
