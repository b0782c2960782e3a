// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/activity_report.h"

#include <gtest/gtest.h>

namespace s3rdmafs::daemon {
namespace {

TEST(ActivityReport, ReadsWhatTheDaemonWrote) {
  const ActivityReport written{.bucket = "train",
                               .endpoint = "http://127.0.0.1:9000",
                               .age = std::chrono::seconds(75),
                               .files = {{.handle = 7,
                                          .path = "shards/a \"b\"",
                                          .process = 42,
                                          .way = "direct",
                                          .read_bytes = 5'000'000'000,
                                          .written_bytes = 3}},
                               .files_left_out = 2,
                               .processes = {{.id = 42,
                                              .name = "python3",
                                              .opens = 9,
                                              .read_bytes = 5'000'000'001,
                                              .written_bytes = 4}}};
  const auto read = read_activity(to_text(written));
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->bucket, "train");
  EXPECT_EQ(read->endpoint, written.endpoint);
  EXPECT_EQ(read->age, written.age);
  ASSERT_EQ(read->files.size(), 1U);
  EXPECT_EQ(read->files[0].path, written.files[0].path);
  EXPECT_EQ(read->files[0].read_bytes, written.files[0].read_bytes);
  EXPECT_EQ(read->files_left_out, 2U);
  ASSERT_EQ(read->processes.size(), 1U);
  EXPECT_EQ(read->processes[0].name, "python3");
  EXPECT_EQ(read->processes[0].read_bytes, written.processes[0].read_bytes);
}

TEST(ActivityReport, ShowsANameThatIsNotUtf8) {
  const auto read = read_activity(to_text({.files = {{.path = "caf\xe9.bin", .way = "cached"}}}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->files[0].path, "caf\xef\xbf\xbd.bin");
}

TEST(ActivityReport, AnotherAnswerIsAnErrorAndNoException) {
  for (const char* text : {"", "{", "[]", "{\"bucket\":1}", "{\"bucket\":\"b\"}"}) {
    EXPECT_EQ(read_activity(text).error().code, ErrorCode::kProtocol) << text;
  }
}

}  // namespace
}  // namespace s3rdmafs::daemon
