// SPDX-License-Identifier: Apache-2.0
// --etag: ETags of a CRC64NVME instead of an MD5, and copies that take the source's word.
#include "target/digest/etag.h"

#include <gmock/gmock.h>

#include "target/digest/digests.h"
#include "uploads_fixture.h"

namespace s3rdmafs::target {
namespace {

using testing::MatchesRegex;

constexpr const char* kMd5OfHello = "\"5d41402abc4b2a76b9719d911017c592\"";

class EtagTest : public UploadsTest {
 protected:
  EtagTest() { services_->etags = EtagKind::kCrc64; }
  Response copy(const std::string& from, const std::string& to) {
    return put(to, "", {{"x-amz-copy-source", "/bucket/" + from}});
  }
  std::string etag_of(const std::string& key) {
    return header(send({.method = "HEAD", .target = "/bucket/" + key}), "ETag");
  }
  /// Puts the object "big" of 5 MiB and "tail".
  void put_in_parts() {
    const std::string id = begin();
    const std::string first = put_part(id, 1, large_);
    EXPECT_EQ(complete(id, {{1, first}, {2, put_part(id, 2, tail_)}}).status, 200);
  }
  const std::string tail_ = "tail";
};

TEST_F(EtagTest, OfACrcCannotBeTakenForAnMd5) {
  EXPECT_THAT(header(put("k", "hello"), "ETag"), MatchesRegex("\"[0-9a-f]{16}-1\""));
  EXPECT_EQ(etag_of("k"), header(put("same", "hello"), "ETag"));
  EXPECT_NE(etag_of("k"), header(put("other", "hellO"), "ETag"));
  services_->etags = EtagKind::kMd5;
  EXPECT_EQ(header(put("k", "hello"), "ETag"), kMd5OfHello);
}

TEST_F(EtagTest, OfACrcLeavesWhatAClientClaimsToBeCompared) {
  const std::string md5 = "XUFAKrxLKna5cZ2REBfFkg==";
  EXPECT_EQ(put("k", "hello", {{"content-md5", md5}}).status, 200);
  EXPECT_EQ(code(put("k", "hellO", {{"content-md5", md5}})), "BadDigest");
  for (const char* name : {"x-amz-checksum-crc64nvme", "x-amz-checksum-crc32c"}) {
    Checksum checksum(checksum_of_header(name).value());
    checksum.update(std::as_bytes(std::span("hello", 5)));
    const std::string value = to_base64(checksum.finish());
    EXPECT_EQ(header(put("k", "hello", {{name, value}}), name), value);
    EXPECT_EQ(code(put("k", "hellO", {{name, value}})), "BadDigest") << name;
  }
}

TEST_F(EtagTest, OfPartsIsThatOfTheJoinedBytes) {
  put_in_parts();
  put("whole", large_ + tail_);
  const std::string whole = etag_of("whole");
  EXPECT_EQ(etag_of("big"), whole.substr(0, whole.size() - 2) + "2\"");
}

TEST_F(EtagTest, OfPartsThatSayNoCrcIsStillOne) {
  const EtagPart crc{.etag = crc64_etag("12345678", 1), .size_bytes = 1};
  const EtagPart md5{.etag = "5d41402abc4b2a76b9719d911017c592", .size_bytes = 1};
  EXPECT_THAT(multipart_etag(EtagKind::kCrc64, {crc, md5}), MatchesRegex("[0-9a-f]{32}-2"));
}

TEST_F(EtagTest, OfACopyIsThatOfTheBytesPutAtOnce) {
  for (const EtagKind kind : {EtagKind::kCrc64, EtagKind::kMd5}) {
    services_->etags = kind;
    put_in_parts();
    put("whole", large_ + tail_);
    for (const char* source : {"big", "whole"}) {
      EXPECT_EQ(copy(source, "copy").status, 200);
      EXPECT_EQ(etag_of("copy"), etag_of("whole")) << source;
      EXPECT_EQ(read_file(folder("bucket/copy")), large_ + tail_);
    }
  }
}

TEST_F(EtagTest, OfACopyOfAFileChangedBehindOurBackIsThatOfTheNewBytes) {
  for (const EtagKind kind : {EtagKind::kCrc64, EtagKind::kMd5}) {
    services_->etags = kind;
    put("k", "hello");
    write_file(folder("bucket/k"), "other!");
    EXPECT_EQ(copy("k", "copy").status, 200);
    EXPECT_EQ(etag_of("copy"), header(put("same", "other!"), "ETag"));
  }
}

TEST_F(EtagTest, OfACopiedPartIsThatOfItsRange) {
  put("k", "hello");
  const std::string id = begin();
  const auto part_of = [&](NameValues headers) {
    headers.emplace_back("x-amz-copy-source", "/bucket/k");
    return body(send(part(id, 1, "", std::move(headers))));
  };
  const auto bare = [](const std::string& etag) { return etag.substr(1, etag.size() - 2); };
  EXPECT_THAT(part_of({}), testing::HasSubstr(bare(etag_of("k"))));
  const std::string range = bare(header(put("range", "ell"), "ETag"));
  EXPECT_THAT(part_of({{"x-amz-copy-source-range", "bytes=1-3"}}), testing::HasSubstr(range));
}

TEST_F(EtagTest, OfACopyThatIsNotOfItsBytesIsNotBelieved) {
  services_->terms.plays_encryption = true;
  services_->etags = EtagKind::kMd5;
  const NameValues encrypted{{"x-amz-server-side-encryption", "aws:kms"}};
  EXPECT_NE(header(put("k", "hello", encrypted), "ETag"), kMd5OfHello);
  EXPECT_EQ(copy("k", "copy").status, 200);
  EXPECT_EQ(etag_of("copy"), kMd5OfHello);
}

}  // namespace
}  // namespace s3rdmafs::target
