// SPDX-License-Identifier: Apache-2.0
// Copies that the server makes, against a scripted server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3/exchanges/copy/large_copy.h"
#include "s3rdmafs/base/units.h"
#include "writer_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using fakes::error_answer;
using fakes::ScriptedAnswer;
using fakes::SeenRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ScriptedAnswer copied(const std::string& etag = "&quot;copy&quot;") {
  return {.body = "<CopyObjectResult><ETag>" + etag + "</ETag></CopyObjectResult>"};
}

ScriptedAnswer part_copied() {
  return {.body = "<CopyPartResult><ETag>\"p\"</ETag></CopyPartResult>"};
}

class CopyTest : public ObjectWriterTest {
 protected:
  static CopySource source(std::uint64_t size_bytes = 5) {
    return {.key = "a/ä b", .etag = "\"src\"", .size_bytes = size_bytes};
  }
  Result<std::string> copy(CopyOptions options = {}, CopySource from = source()) {
    Outcome<Result<std::string>> outcome;
    store().copy(std::move(from), "k", std::move(options), soon(), outcome.done());
    return outcome.get();
  }
  Result<std::string> copy_part(std::uint64_t offset = 0, std::uint64_t length = 5) {
    Outcome<Result<std::string>> outcome;
    store().upload_part_copy(source(100), offset, length, "k", "up/1", 7, soon(), outcome.done());
    return outcome.get();
  }
  SeenRequest seen(std::size_t index) const { return server_.seen().at(index); }
};

// --- CopyObject ---

TEST_F(CopyTest, NamesTheSourceAndItsVersion) {
  server_.then(copied());
  EXPECT_EQ(copy().value(), "\"copy\"");
  EXPECT_EQ(summary(seen(0)), "PUT /train/k");
  EXPECT_EQ(seen(0).headers.at("x-amz-copy-source"), "/train/a/%C3%A4%20b");
  EXPECT_EQ(seen(0).headers.at("x-amz-copy-source-if-match"), "\"src\"");
  EXPECT_EQ(seen(0).headers.at("x-amz-metadata-directive"), "COPY");
  EXPECT_EQ(counted("s3_requests_total", R"(operation="copy")"), 1U);
}

TEST_F(CopyTest, SendsTheQuotesThatAListingLeftOut) {
  server_.then(copied());
  EXPECT_TRUE(copy({}, {.key = "a", .etag = "src", .size_bytes = 5}));
  EXPECT_EQ(seen(0).headers.at("x-amz-copy-source-if-match"), "\"src\"");
}

TEST_F(CopyTest, ReplacesTheMetadataIfAsked) {
  server_.then(copied());
  EXPECT_TRUE(copy({.metadata = UserMetadata{{"mode", "33024"}}}));
  EXPECT_EQ(seen(0).headers.at("x-amz-metadata-directive"), "REPLACE");
  EXPECT_EQ(seen(0).headers.at("x-amz-meta-mode"), "33024");
}

TEST_F(CopyTest, SendsTheHeadersThatAReplacementWouldRemove) {
  server_.then(copied());
  server_.then(copied());
  server_.then(copied());
  const StoredHeaders headers = {{"content-type", "text/html"}, {"content-encoding", "gzip"}};
  EXPECT_TRUE(copy({.metadata = UserMetadata{}, .headers = headers}));
  EXPECT_EQ(seen(0).headers.at("content-type"), "text/html");
  EXPECT_EQ(seen(0).headers.at("content-encoding"), "gzip");
  EXPECT_TRUE(copy({.metadata = UserMetadata{}}));
  EXPECT_EQ(seen(1).headers.at("content-type"), "application/octet-stream");
  EXPECT_TRUE(copy({.headers = headers}));
  EXPECT_FALSE(seen(2).headers.contains("content-encoding")) << "the server copies them";
}

