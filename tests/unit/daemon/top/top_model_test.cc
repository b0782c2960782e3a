// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/top_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples_of.h"

namespace s3rdmafs::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(TopModel, RatesAreDifferencesOverTheTimeBetween) {
  const TopModel model = compare(sample_at(0, {{"fuse_read_bytes_total", 100},
                                               {R"(get_bytes_total{path="rdma"})", 1000},
                                               {R"(s3_requests_total{operation="get"})", 10},
                                               {R"(s3_requests_total{operation="put"})", 3}}),
                                 sample_at(2, {{"fuse_read_bytes_total", 500},
                                               {R"(get_bytes_total{path="rdma"})", 1600},
                                               {R"(get_bytes_total{path="http"})", 8},
                                               {R"(s3_requests_total{operation="get"})", 20},
                                               {R"(s3_requests_total{operation="put"})", 3}}));
  EXPECT_EQ(model.kernel.read, 200);
  EXPECT_EQ(model.rdma.read, 300);
  EXPECT_EQ(model.http.read, 4);
  EXPECT_THAT(model.requests, ElementsAre(Pair("get", 5)));
}

TEST(TopModel, ReadsPastFuseAreReadsOfPrograms) {
  const TopModel model =
      compare(sample_at(0, {{"fuse_read_bytes_total", 100}, {"attach_part_bytes_total", 1000}}),
              sample_at(2, {{"fuse_read_bytes_total", 300}, {"attach_part_bytes_total", 9000}}));
  EXPECT_EQ(model.past_fuse, 4000);
  EXPECT_EQ(model.programs().read, 4100);
}

TEST(TopModel, AMountThatBeganAgainStandsStill) {
  const TopModel model = compare(sample_at(0, {{"fuse_read_bytes_total", 100}}),
                                 sample_at(1, {{"fuse_read_bytes_total", 7}}));
  EXPECT_EQ(model.kernel.read, 0);
}

TEST(TopModel, TwoLooksAtOneTimeDoNotDivideByZero) {
  const TopSample now = sample_at(1, {{"fuse_read_bytes_total", 7}});
  EXPECT_EQ(compare(now, now).kernel.read, 0);
}

TEST(TopModel, FilesAndProcessesAreOrderedByTheirTraffic) {
  const ActivityReport before{
      .files = {{.handle = 1, .path = "a", .process = 5, .read_bytes = 1000},
                {.handle = 2, .path = "b", .process = 6, .read_bytes = 0}},
      .processes = {{.id = 5, .name = "cp", .opens = 1, .read_bytes = 1000},
                    {.id = 6, .name = "cat", .opens = 1}}};
  ActivityReport after = before;
  after.files[1].read_bytes = 400;
  after.files.push_back(
      {.handle = 3, .path = "c", .process = 0, .way = "direct", .written_bytes = 600});
  after.processes[1].read_bytes = 400;
  after.processes[1].opens = 5;
  after.files_left_out = 7;
  const TopModel model = compare(sample_at(0, {}, before), sample_at(2, {}, after));
  ASSERT_EQ(model.files.size(), 3U);
  EXPECT_EQ(model.files[0].path, "c");
  EXPECT_EQ(model.files[0].written, 300);
  EXPECT_EQ(model.files[0].process, "elsewhere");
  EXPECT_EQ(model.files[1].path, "b");
  EXPECT_EQ(model.files[1].process, "cat 6");
  EXPECT_EQ(model.files[1].read, 200);
  EXPECT_EQ(model.files[2].read, 0);
  EXPECT_EQ(model.files_open, 10U);
  ASSERT_EQ(model.processes.size(), 2U);
  EXPECT_EQ(model.processes[0].name, "cat");
  EXPECT_EQ(model.processes[0].opens, 2);
}

TEST(TopModel, AProcessThatHasEndedGoesWhenItsTrafficDoes) {
  ActivityReport before{.processes = {{.id = 5, .name = "", .opens = 1, .read_bytes = 10}}};
  ActivityReport after = before;
  after.processes[0].read_bytes = 20;
  EXPECT_EQ(compare(sample_at(0, {}, before), sample_at(1, {}, after)).processes.size(), 1U);
  EXPECT_THAT(compare(sample_at(0, {}, after), sample_at(1, {}, after)).processes, IsEmpty());
}

TEST(TopModel, AServerThatDoesNotAnswerIsTold) {
  const TopModel model = compare(
      sample_at(0, {}), sample_at(1, {{R"(endpoint_alive{endpoint="http://a"})", 1},
                                      {R"(endpoint_alive{endpoint="http://b"})", 0},
                                      {R"(endpoint_failures_total{endpoint="http://b"})", 4}}));
  ASSERT_EQ(model.endpoints.size(), 2U);
  EXPECT_TRUE(model.endpoints[0].is_alive);
  EXPECT_FALSE(model.endpoints[1].is_alive);
  EXPECT_EQ(model.endpoints[1].failures_total, 4);
}

}  // namespace
}  // namespace s3rdmafs::daemon
