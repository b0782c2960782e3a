// SPDX-License-Identifier: Apache-2.0
// Requests on objects as S3 answers them.
#include "target/digest/digests.h"
#include "uploads_fixture.h"

namespace s3rdmafs::target {
namespace {

class ObjectsTest : public TargetTest {
 protected:
  ObjectsTest() { std::filesystem::create_directories(folder("bucket")); }
  Response put(const std::string& key, const std::string& content, NameValues headers = {}) {
    return send({.method = "PUT",
                 .target = "/bucket/" + key,
                 .headers = std::move(headers),
                 .body = content});
  }
  Response get(const std::string& key, NameValues headers = {}) {
    return send({.method = "GET", .target = "/bucket/" + key, .headers = std::move(headers)});
  }
  /// Whether nothing lies about in the staging folder.
  [[nodiscard]] bool staging_is_empty() const {
    return std::filesystem::is_empty(folder(".s3rdma-target/staging"));
  }
};

TEST_F(ObjectsTest, AnObjectIsAFileWithItsHeaders) {
  put("a/b", "hello", {{"content-type", "text/plain"}, {"x-amz-meta-colour", "red"}});
  EXPECT_EQ(read_file(folder("bucket/a/b")), "hello");
  const Response response = get("a/b");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(body(response), "hello");
  EXPECT_EQ(header(response, "content-type"), "text/plain");
  EXPECT_EQ(header(response, "x-amz-meta-colour"), "red");
  EXPECT_TRUE(staging_is_empty());
}

TEST_F(ObjectsTest, NothingIsStoredOfABodyThatIsNotWhatWasSigned) {
  const Response response = send({.method = "PUT",
                                  .target = "/bucket/key",
                                  .body = "hello",
                                  .payload_hash = s3::sha256_hex("jello")});
  EXPECT_EQ(code(response), "XAmzContentSHA256Mismatch");
  EXPECT_FALSE(std::filesystem::exists(folder("bucket/key")));
  EXPECT_TRUE(staging_is_empty());
}

TEST_F(ObjectsTest, ChecksContentMd5AndChecksums) {
  EXPECT_EQ(put("k", "hello", {{"content-md5", "XUFAKrxLKna5cZ2REBfFkg=="}}).status, 200);
  EXPECT_EQ(code(put("k", "hellO", {{"content-md5", "XUFAKrxLKna5cZ2REBfFkg=="}})), "BadDigest");
  EXPECT_EQ(code(put("k", "hello", {{"content-md5", "garbage"}})), "InvalidDigest");
  EXPECT_EQ(put("k", "123456789", {{"x-amz-checksum-crc32c", "4waSgw=="}}).status, 200);
  EXPECT_EQ(code(put("k", "12345678", {{"x-amz-checksum-crc32c", "4waSgw=="}})), "BadDigest");
  EXPECT_EQ(header(get("k", {{"x-amz-checksum-mode", "ENABLED"}}), "x-amz-checksum-crc32c"),
            "4waSgw==");
  EXPECT_EQ(header(get("k"), "x-amz-checksum-crc32c"), "");
}

TEST_F(ObjectsTest, ServesRanges) {
  put("k", "0123456789");
  const Response middle = get("k", {{"range", "bytes=2-4"}});
  EXPECT_EQ(middle.status, 206);
  EXPECT_EQ(body(middle), "234");
  EXPECT_EQ(header(middle, "Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(body(get("k", {{"range", "bytes=-3"}})), "789");
  EXPECT_EQ(get("k", {{"range", "bytes=10-"}}).status, 416);
}

TEST_F(ObjectsTest, HonoursConditions) {
  put("k", "hello");
  const std::string etag = "\"5d41402abc4b2a76b9719d911017c592\"";
  EXPECT_EQ(get("k", {{"if-match", etag}}).status, 200);
  EXPECT_EQ(get("k", {{"if-match", "\"other\""}}).status, 412);
  EXPECT_EQ(get("k", {{"if-none-match", etag}}).status, 304);
  EXPECT_EQ(get("k", {{"if-none-match", "\"other\""}}).status, 200);
  EXPECT_EQ(put("k", "x", {{"if-none-match", "*"}}).status, 412);
  EXPECT_EQ(put("new", "x", {{"if-none-match", "*"}}).status, 200);
}

TEST_F(ObjectsTest, AFileAndAFolderDoNotReplaceEachOther) {
  put("a", "file");
  EXPECT_EQ(put("a/b", "x").status, 409);
  EXPECT_EQ(put("a/", "").status, 409);
  put("d/e", "file");
  EXPECT_EQ(put("d", "x").status, 409);
  EXPECT_EQ(put("d", "x", {{"if-none-match", "*"}}).status, 409);
  EXPECT_EQ(read_file(folder("bucket/a")), "file");
  EXPECT_EQ(read_file(folder("bucket/d/e")), "file");
}

TEST_F(ObjectsTest, DeletingTheLastFileRemovesFoldersThatWereNeverPut) {
  put("kept/", "");
  put("kept/a/b/c", "x");
  send({.method = "DELETE", .target = "/bucket/kept/a/b/c"});
  EXPECT_FALSE(std::filesystem::exists(folder("bucket/kept/a")));
  EXPECT_TRUE(std::filesystem::exists(folder("bucket/kept")));
  EXPECT_EQ(send({.method = "DELETE", .target = "/bucket/kept/"}).status, 204);
  EXPECT_FALSE(std::filesystem::exists(folder("bucket/kept")));
  EXPECT_TRUE(std::filesystem::exists(folder("bucket")));
}

TEST_F(ObjectsTest, CopiesAcrossBuckets) {
  std::filesystem::create_directories(folder("other"));
  put("k", "hello", {{"x-amz-meta-a", "1"}});
  const Response copied = send(
      {.method = "PUT", .target = "/other/copy", .headers = {{"x-amz-copy-source", "/bucket/k"}}});
  EXPECT_EQ(copied.status, 200);
  EXPECT_NE(body(copied).find("5d41402abc4b2a76b9719d911017c592"), std::string::npos);
  const Response copy = send({.method = "GET", .target = "/other/copy"});
  EXPECT_EQ(body(copy), "hello");
  EXPECT_EQ(header(copy, "x-amz-meta-a"), "1");
  EXPECT_EQ(code(send({.method = "PUT",
                       .target = "/bucket/k",
                       .headers = {{"x-amz-copy-source", "/bucket/k"}}})),
            "InvalidRequest");
  EXPECT_EQ(code(send({.method = "PUT",
                       .target = "/bucket/k2",
                       .headers = {{"x-amz-copy-source", "bucket/none"}}})),
            "NoSuchKey");
}

TEST_F(ObjectsTest, HasNoTagsOnAnyObjectButSaysSo) {
  put("k", "x");
  const Response tags = send({.method = "GET", .target = "/bucket/k?tagging"});
  EXPECT_EQ(tags.status, 200);
  EXPECT_NE(body(tags).find("<TagSet"), std::string::npos);
  EXPECT_EQ(code(send({.method = "GET", .target = "/bucket/none?tagging"})), "NoSuchKey");
}

TEST_F(ObjectsTest, AnswersTheUsualRefusals) {
  EXPECT_EQ(code(get("none")), "NoSuchKey");
  EXPECT_EQ(code(send({.method = "GET", .target = "/none/k"})), "NoSuchBucket");
  EXPECT_EQ(code(send({.method = "PUT", .target = "/bucket/k?tagging"})), "NotImplemented");
  EXPECT_EQ(code(send({.method = "GET", .target = "/bucket?tagging"})), "NotImplemented");
  EXPECT_EQ(code(send({.method = "PATCH", .target = "/bucket/k"})), "MethodNotAllowed");
  EXPECT_EQ(code(send({.method = "PUT", .target = "/bucket"})), "BucketAlreadyOwnedByYou");
  put("k", "x");
  EXPECT_EQ(code(send({.method = "DELETE", .target = "/bucket"})), "BucketNotEmpty");
  EXPECT_EQ(code(send({.method = "GET", .target = "/bucket/k", .sign = false})), "AccessDenied");
  services_->anonymous_read = true;
  EXPECT_EQ(send({.method = "GET", .target = "/bucket/k", .sign = false}).status, 200);
  EXPECT_EQ(code(send({.method = "DELETE", .target = "/bucket/k", .sign = false})), "AccessDenied");
}

TEST_F(ObjectsTest, ABucketIsAlsoAHostBelowTheDomain) {
  put("a/k", "hello");
  EXPECT_EQ(
      body(
          send({.method = "GET", .target = "/a/k", .headers = {{"host", "bucket.s3.local:9000"}}})),
      "hello");
  EXPECT_EQ(
      send({.method = "GET", .target = "/a/k", .headers = {{"host", "s3.local:9000"}}}).status,
      404);
}

class MultipartTest : public UploadsTest {
 protected:
  Response get(const std::string& key, NameValues headers = {}) {
    return send({.method = "GET", .target = "/bucket/" + key, .headers = std::move(headers)});
  }
};

TEST_F(MultipartTest, PartsBecomeOneObjectWithACombinedChecksum) {
  const std::string id = begin({{"x-amz-checksum-algorithm", "CRC64NVME"}});
  const std::string last = put_part(id, 7, "tail");  // out of order, with a gap
  const std::string first = put_part(id, 2, large_);
  EXPECT_FALSE(std::filesystem::exists(folder("bucket/big")));
  EXPECT_EQ(complete(id, {{2, first}, {7, last}}).status, 200);
  EXPECT_EQ(read_file(folder("bucket/big")), large_ + "tail");
  Checksum whole(ChecksumKind::kCrc64Nvme);
  whole.update(std::as_bytes(std::span(large_)));
  whole.update(std::as_bytes(std::span("tail", 4)));
  const Response got = get("big", {{"x-amz-checksum-mode", "ENABLED"}});
  EXPECT_EQ(header(got, "x-amz-checksum-crc64nvme"), to_base64(whole.finish()));
  EXPECT_TRUE(header(got, "ETag").ends_with("-2\""));
  EXPECT_EQ(body(get("big?partNumber=2")), "tail");
  EXPECT_EQ(code(complete(id, {{2, first}})), "NoSuchUpload");
  EXPECT_TRUE(std::filesystem::is_empty(folder(".s3rdma-target/uploads")));
}

TEST_F(MultipartTest, CompleteChecksTheListAndLeavesTheUploadAfterARefusal) {
  const std::string id = begin();
  const std::string small = put_part(id, 1, "small");
  const std::string first = put_part(id, 2, large_);
  const std::string last = put_part(id, 3, "tail");
  EXPECT_EQ(code(complete(id, {{3, last}, {2, first}})), "InvalidPartOrder");
  EXPECT_EQ(code(complete(id, {{2, last}, {3, last}})), "InvalidPart");
  EXPECT_EQ(code(complete(id, {{2, first}, {4, last}})), "InvalidPart");
  EXPECT_EQ(code(complete(id, {{1, small}, {2, first}})), "EntityTooSmall");
  EXPECT_EQ(code(complete(id, {})), "MalformedXML");
  EXPECT_EQ(complete(id, {{2, first}, {3, last}}).status, 200);
}

TEST_F(MultipartTest, APartSentAgainReplacesTheFirst) {
  const std::string id = begin();
  const std::string old = put_part(id, 1, "old");
  const std::string fresh = put_part(id, 1, "fresh");
  EXPECT_EQ(code(complete(id, {{1, old}})), "InvalidPart");
  EXPECT_EQ(complete(id, {{1, fresh}}).status, 200);
  EXPECT_EQ(read_file(folder("bucket/big")), "fresh");
}

TEST_F(MultipartTest, AbortRemovesEverything) {
  const std::string id = begin();
  const std::string listed = body(send({.method = "GET", .target = "/bucket?uploads"}));
  EXPECT_EQ(between(listed, "<UploadId>", "<"), id);
  put_part(id, 1, "x");
  EXPECT_EQ(send({.method = "DELETE", .target = "/bucket/big?uploadId=" + id}).status, 204);
  EXPECT_EQ(put_part(id, 1, "x"), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder(".s3rdma-target/uploads")));
}

}  // namespace
}  // namespace s3rdmafs::target