TEST_F(CopyTest, FindsTheErrorInsideA200) {
  server_.then({.body = "<Error><Code>InternalError</Code></Error>"});
  server_.then(copied());
  EXPECT_TRUE(copy());
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(CopyTest, AnErrorInsideA200MeansTheSameAsByItsStatus) {
  for (const char* const code : {"PreconditionFailed", "NoSuchKey"}) {
    const ScriptedAnswer fails{.body = std::string("<Error><Code>") + code + "</Code></Error>"};
    server_.then(fails);
    server_.then(fails);
  }
  server_.then({.status = 404});  // HEAD
  server_.then({.body = "<Error><Code>PreconditionFailed</Code></Error>"});
  server_.then(ok("\"theirs\""));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(copy().error().code, ErrorCode::kStale);
    EXPECT_EQ(copy_part().error().code, ErrorCode::kStale);
  }
  EXPECT_EQ(copy({.when = Precondition::absent()}).error().code, ErrorCode::kExists);
}

TEST_F(CopyTest, TellsThatTheSourceHasAnotherVersionOrIsGone) {
  server_.then(condition_fails());
  server_.then(error_answer(404, "NoSuchKey"));
  EXPECT_EQ(copy().error().code, ErrorCode::kStale);
  EXPECT_EQ(copy().error().code, ErrorCode::kStale);
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(CopyTest, TellsThatTheServerDoesNotCopy) {
  server_.then(error_answer(501, "NotImplemented"));
  server_.then(error_answer(405, "MethodNotAllowed"));
  EXPECT_EQ(copy().error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(copy().error().code, ErrorCode::kUnsupported);
}

TEST_F(CopyTest, AsksForTheStateOfItsKeyJustBefore) {
  server_.then({.status = 404});
  server_.then(copied());
  server_.then(ok("\"theirs\""));
  EXPECT_TRUE(copy({.when = Precondition::absent()}));
  EXPECT_EQ(copy({.when = Precondition::absent()}).error().code, ErrorCode::kExists);
  EXPECT_THAT(summaries(), ElementsAre("HEAD /train/k", "PUT /train/k", "HEAD /train/k"));
  EXPECT_EQ(seen(1).headers.at("if-none-match"), "*") << "it may compare it";
}

TEST_F(CopyTest, TellsWhichOfBothKeysFailedItsCondition) {
  server_.then({.status = 404});  // HEAD before
  server_.then(condition_fails());
  server_.then({.status = 404});  // the key is still absent: it is the source's condition
  server_.then({.status = 404});
  server_.then(condition_fails());
  server_.then(ok("\"theirs\""));
  EXPECT_EQ(copy({.when = Precondition::absent()}).error().code, ErrorCode::kStale);
  EXPECT_EQ(copy({.when = Precondition::absent()}).error().code, ErrorCode::kExists);
}

TEST_F(CopyTest, RecognisesItsOwnCopyAfterALostAnswer) {
  server_.then({.status = 404});
  server_.then({.cut = true});
  server_.then({.headers = {{"ETag", "\"src\""}}, .body = "12345"});  // HEAD before the next
  EXPECT_EQ(copy({.when = Precondition::absent()}).value(), "\"src\"");
}

TEST_F(CopyTest, DoesNotTakeAnothersObjectOfTheSameLengthForItsOwnAfterALostAnswer) {
  for (const char* const body : {"12345", "1234"}) {
    server_.then({.status = 404});
    server_.then({.cut = true});
    server_.then({.headers = {{"ETag", "\"theirs\""}}, .body = body});
  }
  EXPECT_EQ(copy({.when = Precondition::absent()}).error().code, ErrorCode::kExists);
  EXPECT_EQ(copy({.when = Precondition::absent()}).error().code, ErrorCode::kExists);
  EXPECT_EQ(server_.seen().size(), 6U);
}

TEST_F(CopyTest, RecognisesItsOwnCopyAfterAProxyGaveUp) {
  server_.then({.status = 404});
  server_.then({.status = 504});
  server_.then({.headers = {{"ETag", "\"src\""}}, .body = "12345"});  // HEAD before the next
  EXPECT_EQ(copy({.when = Precondition::absent()}).value(), "\"src\"");
}

TEST_F(CopyTest, IsRepeatedAfterALostAnswerIfItNeedsNoState) {
  server_.then({.cut = true});
  server_.then(copied());
  EXPECT_TRUE(copy());
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(CopyTest, OntoItselfIsRecognisedByItsMetadataAfterALostAnswer) {
  CopySource itself{.key = "k", .etag = "\"src-2\"", .size_bytes = 5};
  server_.then({.cut = true});
  server_.then(condition_fails());  // the new version has another ETag
  server_.then({.headers = {{"ETag", "\"new\""}, {"x-amz-meta-mode", "1"}}, .body = "12345"});
  EXPECT_EQ(copy({.metadata = UserMetadata{{"mode", "1"}}}, itself).value(), "\"new\"");
}

TEST_F(CopyTest, ToAnotherKeyIsNotRecognisedByItsLengthAndMetadataAfterALostAnswer) {
  for (const char* const etag : {"\"theirs\"", "\"src\""}) {
    server_.then({.status = 404});
    server_.then({.cut = true});
    server_.then({.headers = {{"ETag", etag}}, .body = "12345"});
  }
  const CopyOptions options{.when = Precondition::absent(), .metadata = UserMetadata{}};
  EXPECT_EQ(copy(options).error().code, ErrorCode::kExists) << "another client's";
  EXPECT_EQ(copy(options).value(), "\"src\"") << "the control";
}

TEST_F(CopyTest, ASuccessWithoutAResultIsLookedAt) {
  server_.then({});  // a server that does not know the header stores an empty object
  server_.then({.headers = {{"ETag", "\"empty\""}}});
  server_.then({.body = "<CopyObjec"});
  server_.then({.headers = {{"ETag", "\"src\""}}, .body = "12345"});
  EXPECT_EQ(copy().error().code, ErrorCode::kProtocol);
  EXPECT_EQ(copy().value(), "\"src\"");
}

// --- UploadPartCopy ---

TEST_F(CopyTest, APartNamesItsBytes) {
  server_.then(part_copied());
  EXPECT_EQ(copy_part(10, 20).value(), "\"p\"");
  EXPECT_EQ(summary(seen(0)), "PUT /train/k?partNumber=7&uploadId=up%2F1");
  EXPECT_EQ(seen(0).headers.at("x-amz-copy-source"), "/train/a/%C3%A4%20b");
  EXPECT_EQ(seen(0).headers.at("x-amz-copy-source-if-match"), "\"src\"");
  EXPECT_EQ(seen(0).headers.at("x-amz-copy-source-range"), "bytes=10-29");
  EXPECT_EQ(counted("s3_requests_total", R"(operation="upload_part_copy")"), 1U);
}

TEST_F(CopyTest, APartOfTheWholeSourceNamesNoRange) {
  server_.then(part_copied());
  EXPECT_TRUE(copy_part(0, 100));
  EXPECT_FALSE(seen(0).headers.contains("x-amz-copy-source-range"));
}

TEST_F(CopyTest, APartIsRepeatedAndItsErrorsAreTold) {
  server_.then({.cut = true});
  server_.then({.body = "<Error><Code>SlowDown</Code></Error>"});
  server_.then(part_copied());
  server_.then(condition_fails());
  server_.then(error_answer(404, "NoSuchKey"));
  server_.then(error_answer(404, "NoSuchUpload"));
  server_.then(error_answer(501, "NotImplemented"));
  EXPECT_TRUE(copy_part());
  EXPECT_EQ(copy_part().error().code, ErrorCode::kStale);
  EXPECT_EQ(copy_part().error().code, ErrorCode::kStale);
  EXPECT_EQ(copy_part().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(copy_part().error().code, ErrorCode::kUnsupported);
}

// --- Copies of more than 5 GiB ---

class LargeCopyTest : public CopyTest {
 protected:
  static constexpr std::uint64_t kLargeBytes = 5 * kGiB + 1;
  static constexpr std::size_t kParts = 11;  // ten of 512 MiB, and one byte

  /// A server that has the source in version `etag`, and copies parts until `fails_at`.
  void serve(const std::string& etag, const std::string& fails_at = "none") {
    server_.answer_by([this, etag, fails_at](const SeenRequest& request) {
      const MutexLock lock(mutex_);
      requests_.push_back(request);
      if (request.method == "HEAD") {
        return ScriptedAnswer{.headers = {{"ETag", etag},
                                          {"x-amz-meta-mode", "33188"},
                                          {"Content-Language", "de"},
                                          {"x-amz-storage-class", "STANDARD_IA"}}};
      }
      if (request.query == "uploads=" || request.query == "uploads") return upload_created();
      if (request.method == "POST") return upload_completed();
      if (request.method == "DELETE") return ScriptedAnswer{.status = 204};
      if (request.query.starts_with("partNumber=" + fails_at + "&")) return condition_fails();
      return part_copied();
    });
  }
  std::size_t count(const std::string& method) {
    const MutexLock lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count(requests_, method, &SeenRequest::method));
  }

  Mutex mutex_;
  std::vector<SeenRequest> requests_ GUARDED_BY(mutex_);
};

TEST_F(LargeCopyTest, IsMadeOfPartsAndKeepsItsMetadata) {
  serve("\"src\"");
  EXPECT_EQ(copy({}, source(kLargeBytes)).value(), "\"whole\"");
  EXPECT_EQ(count("PUT"), kParts);
  const MutexLock lock(mutex_);
  EXPECT_EQ(requests_.at(0).method, "HEAD");
  EXPECT_EQ(requests_.at(1).headers.at("x-amz-meta-mode"), "33188");
  EXPECT_EQ(requests_.at(1).headers.at("content-language"), "de");
  EXPECT_EQ(requests_.at(1).headers.at("x-amz-storage-class"), "STANDARD_IA");
  EXPECT_FALSE(requests_.at(1).headers.contains("x-amz-checksum-algorithm"));
  bool has_last = false;
  for (const SeenRequest& request : requests_) {
    const auto range = request.headers.find("x-amz-copy-source-range");
    has_last |= range != request.headers.end() && range->second == "bytes=5368709120-5368709120";
  }
  EXPECT_TRUE(has_last);
}

TEST_F(LargeCopyTest, TakesTheMetadataGivenWithoutAsking) {
  serve("\"src\"");
  EXPECT_TRUE(copy({.metadata = UserMetadata{{"mode", "1"}}, .headers = {{"expires", "0"}}},
                   source(kLargeBytes)));
  EXPECT_EQ(count("HEAD"), 0U);
  const MutexLock lock(mutex_);
  EXPECT_EQ(requests_.at(0).headers.at("expires"), "0");
  EXPECT_EQ(requests_.at(0).headers.at("x-amz-meta-mode"), "1");
}

TEST_F(LargeCopyTest, CopiesNothingOfAnotherVersion) {
  serve("\"another\"");
  EXPECT_EQ(copy({}, source(kLargeBytes)).error().code, ErrorCode::kStale);
  EXPECT_EQ(count("POST"), 0U);
}

TEST_F(LargeCopyTest, AbortsItsUploadIfAPartFails) {
  serve("\"src\"", "3");
  EXPECT_EQ(copy({}, source(kLargeBytes)).error().code, ErrorCode::kStale);
  EXPECT_EQ(count("DELETE"), 1U);
  EXPECT_EQ(count("POST"), 1U) << "it was not completed";
}

TEST_F(LargeCopyTest, NotesItsUploadUntilItHasEnded) {
  for (const std::string fails_at : {"none", "3"}) {
    NotedUploads noted;
    store().set_upload_log(noted);
    serve("\"src\"", fails_at);
    static_cast<void>(copy({}, source(kLargeBytes)));
    EXPECT_THAT(noted.notes(), ElementsAre(HasSubstr(" up/1"), "-up/1")) << fails_at;
  }
}

TEST_F(LargeCopyTest, UpTo5GiBIsOneRequest) {
  server_.then(copied());
  EXPECT_TRUE(copy({}, source(5 * kGiB)));
  EXPECT_EQ(server_.seen().size(), 1U);
}

}  // namespace
}  // namespace s3rdmafs::s3
