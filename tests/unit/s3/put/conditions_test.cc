// SPDX-License-Identifier: Apache-2.0
// Writes that require a state of their key, of servers that compare it and of servers that do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3/wire/object_checksum.h"
#include "writer_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using fakes::error_answer;
using fakes::ScriptedAnswer;
using fakes::SeenRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Precondition kOldVersion = Precondition::matches("\"old\"");

class ConditionsTest : public ObjectWriterTest {
 protected:
  ConditionsTest() { options_.rdma.mode = RdmaMode::kOff; }

  /// Lets the store learn that the server compares, with two requests; what comes then is answered
  /// as given.
  void learn_that_it_compares(const std::vector<ScriptedAnswer>& then) {
    server_.then(condition_fails());
    server_.then(ok("\"old\""));
    for (const ScriptedAnswer& answer : then) server_.then(answer);
    ASSERT_TRUE(put_with({.when = kOldVersion}).etag);
    requests_before_ = server_.seen().size();
  }
  std::vector<std::string> later_summaries() const {
    std::vector<std::string> all = summaries();
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(requests_before_));
    return all;
  }
  SeenRequest last() const { return server_.seen().back(); }
  ErrorCode error_of_put(const Precondition& when) {
    const PutOutcome outcome = put_with({.when = when});
    return outcome.etag ? ErrorCode::kSystem : outcome.etag.error().code;
  }
  ScriptedAnswer ours(const std::string& etag) {
    return {
        .headers = {{"ETag", etag},
                    {"x-amz-checksum-crc64nvme",
                     checksum_text(crc64nvme(0, region_.bytes().subspan(kOffset, kWindowBytes)))}},
        .body = window()};
  }

  std::size_t requests_before_ = 0;
};

TEST_F(ConditionsTest, AProbeThatMustFailShowsThatAServerComparesThem) {
  server_.then(condition_fails());
  server_.then(ok());
  EXPECT_TRUE(put_with({.when = kOldVersion}).etag);
  EXPECT_TRUE(put_with({.when = kOldVersion}).etag);
  const auto seen = server_.seen();
  ASSERT_EQ(seen.size(), 3U) << "one probe, and no HEAD";
  EXPECT_THAT(summary(seen[0]), StartsWith("PUT /train/.s3rdmafs-probe-"));
  EXPECT_EQ(seen[0].headers.at("content-length"), "0");
  EXPECT_TRUE(seen[0].headers.contains("if-match"));
  for (const std::size_t put : {1U, 2U}) {
    EXPECT_EQ(summary(seen[put]), "PUT /train/k body");
    EXPECT_EQ(seen[put].headers.at("if-match"), "\"old\"");
  }
}

TEST_F(ConditionsTest, SendsTheQuotesThatAListingLeftOut) {
  learn_that_it_compares({ok()});
  for (const char* const etag : {"v", "\"v\"", "W/\"v\""}) {
    EXPECT_TRUE(put_with({.when = Precondition::matches(etag)}).etag);
    const std::string wanted = etag == std::string("v") ? "\"v\"" : etag;
    EXPECT_EQ(last().headers.at("if-match"), wanted);
  }
}

TEST_F(ConditionsTest, AnAnswerOf404ToTheProbeMeansTheSame) {
  server_.then(error_answer(404, "NoSuchKey"));
  server_.then(ok());
  EXPECT_TRUE(put_with({.when = Precondition::absent()}).etag);
  EXPECT_EQ(server_.seen().size(), 2U);
  EXPECT_EQ(last().headers.at("if-none-match"), "*");
}

TEST_F(ConditionsTest, OfAServerThatIgnoresThemTheStateIsAskedForJustBefore) {
  server_.then(ok("\"probe\""));  // it stored the probe
  server_.then(ok("\"probe\""));  // and again, though it was there
  server_.then({.status = 204});
  server_.then(ok("\"old\""));  // HEAD
  server_.then(ok("\"new\""));
  server_.then(ok("\"theirs\""));  // HEAD
  EXPECT_EQ(put_with({.when = kOldVersion}).etag.value(), "\"new\"");
  EXPECT_EQ(error_of_put(kOldVersion), ErrorCode::kStale);
  EXPECT_THAT(summaries(), ElementsAre(StartsWith("PUT /train/.s3rdmafs-probe-"),
                                       StartsWith("PUT /train/.s3rdmafs-probe-"),
                                       StartsWith("DELETE /train/.s3rdmafs-probe-"),
                                       "HEAD /train/k", "PUT /train/k body", "HEAD /train/k"));
  EXPECT_EQ(server_.seen().at(4).headers.at("if-match"), "\"old\"") << "it may compare after all";
}

