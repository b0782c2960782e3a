// SPDX-License-Identifier: Apache-2.0
#include "target/store/metadata.h"

#include <fcntl.h>

#include "target_fixture.h"

namespace s3rdmafs::target {
namespace {

Metadata example() {
  Metadata metadata;
  metadata.etag = "9e107d9d372bb6826bd81d3542a419d6-3";
  metadata.headers = {{"content-type", "text/plain; charset=utf-8"}, {"x-amz-meta-a", ""}};
  metadata.checksums = {{"x-amz-checksum-crc32c", "yZRlqg=="}};
  metadata.checksums_are_composite = true;
  metadata.part_sizes = {5, 5, 3};
  return metadata;
}

constexpr FileStamp kStamp{.size_bytes = 13, .modified = {.tv_sec = 1'700'000'000, .tv_nsec = 7}};

TEST(Metadata, IsReadAsItWasWritten) {
  const auto read = decode_metadata(encode_metadata(example(), kStamp), kStamp);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->etag, example().etag);
  EXPECT_EQ(read->headers, example().headers);
  EXPECT_EQ(read->checksums, example().checksums);
  EXPECT_TRUE(read->checksums_are_composite);
  EXPECT_EQ(read->part_sizes, example().part_sizes);
}

TEST(Metadata, ForgetsWhatDescribedTheBytesIfTheFileIsAnother) {
  FileStamp longer = kStamp;
  ++longer.size_bytes;
  FileStamp later = kStamp;
  ++later.modified.tv_nsec;
  for (const FileStamp& stamp : {longer, later}) {
    const auto read = decode_metadata(encode_metadata(example(), kStamp), stamp);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->etag, "");
    EXPECT_TRUE(read->checksums.empty());
    EXPECT_TRUE(read->part_sizes.empty());
    EXPECT_EQ(read->headers, example().headers);
  }
}

TEST(Metadata, IsNotReadFromAnotherProgramsText) {
  EXPECT_FALSE(decode_metadata("", kStamp));
  EXPECT_FALSE(decode_metadata("v 2\nsize 13\n", kStamp));
  EXPECT_FALSE(decode_metadata("v 1\nsize x\n", kStamp));
}

TEST(Metadata, TenThousandEqualPartsFitIntoAnAttribute) {
  Metadata metadata;
  metadata.part_sizes.assign(9'999, 8'388'608);
  metadata.part_sizes.push_back(1);
  const std::string text = encode_metadata(metadata, kStamp);
  EXPECT_LT(text.size(), 200U);
  EXPECT_EQ(decode_metadata(text, kStamp)->part_sizes, metadata.part_sizes);
}

class MetadataDriftTest : public TargetTest {};

TEST_F(MetadataDriftTest, AFileChangedBehindOurBackHasAnotherEtag) {
  ASSERT_EQ(send({.method = "PUT", .target = "/buck/et"}).status, 404);  // no bucket yet
  std::filesystem::create_directories(folder("bucket"));
  const Response put = send({.method = "PUT", .target = "/bucket/key", .body = "hello"});
  EXPECT_EQ(header(put, "ETag"), "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_EQ(header(send({.method = "HEAD", .target = "/bucket/key"}), "ETag"), header(put, "ETag"));
  // In place and of the same length: only the time of modification tells.
  std::ofstream(folder("bucket/key"), std::ios::in | std::ios::out) << "jello";
  const std::string changed = header(send({.method = "HEAD", .target = "/bucket/key"}), "ETag");
  EXPECT_NE(changed, header(put, "ETag"));
  EXPECT_TRUE(changed.ends_with("-1\"")) << changed;
}

TEST_F(MetadataDriftTest, AFileThatWasThereBeforeIsAnObjectWithAnOpaqueEtag) {
  write_file(folder("old data/file"), "content");
  const Response response = send({.method = "GET", .target = "/old%20data/file"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(body(response), "content");
  EXPECT_TRUE(header(response, "ETag").ends_with("-1\""));
}

}  // namespace
}  // namespace s3rdmafs::target
