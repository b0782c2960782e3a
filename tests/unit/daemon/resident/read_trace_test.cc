// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/read_trace.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"

namespace s3rdmafs::daemon {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TracedOpen opened(const std::string& key, std::uint64_t size = 7) {
  return {.at = milliseconds(12),
          .version = {.key = key, .etag = "\"a b\"", .size_bytes = size, .modified = {}}};
}

class ReadTraceTest : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::string path = folder_.path() / "trace";
    std::ofstream(path) << text;
    return path;
  }

  fakes::TemporaryFolder folder_;
};

TEST_F(ReadTraceTest, ReadsBackWhatItWroteWhateverTheKeyHolds) {
  ReadTrace trace;
  const std::string names[] = {"plain", "with space", "line\nbreak", "100%", "%41", "\xff\x01"};
  for (const std::string& name : names) trace.add(opened(name));
  const auto loaded = load_trace(write(trace.text()));
  ASSERT_TRUE(loaded) << loaded.error().detail;
  ASSERT_EQ(loaded->size(), std::size(names));
  for (std::size_t i = 0; i < loaded->size(); ++i) {
    EXPECT_EQ((*loaded)[i].key, names[i]);
    EXPECT_EQ((*loaded)[i].etag, "\"a b\"");
    EXPECT_EQ((*loaded)[i].size_bytes, 7U);
  }
}

TEST_F(ReadTraceTest, HasEachFileOnceInTheOrderOfFirstOpens) {
  ReadTrace trace;
  for (const char* key : {"b", "a", "b"}) trace.add(opened(key, 5));
  EXPECT_EQ(trace.files(), 2U);
  EXPECT_EQ(trace.bytes(), 10U);
  const auto loaded = load_trace(write(trace.text()));
  ASSERT_TRUE(loaded);
  ASSERT_EQ(loaded->size(), 2U);
  EXPECT_EQ(loaded->front().key, "b");
}

TEST_F(ReadTraceTest, NamesTheLineThatIsWrong) {
  ReadTrace trace;
  trace.add(opened("a"));
  for (const char* wrong : {"", "12", "12 7 etag", "x 7 etag key", "12 -7 etag key", "12 7 e%4 key",
                            "12 7 etag %zz", "12 7  key"}) {
    const auto loaded = load_trace(write(trace.text() + wrong + "\n"));
    ASSERT_FALSE(loaded) << wrong;
    EXPECT_THAT(loaded.error().detail, HasSubstr("trace:3:")) << wrong;
  }
}

TEST_F(ReadTraceTest, SaysWhatATraceIsWhereAFileIsNone) {
  const auto other = load_trace(write("a list of files\n"));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().detail, HasSubstr("warm --record"));
  const auto none = load_trace(folder_.path() / "none");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().detail, HasSubstr("No such file"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