TEST_F(ConditionsTest, AServerThatIgnoresThemIsAskedWhetherTheKeyIsAbsent) {
  server_.then(ok("\"probe\""));
  server_.then(ok("\"probe\""));
  server_.then({.status = 204});
  server_.then({.status = 404});
  server_.then(ok("\"new\""));
  server_.then(ok("\"new\""));
  EXPECT_TRUE(put(/*only_if_absent=*/true).etag);
  EXPECT_EQ(error_of_put(Precondition::absent()), ErrorCode::kExists);
  EXPECT_EQ(server_.seen().size(), 6U);
}

TEST_F(ConditionsTest, NewKeysCostNoHeadOfAServerThatComparesIfNoneMatchOnly) {
  server_.then(ok("\"probe\""));  // it ignores If-Match
  server_.then(condition_fails());
  server_.then({.status = 204});
  server_.then(ok());
  server_.then(ok());
  server_.then(ok("\"theirs\""));
  EXPECT_TRUE(put(/*only_if_absent=*/true).etag);
  EXPECT_TRUE(put(/*only_if_absent=*/true).etag);
  EXPECT_EQ(error_of_put(kOldVersion), ErrorCode::kStale);
  EXPECT_THAT(later_summaries(),
              ElementsAre(StartsWith("PUT /train/.s3rdmafs-probe-"),
                          StartsWith("PUT /train/.s3rdmafs-probe-"),
                          StartsWith("DELETE /train/.s3rdmafs-probe-"), "PUT /train/k body",
                          "PUT /train/k body", "HEAD /train/k"));
  const auto seen = server_.seen();
  EXPECT_EQ(seen.at(1).url, seen.at(0).url);
  EXPECT_EQ(seen.at(1).headers.at("if-none-match"), "*");
  EXPECT_EQ(seen.at(3).headers.at("if-none-match"), "*");
}

TEST_F(ConditionsTest, AServerThatRefusesIfMatchMayCompareIfNoneMatch) {
  server_.then(error_answer(501, "NotImplemented"));
  server_.then(ok("\"probe\""));  // it was absent: that tells nothing
  server_.then(condition_fails());
  server_.then({.status = 204});
  server_.then(ok());
  EXPECT_TRUE(put(/*only_if_absent=*/true).etag);
  EXPECT_EQ(server_.seen().size(), 5U);
  EXPECT_EQ(summaries().back(), "PUT /train/k body");
  EXPECT_EQ(last().headers.at("if-none-match"), "*");
}

TEST_F(ConditionsTest, AProbeIsRemovedAtTheSecondTryIfTheServerIsBusy) {
  server_.then(ok("\"probe\""));
  server_.then(condition_fails());
  server_.then(error_answer(503, "SlowDown"));
  server_.then({.status = 204});
  server_.then(ok());
  EXPECT_TRUE(put(/*only_if_absent=*/true).etag);
  const auto all = summaries();
  EXPECT_THAT(all.at(3), StartsWith("DELETE /train/.s3rdmafs-probe-"));
  EXPECT_EQ(all.back(), "PUT /train/k body");
}

TEST_F(ConditionsTest, AProbeThatCannotBeRemovedDoesNotFailTheWrite) {
  server_.then(ok("\"probe\""));
  server_.then(condition_fails());
  server_.then(error_answer(503, "SlowDown"));
  server_.then(error_answer(403, "AccessDenied"));
  server_.then(ok());
  EXPECT_TRUE(put(/*only_if_absent=*/true).etag);
  EXPECT_EQ(server_.seen().size(), 5U);
}

