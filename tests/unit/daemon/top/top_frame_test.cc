// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/top_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

TopModel busy_mount(std::size_t files) {
  TopModel model;
  model.mount.bucket = "train";
  model.mount.endpoint = "https://s3.example.org:9000";
  model.mount.age = std::chrono::seconds(7500);
  model.kernel = {.read = 3.42e9, .written = 120e6};
  model.rdma = {.read = 3.4e9, .written = 119e6};
  model.http = {.read = 7e6, .written = 1e6};
  model.hits = 950;
  model.waits = 50;
  model.requests = {{"get", 400}, {"upload_part", 15}};
  model.fallbacks = {{"no_session", 12}};
  model.fallbacks_total = {{"no_session", 340}};
  model.endpoints = {
      {.url = "https://s3.example.org:9000", .requests = 415},
      {.url = "https://s4.example.org:9000", .is_alive = false, .failures_total = 9}};
  for (std::size_t i = 0; i < files; ++i) {
    model.files.push_back({.path = "shards/文件 with a very long name " + std::string(200, 'x'),
                           .process = "python3 " + std::to_string(1000 + i),
                           .way = i % 2 == 0 ? "direct" : "kernel",
                           .read = 1e9 / static_cast<double>(i + 1)});
    model.processes.push_back(
        {.name = "python3", .id = static_cast<pid_t>(1000 + i), .read = 1e9, .opens = 3});
  }
  model.files_open = files;
  return model;
}

std::vector<std::string> frame(const TopModel& model, std::size_t columns, std::size_t rows) {
  const std::vector<Throughput> history(300, {.read = 3e9, .written = 1e9});
  return draw_frame(model, history, "/mnt/train",
                    {.columns = columns, .rows = rows, .is_plain = true});
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(TopFrame, FillsATerminalOfAnySizeAndIsNeverWider) {
  for (const std::size_t files : {0, 1, 3, 100}) {
    const TopModel model = busy_mount(files);
    for (const auto& [columns, rows] : {std::pair<std::size_t, std::size_t>{80, 24},
                                        {200, 50},
                                        {40, 16},
                                        {1, 1},
                                        {80, 5},
                                        {500, 200}}) {
      const auto lines = frame(model, columns, rows);
      EXPECT_THAT(lines, SizeIs(rows)) << files;
      for (const std::string& line : lines) EXPECT_LE(cells_of(line), columns) << line;
    }
  }
}

TEST(TopFrame, ShowsTheMountThroughputAndItsWay) {
  const std::string text = joined(frame(busy_mount(3), 80, 24));
  EXPECT_THAT(text, HasSubstr("/mnt/train"));
  EXPECT_THAT(text, HasSubstr("bucket train of https://s3.example.org:9000"));
  EXPECT_THAT(joined(frame(busy_mount(3), 120, 24)), HasSubstr("mounted for 2 h 5 min"));
  EXPECT_THAT(text, HasSubstr("read      3.42 GB/s   from servers 3.41 GB/s, by RDMA 99.8 %"));
  EXPECT_THAT(text, HasSubstr("written    120 MB/s   to servers    120 MB/s, by RDMA 99.2 %"));
  EXPECT_THAT(text, HasSubstr("hits 95.0 %"));
  EXPECT_THAT(text, HasSubstr("get 400/s  upload_part 15/s"));
  EXPECT_THAT(text, HasSubstr("no_session 12/s  since the mount:  no_session 340"));
}

TEST(TopFrame, ShowsTheShareThatIsReadPastFuse) {
  TopModel model = busy_mount(3);
  model.past_fuse = model.kernel.read * 3;
  const auto lines = frame(model, 80, 24);
  EXPECT_THAT(lines, Contains(testing::EndsWith("by RDMA 99.8 %  past FUSE 75.0 %")));
}

TEST(TopFrame, KeepsRoomForFilesAndProcessesOnASmallTerminal) {
  const auto lines = frame(busy_mount(100), 80, 24);
  EXPECT_THAT(lines, Contains(HasSubstr("FILE (100 open)")));
  EXPECT_THAT(lines, Contains(HasSubstr("python3 1000          shards/文件")));
  EXPECT_THAT(lines, Contains(HasSubstr("OPENS  PROCESS")));
  EXPECT_THAT(lines, Contains(HasSubstr("3.0/s  python3 1000")));
}

TEST(TopFrame, AFileThatTheKernelReadsHasNoRate) {
  const auto lines = frame(busy_mount(2), 80, 24);
  EXPECT_THAT(lines, Contains(HasSubstr("        -          -  kernel  python3 1001")));
}

TEST(TopFrame, AServerThatDoesNotAnswerStandsOut) {
  const std::string text = joined(frame(busy_mount(1), 100, 24));
  EXPECT_THAT(text, HasSubstr("https://s4.example.org:9000  does not answer"));
}

TEST(TopFrame, AMountThatStandsStillSaysSo) {
  const auto lines = frame(TopModel{}, 80, 24);
  EXPECT_THAT(lines, Contains(HasSubstr("hits -")));
  EXPECT_THAT(lines, Contains(HasSubstr("requests  none")));
  EXPECT_THAT(lines, Contains(HasSubstr("no transfer that was to go by RDMA")));
}

TEST(TopFrame, PlainOutputHasNoSequences) {
  EXPECT_THAT(frame(busy_mount(3), 80, 24), Each(Not(HasSubstr("\x1b"))));
  const auto styled = draw_frame(busy_mount(3), {}, "/mnt/train", {});
  EXPECT_THAT(styled, Contains(HasSubstr("\x1b[1m")));
}

}  // namespace
}  // namespace s3rdmafs::daemon
