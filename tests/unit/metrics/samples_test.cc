// SPDX-License-Identifier: Apache-2.0
// Percentiles of a histogram against those of the durations themselves.
#include "metrics/samples.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::metrics {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

Sample sample_of(const std::vector<nanoseconds>& durations) {
  Registry registry;
  Histogram& histogram = registry.histogram("wait_seconds", "Waits", R"(operation="get")");
  for (const nanoseconds duration : durations) histogram.record(duration);
  const auto samples = parse_prometheus_text(registry.prometheus_text());
  EXPECT_TRUE(samples) << samples.error().detail;
  if (!samples || samples->size() != 1) return {};
  return samples->front();
}

// The definition, by the sorted list.
double exact(std::vector<nanoseconds> durations, double share) {
  std::ranges::sort(durations);
  const auto rank =
      static_cast<std::size_t>(std::ceil(share * static_cast<double>(durations.size())));
  return std::chrono::duration<double>(durations.at(std::max<std::size_t>(rank, 1) - 1)).count();
}

void expect_equal_percentiles(const std::vector<nanoseconds>& durations) {
  const Sample sample = sample_of(durations);
  ASSERT_EQ(sample.count, durations.size());
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double wanted = exact(durations, share);
    EXPECT_NEAR(percentile(sample, share).value_or(0), wanted, wanted * 0.0625 + 0.5e-6) << share;
  }
}

TEST(Percentile, IsThatOfTheDurationsWithinSixPercentOverSevenDecades) {
  std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): the same durations in each run
  std::uniform_real_distribution<double> exponent(-6, 1.8);
  std::vector<nanoseconds> durations;
  for (int i = 0; i < 5000; ++i) {
    durations.emplace_back(static_cast<std::int64_t>(1e9 * std::pow(10, exponent(random))));
  }
  expect_equal_percentiles(durations);
}

TEST(Percentile, IsRightForOneDurationAndForThoseAtTheBordersOfBuckets) {
  expect_equal_percentiles({milliseconds(30)});
  std::vector<nanoseconds> durations;
  for (std::size_t i = 0; i < LatencyBuckets::kBordered; ++i) {
    durations.emplace_back(LatencyBuckets::upper_border(i));
    durations.emplace_back(LatencyBuckets::upper_border(i) + nanoseconds(1));
  }
  durations.pop_back();  // beyond the last border nothing is known
  expect_equal_percentiles(durations);
}

// The control: a histogram of other durations has other percentiles.
TEST(Percentile, DiffersWhereTheDurationsDo) {
  const Sample slower = sample_of(std::vector<nanoseconds>(100, milliseconds(34)));
  const double wanted = exact(std::vector<nanoseconds>(100, milliseconds(30)), 0.5);
  EXPECT_GT(std::abs(percentile(slower, 0.5).value_or(0) - wanted), wanted * 0.0625);
}

TEST(Percentile, IsNoneOfNothingAndTheLastBorderOfWhatTookLonger) {
  EXPECT_FALSE(percentile(Sample{}, 0.5));
  EXPECT_FALSE(highest_border(Sample{}));
  const Sample endless = sample_of({seconds(100), seconds(100)});
  EXPECT_DOUBLE_EQ(percentile(endless, 0.5).value_or(0), 67.108864);
  EXPECT_FALSE(highest_border(endless));
  EXPECT_DOUBLE_EQ(highest_border(sample_of({microseconds(3), seconds(2)})).value_or(0), 2.097152);
}

TEST(PrometheusText, IsReadAsItWasWritten) {
  Registry registry;
  registry.counter("reads_total", "Reads of all kinds", R"(path="rdma",of="a\"b\\")").add(7);
  registry.gauge("pins", "Held").set(-3);
  const auto samples = parse_prometheus_text(registry.prometheus_text());
  ASSERT_TRUE(samples) << samples.error().detail;
  ASSERT_EQ(samples->size(), 2U);
  EXPECT_EQ(samples->front().name, "s3rdmafs_pins");
  EXPECT_EQ(samples->front().type, "gauge");
  EXPECT_EQ(samples->front().value, -3);
  EXPECT_EQ(samples->back().help, "Reads of all kinds");
  EXPECT_EQ(samples->back().labels, (Labels{{"path", "rdma"}, {"of", "a\"b\\"}}));
  EXPECT_EQ(samples->back().value, 7);
}

TEST(PrometheusText, IsRefusedWithTheLineThatIsNotOne) {
  for (const char* text : {"# TYPE a counter\nb 1\n", "# TYPE a counter\na one\n",
                           "# TYPE a counter\na{b=\"c 1\n", "# TYPE a histogram\na_bucket 1\n"}) {
    const auto samples = parse_prometheus_text(text);
    EXPECT_FALSE(samples) << text;
  }
}

}  // namespace
}  // namespace s3rdmafs::metrics
