// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/metrics/registry.h"

#include <gtest/gtest.h>

#include "metrics/samples.h"

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

TEST(Registry, APartHasItsLabelsInTheTextOfTheWhole) {
  Registry whole;
  Registry one(whole, label_text("bucket", "a"));
  Registry other(whole, label_text("bucket", "b"));
  one.counter("reads_total", "Reads").add(1);
  other.counter("reads_total", "Reads").add(2);
  other.counter("reads_total", "Reads", R"(path="http")").add(3);
  one.histogram("wait_seconds", "Wait").record(std::chrono::seconds(1));
  EXPECT_NE(whole.prometheus_text().find("# TYPE s3rdmafs_reads_total counter\n"
                                         "s3rdmafs_reads_total{bucket=\"a\"} 1\n"
                                         "s3rdmafs_reads_total{bucket=\"b\"} 2\n"
                                         "s3rdmafs_reads_total{bucket=\"b\",path=\"http\"} 3\n"),
            std::string::npos);
  EXPECT_NE(whole.prometheus_text().find("s3rdmafs_wait_seconds_count{bucket=\"a\"} 1\n"),
            std::string::npos);
  EXPECT_EQ(&whole.counter("reads_total", "Reads", R"(bucket="a")"),
            &one.counter("reads_total", "Reads"));
}

TEST(LabelText, AnyValueComesBackFromTheText) {
  Registry registry;
  const std::string odd = "a\"b\\n\nc,d}";
  registry.counter("reads_total", "Reads", label_text("bucket", odd)).add(4);
  const auto samples = parse_prometheus_text(registry.prometheus_text());
  ASSERT_TRUE(samples) << samples.error().detail;
  ASSERT_EQ(samples->size(), 1U);
  EXPECT_EQ(samples->front().labels, (Labels{{"bucket", odd}}));
}

}  // namespace
}  // namespace s3rdmafs::metrics
