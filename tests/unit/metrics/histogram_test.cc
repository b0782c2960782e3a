// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/metrics/histogram.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3rdmafs/metrics/registry.h"
#include "s3rdmafs/metrics/size_class.h"

namespace s3rdmafs::metrics {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

TEST(LatencyBuckets, FollowEachOtherWithoutAGapAndNeverGrowByMoreThanAnEighth) {
  for (std::size_t i = 1; i < LatencyBuckets::kBordered; ++i) {
    const nanoseconds below = LatencyBuckets::upper_border(i - 1);
    const nanoseconds border = LatencyBuckets::upper_border(i);
    ASSERT_LT(below, border);
    if (i >= LatencyBuckets::kPerDoubling) {
      EXPECT_LE(border * 8, below * 9) << i;
    }
    EXPECT_EQ(LatencyBuckets::index_of(border), i) << "a border belongs to the bucket below";
    EXPECT_EQ(LatencyBuckets::index_of(below + nanoseconds(1)), i);
  }
}

TEST(LatencyBuckets, TakeDurationsThatNoClockShouldGive) {
  EXPECT_EQ(LatencyBuckets::index_of(nanoseconds(-5)), 0U);
  EXPECT_EQ(LatencyBuckets::index_of(nanoseconds(0)), 0U);
  EXPECT_EQ(LatencyBuckets::index_of(seconds(67)), LatencyBuckets::kBordered - 1);
  EXPECT_EQ(LatencyBuckets::index_of(seconds(68)), LatencyBuckets::kBordered);
  EXPECT_EQ(LatencyBuckets::index_of(nanoseconds::max()), LatencyBuckets::kBordered);
}

TEST(Histogram, CountsWhatManyThreadsRecordAtOnce) {
  constexpr unsigned kThreads = 8;
  constexpr unsigned kEach = 20'000;
  Histogram histogram;
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&histogram, t] {
        for (unsigned i = 0; i < kEach; ++i) histogram.record(microseconds(10 * (t + 1)));
      });
    }
  }
  const Histogram::Snapshot seen = histogram.snapshot();
  EXPECT_EQ(seen.total(), kThreads * kEach);
  EXPECT_EQ(seen.sum, microseconds(10) * kEach * (kThreads * (kThreads + 1) / 2));
  EXPECT_EQ(seen.counts.at(LatencyBuckets::index_of(microseconds(80))), kEach);
}

TEST(HistogramText, HasCumulativeBucketsBothBordersOfEachAndNoOthers) {
  Registry registry;
  Histogram& reads = registry.histogram("read_seconds", "Reads", R"(size="<=4KiB")");
  reads.record(microseconds(16));
  reads.record(microseconds(16));
  reads.record(milliseconds(1500));
  EXPECT_EQ(registry.prometheus_text(),
            "# HELP s3rdmafs_read_seconds Reads\n"
            "# TYPE s3rdmafs_read_seconds histogram\n"
            "s3rdmafs_read_seconds_bucket{size=\"<=4KiB\",le=\"0.000015\"} 0\n"
            "s3rdmafs_read_seconds_bucket{size=\"<=4KiB\",le=\"0.000016\"} 2\n"
            "s3rdmafs_read_seconds_bucket{size=\"<=4KiB\",le=\"1.441792\"} 2\n"
            "s3rdmafs_read_seconds_bucket{size=\"<=4KiB\",le=\"1.572864\"} 3\n"
            "s3rdmafs_read_seconds_bucket{size=\"<=4KiB\",le=\"+Inf\"} 3\n"
            "s3rdmafs_read_seconds_sum{size=\"<=4KiB\"} 1.500032000\n"
            "s3rdmafs_read_seconds_count{size=\"<=4KiB\"} 3\n");
}

TEST(HistogramText, HasNoSampleBeforeTheFirstDurationAndNeverLosesABucket) {
  Registry registry;
  Histogram& waits = registry.histogram("wait_seconds", "Waits");
  EXPECT_THAT(registry.prometheus_text(), Not(HasSubstr("_count")));
  waits.record(seconds(2));
  EXPECT_THAT(registry.prometheus_text(), HasSubstr("wait_seconds_bucket{le=\"2.097152\"} 1\n"));
  waits.record(seconds(1));
  waits.record(seconds(100));
  const std::string text = registry.prometheus_text();
  EXPECT_THAT(text, HasSubstr("wait_seconds_bucket{le=\"2.097152\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("wait_seconds_bucket{le=\"67.108864\"} 2\n"))
      << "the border below the last bucket";
  EXPECT_THAT(text, HasSubstr("wait_seconds_bucket{le=\"+Inf\"} 3\n"));
}

TEST(SizeClass, EndsWithItsBorder) {
  EXPECT_EQ(kSizeClassNames[size_class_of(0)], "<=4KiB");
  EXPECT_EQ(kSizeClassNames[size_class_of(1 << 20)], "<=1MiB");
  EXPECT_EQ(kSizeClassNames[size_class_of((1 << 20) + 1)], "<=8MiB");
  EXPECT_EQ(kSizeClassNames[size_class_of(std::uint64_t{5} << 30)], ">8MiB");
}

}  // namespace
}  // namespace s3rdmafs::metrics
