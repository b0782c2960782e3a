// SPDX-License-Identifier: Apache-2.0
// Requests that change a key under a condition, and copies.
#include <atomic>
#include <thread>
#include <vector>

#include "target_fixture.h"

namespace s3rdmafs::target {
namespace {

class WriteConditionsTest : public TargetTest {
 protected:
  WriteConditionsTest() { std::filesystem::create_directories(folder("bucket")); }
  Response put(const std::string& key, const std::string& content, NameValues headers = {}) {
    return send({.method = "PUT",
                 .target = "/bucket/" + key,
                 .headers = std::move(headers),
                 .body = content});
  }
  Response remove(const std::string& key, NameValues headers = {}) {
    return send({.method = "DELETE", .target = "/bucket/" + key, .headers = std::move(headers)});
  }
  Response copy(const std::string& key, NameValues headers = {}) {
    headers.emplace_back("x-amz-copy-source", "/bucket/source");
    return send({.method = "PUT", .target = "/bucket/" + key, .headers = std::move(headers)});
  }
  /// An upload of one part, up to its completion.
  std::string upload(NameValues headers = {}) {
    const std::string id = between(
        body(
            send({.method = "POST", .target = "/bucket/k?uploads", .headers = std::move(headers)})),
        "<UploadId>", "<");
    part_etag_ = header(
        send({.method = "PUT", .target = "/bucket/k?partNumber=1&uploadId=" + id, .body = "part"}),
        "ETag");
    return id;
  }
  Response complete(const std::string& id, NameValues headers = {}) {
    return send({.method = "POST",
                 .target = "/bucket/k?uploadId=" + id,
                 .headers = std::move(headers),
                 .body = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>" +
                         part_etag_ + "</ETag></Part></CompleteMultipartUpload>"});
  }
  std::string etag_of(const std::string& key) {
    return header(send({.method = "HEAD", .target = "/bucket/" + key}), "ETag");
  }
  std::string metadata_of(const std::string& key, const std::string& name) {
    return header(send({.method = "HEAD", .target = "/bucket/" + key}), "x-amz-meta-" + name);
  }
  void behave_as(std::string_view name) { services_->behaviour = find_behaviour(name).value(); }
  static NameValues if_match(const std::string& etag) { return {{"if-match", etag}}; }

  const NameValues absent_ = {{"if-none-match", "*"}};
  const std::string other_ = "\"00000000000000000000000000000000\"";
  std::string part_etag_;
};

TEST_F(WriteConditionsTest, APutReplacesOnlyTheVersionNamed) {
  EXPECT_EQ(code(put("k", "x", if_match(other_))), "NoSuchKey") << "as Amazon S3 has it";
  put("k", "old");
  EXPECT_EQ(put("k", "x", if_match(other_)).status, 412);
  EXPECT_EQ(read_file(folder("bucket/k")), "old");
  EXPECT_EQ(put("k", "new", if_match(etag_of("k"))).status, 200);
  EXPECT_EQ(put("k", "x", absent_).status, 412);
}

TEST_F(WriteConditionsTest, ACompletionReplacesOnlyTheVersionNamedAndKeepsTheUpload) {
  const std::string id = upload();
  put("k", "old");
  EXPECT_EQ(complete(id, absent_).status, 412);
  EXPECT_EQ(complete(id, if_match(other_)).status, 412);
  EXPECT_EQ(read_file(folder("bucket/k")), "old");
  EXPECT_EQ(complete(id, if_match(etag_of("k"))).status, 200) << "the upload is still there";
  EXPECT_EQ(read_file(folder("bucket/k")), "part");
}

TEST_F(WriteConditionsTest, ADeleteRemovesOnlyTheVersionNamed) {
  put("k", "old");
  EXPECT_EQ(remove("k", if_match(other_)).status, 412);
  EXPECT_TRUE(std::filesystem::exists(folder("bucket/k")));
  EXPECT_EQ(remove("k", if_match(etag_of("k"))).status, 204);
  EXPECT_FALSE(std::filesystem::exists(folder("bucket/k")));
  EXPECT_EQ(remove("k", if_match(other_)).status, 204) << "there is nothing to protect";
}

TEST_F(WriteConditionsTest, ACopyHasConditionsOnBothKeys) {
  put("source", "bytes");
  put("k", "old");
  EXPECT_EQ(copy("k", {{"x-amz-copy-source-if-match", other_}}).status, 412);
  EXPECT_EQ(copy("k", absent_).status, 412);
  EXPECT_EQ(copy("k", if_match(other_)).status, 412);
  EXPECT_EQ(read_file(folder("bucket/k")), "old");
  NameValues headers = if_match(etag_of("k"));
  headers.emplace_back("x-amz-copy-source-if-match", etag_of("source"));
  EXPECT_EQ(copy("k", headers).status, 200);
  EXPECT_EQ(read_file(folder("bucket/k")), "bytes");
}

TEST_F(WriteConditionsTest, ACopyKeepsOrReplacesUserMetadata) {
  put("source", "bytes", {{"x-amz-meta-mode", "33188"}});
  copy("kept");
  EXPECT_EQ(metadata_of("kept", "mode"), "33188");
  copy("replaced", {{"x-amz-metadata-directive", "REPLACE"}, {"x-amz-meta-uid", "7"}});
  EXPECT_EQ(metadata_of("replaced", "mode"), "");
  EXPECT_EQ(metadata_of("replaced", "uid"), "7");
  EXPECT_EQ(
      copy("source", {{"x-amz-metadata-directive", "REPLACE"}, {"x-amz-meta-mode", "1"}}).status,
      200);
  EXPECT_EQ(metadata_of("source", "mode"), "1") << "onto itself";
}

TEST_F(WriteConditionsTest, AnUploadHasTheUserMetadataOfItsBeginning) {
  EXPECT_EQ(complete(upload({{"x-amz-meta-mtime", "1700000000"}})).status, 200);
  EXPECT_EQ(metadata_of("k", "mtime"), "1700000000");
}

TEST_F(WriteConditionsTest, APartCopyIsOfTheVersionNamed) {
  put("source", "0123456789");
  const std::string id = upload();
  const auto copy_part = [&](const std::string& etag) {
    return send({.method = "PUT",
                 .target = "/bucket/k?partNumber=1&uploadId=" + id,
                 .headers = {{"x-amz-copy-source", "/bucket/source"},
                             {"x-amz-copy-source-if-match", etag},
                             {"x-amz-copy-source-range", "bytes=2-4"}}});
  };
  EXPECT_EQ(copy_part(other_).status, 412);
  part_etag_ = between(body(copy_part(etag_of("source"))), "<ETag>", "</ETag>");
  EXPECT_EQ(complete(id).status, 200);
  EXPECT_EQ(read_file(folder("bucket/k")), "234");
  behave_as("no-part-copy");
  EXPECT_EQ(code(copy_part(etag_of("source"))), "NotImplemented");
}

TEST_F(WriteConditionsTest, OfManyWritersOfOneVersionOneSucceeds) {
  put("k", "old");
  const std::string etag = etag_of("k");
  std::atomic<int> stored{0};
  std::vector<std::jthread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      const Ask ask{.method = "PUT",
                    .target = "/bucket/k",
                    .headers = if_match(etag),
                    .body = "writer " + std::to_string(i)};
      if (send(ask).status == 200) ++stored;
    });
  }
  writers.clear();
  EXPECT_EQ(stored, 1);
}