TEST_F(ConditionsTest, AServerThatRefusesThemGetsNoneAnyMore) {
  server_.then(error_answer(501, "NotImplemented"));
  server_.then(error_answer(501, "NotImplemented"));
  server_.then(ok("\"old\""));
  server_.then(ok("\"new\""));
  EXPECT_TRUE(put_with({.when = kOldVersion}).etag);
  EXPECT_EQ(summaries().at(2), "HEAD /train/k");
  EXPECT_FALSE(last().headers.contains("if-match"));
}

TEST_F(ConditionsTest, AServerThatRefusesOneWithoutAProbeIsAskedInstead) {
  server_.then(ok("\"old\""));  // HEAD, since there is no probe of this kind
  server_.then(error_answer(501, "NotImplemented"));
  server_.then(ok("\"old\""));
  server_.then(upload_completed());
  EXPECT_TRUE(complete({{1, kPartEtag, 0}}, kOldVersion));
  EXPECT_THAT(summaries(), ElementsAre("HEAD /train/k", "POST /train/k?uploadId=up%2F1 body",
                                       "HEAD /train/k", "POST /train/k?uploadId=up%2F1 body"));
  EXPECT_TRUE(server_.seen().at(1).headers.contains("if-match"));
  EXPECT_FALSE(last().headers.contains("if-match"));
}

TEST_F(ConditionsTest, AServerThatRefusesARequestForAnotherReasonIsBelievedAtTheSecondTime) {
  server_.then(ok("\"probe\""));
  server_.then(ok("\"probe\""));
  server_.then({.status = 204});
  server_.then(ok("\"old\""));
  server_.then(error_answer(400, "InvalidArgument", "The key is not valid"));
  server_.then(ok("\"old\""));
  server_.then(error_answer(400, "InvalidArgument", "The key is not valid"));
  EXPECT_EQ(error_of_put(kOldVersion), ErrorCode::kInvalidArgument);
  EXPECT_EQ(server_.seen().size(), 7U);
}

TEST_F(ConditionsTest, AProbeThatIsNotAnsweredTeachesNothing) {
  options_.retry.attempts_max = 1;
  server_.then({.cut = true});
  server_.then(condition_fails());
  server_.then(ok());
  EXPECT_FALSE(put_with({.when = kOldVersion}).etag);
  EXPECT_TRUE(put_with({.when = kOldVersion}).etag);
  EXPECT_THAT(summaries().at(1), StartsWith("PUT /train/.s3rdmafs-probe-"));
}

TEST_F(ConditionsTest, AProbeWhoseAnswerTellsNothingIsRepeatedByTheNextRequestOnly) {
  server_.then(error_answer(403, "AccessDenied"));
  server_.then(ok("\"old\""));  // HEAD
  server_.then(ok());
  server_.then(condition_fails());
  server_.then(ok());
  EXPECT_TRUE(put_with({.when = kOldVersion}).etag);
  EXPECT_TRUE(put_with({.when = kOldVersion}).etag);
  EXPECT_THAT(
      summaries(),
      ElementsAre(StartsWith("PUT /train/.s3rdmafs-probe-"), "HEAD /train/k", "PUT /train/k body",
                  StartsWith("PUT /train/.s3rdmafs-probe-"), "PUT /train/k body"));
}

TEST_F(ConditionsTest, AHeadCountsForOneAttemptOnly) {
  server_.then(ok("\"old\""));
  server_.then(error_answer(503, "SlowDown"));
  server_.then(ok("\"theirs\""));  // another client stored it during the pause
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, kOldVersion).error().code, ErrorCode::kStale);
  EXPECT_THAT(summaries(),
              ElementsAre("HEAD /train/k", "POST /train/k?uploadId=up%2F1 body", "HEAD /train/k"));
}

TEST_F(ConditionsTest, A412ToIfNoneMatchDoesNotShowThatIfMatchIsCompared) {
  server_.then({.status = 404});
  server_.then(condition_fails());
  server_.then(ok("\"theirs\""));  // HEAD
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, Precondition::absent()).error().code, ErrorCode::kExists);
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, kOldVersion).error().code, ErrorCode::kStale);
  EXPECT_THAT(summaries(),
              ElementsAre("HEAD /train/k", "POST /train/k?uploadId=up%2F1 body", "HEAD /train/k"));
}

