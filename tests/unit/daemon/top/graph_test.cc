// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

using testing::ElementsAre;

std::vector<std::string> drawn(const std::vector<Throughput>& points, std::size_t columns,
                               bool is_ascii = false) {
  std::vector<std::string> lines;
  for (const TextLine& line : draw_graph(
           points, {.columns = columns, .rows = 2, .is_ascii = is_ascii, .is_plain = true})) {
    lines.push_back(line.text());
  }
  return lines;
}

TEST(Graph, ColumnsRiseWithTheThroughputAndTheNewestStandsAtTheRight) {
  EXPECT_THAT(drawn({{.read = 0}, {.read = 50e6}, {.read = 100e6}, {.read = 75e6}}, 17),
              ElementsAre(" 100 MB/s │    █▄", "        0 │   ███"));
}

TEST(Graph, WritesStandOnTopOfReads) {
  EXPECT_THAT(drawn({{.read = 50e6, .written = 50e6}, {.written = 100e6}}, 13),
              ElementsAre(" 100 MB/s │▒▒", "        0 │█▒"));
}

TEST(Graph, OldPointsFallOutAtTheLeft) {
  EXPECT_THAT(drawn({{.read = 1e6}, {.read = 1e6}, {}}, 13),
              ElementsAre("1.00 MB/s │█ ", "        0 │█ "));
}

TEST(Graph, AMountThatStandsStillHasAnEmptyGraph) {
  EXPECT_THAT(drawn({{}, {}}, 14), ElementsAre("1.00 MB/s │   ", "        0 │   "));
  EXPECT_THAT(drawn({}, 12), ElementsAre("1.00 MB/s │ ", "        0 │ "));
}

TEST(Graph, TerminalsWithoutUtf8HaveLetters) {
  EXPECT_THAT(drawn({{.read = 100e6}, {.written = 100e6}, {.read = 20e6}}, 14, true),
              ElementsAre(" 100 MB/s |#= ", "        0 |#=."));
}

TEST(Graph, ANarrowTerminalHasNone) { EXPECT_EQ(drawn({{.read = 1}}, 5).size(), 2U); }

TEST(Graph, TheScaleHasRoundNumbers) {
  EXPECT_EQ(top_of_scale(0), 1e6);
  EXPECT_EQ(top_of_scale(1.1e6), 2e6);
  EXPECT_EQ(top_of_scale(3.42e9), 5e9);
  EXPECT_EQ(top_of_scale(5.1e9), 1e10);
}

TEST(Numbers, HaveThreeDigits) {
  EXPECT_EQ(format_rate(0), "0 B/s");
  EXPECT_EQ(format_rate(999), "999 B/s");
  EXPECT_EQ(format_rate(999.9e3), "1.00 MB/s");
  EXPECT_EQ(format_rate(3.417e9), "3.42 GB/s");
  EXPECT_EQ(format_rate(34.17e9), "34.2 GB/s");
  EXPECT_EQ(format_rate(341.7e9), "342 GB/s");
  EXPECT_EQ(format_rate(5e15), "5000 TB/s");
  EXPECT_EQ(format_bytes(12.3 * 0x1p30), "12.3 GiB");
  EXPECT_EQ(format_frequency(0), "0/s");
  EXPECT_EQ(format_frequency(0.46), "0.5/s");
  EXPECT_EQ(format_frequency(1234567), "1,234,567/s");
}

}  // namespace
}  // namespace s3rdmafs::daemon