TEST_F(WriteConditionsTest, SomeServersIgnoreIfMatch) {
  put("source", "bytes");
  put("k", "old");
  behave_as("no-if-match");
  EXPECT_EQ(put("k", "x", absent_).status, 412) << "but not the other";
  EXPECT_EQ(put("k", "new", if_match(other_)).status, 200);
  EXPECT_EQ(copy("k", if_match(other_)).status, 200);
  EXPECT_EQ(complete(upload(), if_match(other_)).status, 200);
  EXPECT_EQ(remove("k", if_match(other_)).status, 204);
  EXPECT_FALSE(std::filesystem::exists(folder("bucket/k")));
}

TEST_F(WriteConditionsTest, SomeServersIgnoreEveryCondition) {
  put("k", "old");
  behave_as("no-conditions");
  EXPECT_EQ(put("k", "x", absent_).status, 200);
  EXPECT_EQ(put("new", "x", if_match(other_)).status, 200) << "it never had that version";
}

TEST_F(WriteConditionsTest, SomeServersCompareThoseOfPutsOnly) {
  put("source", "bytes");
  put("k", "old");
  behave_as("put-conditions-only");
  EXPECT_EQ(put("k", "x", if_match(other_)).status, 412);
  EXPECT_EQ(complete(upload(), if_match(other_)).status, 412);
  EXPECT_EQ(copy("k", absent_).status, 200);
  EXPECT_EQ(copy("k", {{"x-amz-copy-source-if-match", other_}}).status, 412);
  EXPECT_EQ(remove("k", if_match(other_)).status, 204);
}

TEST_F(WriteConditionsTest, SomeServersRefuseThem) {
  put("source", "bytes");
  put("k", "old");
  behave_as("refused-conditions");
  EXPECT_EQ(code(put("k", "x", absent_)), "NotImplemented");
  EXPECT_EQ(code(copy("k", if_match(other_))), "NotImplemented");
  EXPECT_EQ(code(remove("k", if_match(other_))), "NotImplemented");
  EXPECT_EQ(put("k", "new").status, 200);
}

TEST_F(WriteConditionsTest, AListingBeginsAfterAKey) {
  for (const char* key : {"a", "b", "c/d", "e"}) put(key, "x");
  const std::string listed =
      body(send({.method = "GET", .target = "/bucket?list-type=2&start-after=b&delimiter=/"}));
  EXPECT_EQ(listed.find("<Key>b</Key>"), std::string::npos);
  EXPECT_NE(listed.find("<Prefix>c/</Prefix>"), std::string::npos);
  EXPECT_NE(listed.find("<Key>e</Key>"), std::string::npos);
}

TEST_F(WriteConditionsTest, EachAnswerIsAsLateAsTheServerIsTold) {
  Faults faults(registry_);
  services_->faults = &faults;
  services_->delay = std::chrono::milliseconds(20);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(put("k", "x").status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  services_->delay = std::chrono::hours(1);
  faults.stop();
  EXPECT_EQ(put("k", "x").status, 200) << "a server that ends does not wait";
}

}  // namespace
}  // namespace s3rdmafs::target