TEST_F(ConditionsTest, TellsThatTheKeyIsThere) {
  server_.then(condition_fails());
  EXPECT_EQ(error_of_put(Precondition::absent()), ErrorCode::kExists);
  EXPECT_EQ(server_.seen().size(), 2U);
}

TEST_F(ConditionsTest, TellsThatTheKeyHasAnotherVersionOrNone) {
  learn_that_it_compares({condition_fails(), error_answer(404, "NoSuchKey")});
  EXPECT_EQ(error_of_put(kOldVersion), ErrorCode::kStale);
  EXPECT_EQ(error_of_put(kOldVersion), ErrorCode::kStale);
}

TEST_F(ConditionsTest, RecognisesItsOwnObjectAfterALostAnswer) {
  learn_that_it_compares({{.cut = true}, condition_fails(), ours("\"ours\"")});
  EXPECT_EQ(put_with({.when = kOldVersion}).etag.value(), "\"ours\"");
  EXPECT_THAT(later_summaries(),
              ElementsAre("PUT /train/k body", "PUT /train/k body", "HEAD /train/k"));
}

TEST_F(ConditionsTest, RecognisesItsOwnObjectAfterAProxyGaveUp) {
  learn_that_it_compares({{.status = 504}, condition_fails(), ours("\"ours\"")});
  EXPECT_EQ(put_with({.when = kOldVersion}).etag.value(), "\"ours\"");
}

TEST_F(ConditionsTest, AServerThatThrottlesStoredNothing) {
  learn_that_it_compares({error_answer(503, "SlowDown"), condition_fails(), ours("\"theirs\"")});
  EXPECT_EQ(error_of_put(kOldVersion), ErrorCode::kStale);
  EXPECT_THAT(later_summaries(), ElementsAre("PUT /train/k body", "PUT /train/k body"));
}

TEST_F(ConditionsTest, TheOldVersionIsNotItsOwnObject) {
  const ScriptedAnswer old_version{.headers = {{"ETag", "old"}}, .body = window()};
  learn_that_it_compares({{.cut = true}, condition_fails(), old_version});
  EXPECT_EQ(error_of_put(kOldVersion), ErrorCode::kStale);
}

TEST_F(ConditionsTest, RecognisesItsOwnObjectOnAServerThatIgnoresConditions) {
  server_.then(ok("\"probe\""));
  server_.then(ok("\"probe\""));
  server_.then({.status = 204});
  server_.then({.status = 404});
  server_.then({.cut = true});
  server_.then(ours("\"ours\""));  // HEAD before the next attempt
  EXPECT_EQ(put(/*only_if_absent=*/true).etag.value(), "\"ours\"");
  EXPECT_EQ(server_.seen().size(), 6U);
}

TEST_F(ConditionsTest, DoesNotTakeAnothersObjectForItsOwnAfterALostAnswer) {
  const ScriptedAnswer other_bytes{
      .headers = {{"ETag", "\"t\""}, {"x-amz-checksum-crc64nvme", "AAAAAAAAAAA="}},
      .body = window()};
  const ScriptedAnswer other_metadata{.headers = {{"ETag", "\"t\""}, {"x-amz-meta-mtime", "8"}},
                                      .body = window()};
  learn_that_it_compares({{.cut = true},
                          condition_fails(),
                          other_bytes,
                          {.cut = true},
                          condition_fails(),
                          other_metadata});
  for (int i = 0; i < 2; ++i) {
    const PutOutcome outcome =
        put_with({.when = Precondition::absent(), .metadata = {{"mtime", "7"}}});
    ASSERT_FALSE(outcome.etag);
    EXPECT_EQ(outcome.etag.error().code, ErrorCode::kExists);
  }
}

TEST_F(ConditionsTest, RepeatsAWriteThatConflictsWithOneUnderWay) {
  learn_that_it_compares({error_answer(409, "ConditionalRequestConflict"), ok()});
  EXPECT_TRUE(put_with({.when = kOldVersion}).etag);
}

