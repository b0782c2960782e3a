// SPDX-License-Identifier: Apache-2.0
#include "manifest/inventory.h"

#include <fstream>

#include <gmock/gmock.h>

#include "manifest_rig.h"

namespace s3rdmafs::manifest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class InventoryTest : public ManifestTest {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  Result<void> read(const std::vector<std::string>& paths, const std::string& prefix = "") {
    entries_.clear();
    keys_.clear();
    return InventoryReader("data", prefix).read(paths, [this](Entry entry) -> Result<void> {
      keys_.push_back(entry.object.key);
      entries_.push_back(std::move(entry));
      return {};
    });
  }
  std::string problem_of(const std::string& row) {
    const auto read_row = read({file("row.csv", row)});
    return read_row ? "" : read_row.error().detail;
  }

  std::vector<Entry> entries_;
  std::vector<std::string> keys_;
};

TEST_F(InventoryTest, ReadsRowsAsS3WritesThem) {
  const auto done = read({file(
      "a.csv",
      "\"data\",\"d/one%2Btwo+three%E4%FF\",\"12\",\"2026-11-22T20:51:42.000Z\",\"abc123-4\"\n"
      "\"data\",\"e\",\"0\",\"1970-01-01T00:00:01.000Z\",\"d41d8\"\r\n\n")});
  ASSERT_TRUE(done) << done.error().detail;
  EXPECT_THAT(keys_, ElementsAre("d/one+two three\xe4\xff", "e"));
  const s3::ObjectInfo& first = entries_.front().object;
  EXPECT_EQ(first.size_bytes, 12U);
  EXPECT_EQ(first.etag, "\"abc123-4\"") << "in quotes, as requests name it";
  EXPECT_EQ(std::chrono::system_clock::to_time_t(first.modified), 1795380702);
}

TEST_F(InventoryTest, TakesTheColumnsFromTheInventorysManifest) {
  const std::string schema =
      file("manifest.json",
           "{\n \"sourceBucket\" : \"data\",\n \"fileFormat\" : \"CSV\",\n"
           " \"fileSchema\" : \"Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, "
           "LastModifiedDate, ETag, StorageClass\",\n \"files\" : []\n}");
  const std::string rows = file(
      "a.csv",
      "\"data\",\"old\",\"v1\",\"false\",\"false\",\"1\",\"2026-01-01T00:00:00Z\",\"e\",\"S\"\n"
      "\"data\",\"gone\",\"v2\",\"true\",\"true\",\"\",\"2026-01-01T00:00:00Z\",\"\",\"\"\n"
      "\"data\",\"new\",\"v3\",\"true\",\"false\",\"1\",\"2026-01-01T00:00:00Z\",\"e\",\"S\"\n");
  ASSERT_TRUE(read({rows, schema})) << "whatever their order";
  EXPECT_THAT(keys_, ElementsAre("new"));
  EXPECT_THAT(read({rows}).error().detail, HasSubstr("a.csv:1: ")) << "the control";
}

TEST_F(InventoryTest, LeavesOutKeysOfOtherPrefixes) {
  const std::string rows = file("a.csv",
                                "data,a/1,1,2026-01-01T00:00:00Z,e\n"
                                "data,b/1,1,2026-01-01T00:00:00Z,e\n");
  ASSERT_TRUE(read({rows}, "b/"));
  EXPECT_THAT(keys_, ElementsAre("b/1"));
}

TEST_F(InventoryTest, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(problem_of("data,a,1,2026-01-01T00:00:00Z,e"), "") << "the control";
  EXPECT_THAT(problem_of("data,a,1\n"), HasSubstr("row.csv:1: it has 3 columns; pass"));
  EXPECT_THAT(problem_of("other,a,1,2026-01-01T00:00:00Z,e\n"), HasSubstr("of bucket 'other'"));
  EXPECT_THAT(problem_of("data,a,1x,2026-01-01T00:00:00Z,e\n"), HasSubstr("'1x' is not a size"));
  EXPECT_THAT(problem_of("data,a,1,yesterday,e\n"), HasSubstr("'yesterday' is not a time"));
  EXPECT_THAT(problem_of("data,a%2,1,2026-01-01T00:00:00Z,e\n"), HasSubstr("row.csv:1"));
  EXPECT_THAT(problem_of("\"data,a,1\n"), HasSubstr("a quote does not end"));
  EXPECT_THAT(problem_of(std::string(100'000, 'x')), HasSubstr("too long"));
  EXPECT_THAT(problem_of("\x1f\x8b\x08 and so on\n"), HasSubstr("gunzip"));
  EXPECT_EQ(error_of(read({path("missing.csv")})), "System");
}

TEST_F(InventoryTest, NeedsACsvInventoryWithTheseColumns) {
  EXPECT_THAT(
      read({file("m.json", "{\"fileFormat\":\"ORC\",\"fileSchema\":\"x\"}")}).error().detail,
      HasSubstr("an inventory in ORC"));
  EXPECT_THAT(read({file("m.json", "{\"fileSchema\":\"Bucket, Key\"}")}).error().detail,
              HasSubstr("LastModifiedDate"));
  EXPECT_THAT(read({file("m.json", "{}")}).error().detail, HasSubstr("no fileSchema"));
}

}  // namespace
}  // namespace s3rdmafs::manifest
