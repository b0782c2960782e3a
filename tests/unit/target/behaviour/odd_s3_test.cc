// SPDX-License-Identifier: Apache-2.0
// Servers whose S3 differs: weak ETags, no delimiter, repeated tokens.
#include "unit/target/behaviour/behaviour_fixture.h"

namespace s3rdmafs::target {
namespace {

class OddS3Test : public BehaviourTest {
 protected:
  std::string list(const std::string& query) {
    return body(send({.method = "GET", .target = "/bucket?list-type=2" + query}));
  }
  /// How often `part` is in `text`.
  static int times(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }
  std::string store(const std::string& content) {
    return header(send({.method = "PUT", .target = "/bucket/new", .body = content}), "ETag");
  }
};

TEST_F(OddS3Test, WeakEtagsRepeatWithinASecondAndForAnEqualSize) {
  EXPECT_NE(store("old"), store("new")) << "control";
  behave_as("weak-etags");
  const std::string etag = store("old");
  EXPECT_EQ(store("new"), etag);
  EXPECT_EQ(header(send({.method = "HEAD", .target = "/bucket/new"}), "ETag"), etag);
  EXPECT_NE(list("").find(etag.substr(1, etag.size() - 2)), std::string::npos);
  EXPECT_NE(store("newer"), etag);
  clock_.advance(std::chrono::seconds(1));
  EXPECT_NE(store("new"), etag);
}

TEST_F(OddS3Test, WeakEtagsAreOfWholeUploadsToo) {
  behave_as("weak-etags");
  service_.windows[kToken] = "123456789";
  const auto upload = [this] {
    const std::string address = part_address();
    const std::string etag = header(request("PUT", address, kToken), "ETag");
    const std::string document = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>" +
                                 etag + "</ETag></Part></CompleteMultipartUpload>";
    const std::string id = address.substr(address.find("uploadId"));
    return between(body(send({.method = "POST", .target = "/bucket/new?" + id, .body = document})),
                   "<ETag>", "</ETag>");
  };
  const std::string first = upload();
  service_.windows[kToken] = "987654321";
  EXPECT_NE(first, "");
  EXPECT_EQ(upload(), first);
}

TEST_F(OddS3Test, NoDelimiterListsEveryKey) {
  write_file(folder("bucket/folder/one"), "1");
  EXPECT_EQ(times(list("&delimiter=/"), "<CommonPrefixes>"), 1) << "control";
  behave_as("no-delimiter");
  EXPECT_EQ(times(list("&delimiter=/"), "<CommonPrefixes>"), 0);
  EXPECT_EQ(times(list("&delimiter=/"), "<Key>folder/one</Key>"), 1);
}

TEST_F(OddS3Test, RepeatedTokensLeadNowhere) {
  for (int i = 0; i < 100; ++i) write_file(folder("bucket/many") / std::to_string(i), "");
  EXPECT_EQ(times(list("&prefix=many/"), "<Key>"), 100) << "control";
  behave_as("repeated-tokens");
  const std::string first = list("&prefix=many/");
  const std::string token = between(first, "<NextContinuationToken>", "</NextContinuationToken>");
  ASSERT_NE(token, "");
  const std::string second = list("&prefix=many/&continuation-token=" + token);
  EXPECT_NE(between(second, "<Key>", "</Key>"), between(first, "<Key>", "</Key>"));
  EXPECT_EQ(between(second, "<NextContinuationToken>", "</NextContinuationToken>"), token);
  EXPECT_EQ(list("&prefix=many/&continuation-token=" + token), second);
}

}  // namespace
}  // namespace s3rdmafs::target