TEST_F(ConditionsTest, AnUploadIsCompletedOnlyOverTheVersionThatItReplaces) {
  server_.then(ok("\"old\""));
  server_.then(condition_fails());
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, kOldVersion).error().code, ErrorCode::kStale);
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, Precondition::absent()).error().code, ErrorCode::kExists);
  EXPECT_THAT(summaries(), ElementsAre("HEAD /train/k", "POST /train/k?uploadId=up%2F1 body",
                                       "POST /train/k?uploadId=up%2F1 body"))
      << "the 412 shows that it compares";
  EXPECT_EQ(last().headers.at("if-none-match"), "*");
}

TEST_F(ConditionsTest, AConflictInsideA200IsOneToo) {
  server_.then(ok("\"old\""));
  server_.then({.body = "<Error><Code>PreconditionFailed</Code></Error>"});
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, kOldVersion).error().code, ErrorCode::kStale);
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, Precondition::absent()).error().code, ErrorCode::kExists);
}

TEST_F(ConditionsTest, ALostCompletionIsRecognisedIfA200SaysThatTheUploadIsGone) {
  server_.then({.cut = true});
  server_.then({.body = "<Error><Code>NoSuchUpload</Code></Error>"});
  server_.then(ok("\"whole\""));
  EXPECT_EQ(complete().value(), "\"whole\"");
}

TEST_F(ConditionsTest, AnUploadIsNotCompletedOverAnothersVersionThatAHeadShows) {
  server_.then(ok("\"theirs\""));
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, kOldVersion).error().code, ErrorCode::kStale);
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(ConditionsTest, ALostCompletionThatTookEffectIsRecognisedThoughItsConditionFailsNow) {
  server_.then(ok("\"old\""));
  server_.then({.cut = true});
  server_.then(ok("\"whole\""));  // HEAD before the next attempt
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, kOldVersion).value(), "\"whole\"");
}

TEST_F(ConditionsTest, ACompletionThatAProxyGaveUpIsRecognised) {
  server_.then(ok("\"old\""));
  server_.then({.status = 504});
  server_.then(ok("\"whole\""));  // HEAD before the next attempt
  EXPECT_EQ(complete({{1, kPartEtag, 0}}, kOldVersion).value(), "\"whole\"");
}

TEST_F(ConditionsTest, TheOldVersionIsNotTheObjectThatWasCompleted) {
  const ScriptedAnswer without_checksum{.headers = {{"ETag", "\"old\""}}, .body = window()};
  for (const ScriptedAnswer& there : {without_checksum, ours("\"old\"")}) {
    server_.then(ok("\"old\""));
    server_.then({.cut = true});
    server_.then(ok("\"old\""));
    server_.then(error_answer(404, "NoSuchUpload"));
    server_.then(there);
  }
  const UploadedPart part{.number = 1,
                          .etag = kPartEtag,
                          .crc64nvme = body(region_).crc64nvme,
                          .size_bytes = kWindowBytes};
  EXPECT_EQ(complete({part}, kOldVersion).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(complete({part}, kOldVersion)) << "the same bytes may have the same ETag";
}

TEST_F(ConditionsTest, AnObjectOfAnotherLengthIsNotTheOneThatWasCompleted) {
  server_.then({.status = 404});
  server_.then({.cut = true});
  server_.then({.headers = {{"ETag", "\"theirs\""}}, .body = "12345"});
  EXPECT_EQ(complete({{.number = 1, .etag = kPartEtag, .size_bytes = 6}}, Precondition::absent())
                .error()
                .code,
            ErrorCode::kExists);
}

TEST_F(ConditionsTest, APartThatTheServerCopiedHasNoChecksumInTheCompletion) {
  server_.then(upload_completed());
  EXPECT_TRUE(complete({{1, "\"a\"", 7, 1}, {.number = 2, .etag = "\"b\"", .size_bytes = 1}}));
  EXPECT_THAT(last().body, HasSubstr("<PartNumber>2</PartNumber><ETag>\"b\"</ETag></Part>"));
}

}  // namespace
}  // namespace s3rdmafs::s3
