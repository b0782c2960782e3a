// SPDX-License-Identifier: Apache-2.0
// RenameObject, against a scripted server: what is learned of it, and what no answer may do.
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/log_capture.h"
#include "writer_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using fakes::SeenRequest;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

const std::string kProbe = "PUT /train/b/\\.s3rdmafs-probe-[0-9a-f]+\\?renameObject";
const std::string kRename = "PUT /train/b/new%20name?renameObject";

class RenameTest : public ObjectWriterTest {
 protected:
  static CopySource source(std::uint64_t size_bytes = 5) {
    return {.key = "a/ä b", .etag = "\"src\"", .size_bytes = size_bytes};
  }
  std::string rename(Precondition when = {}, CopySource from = source(),
                     std::optional<Deadline> deadline = std::nullopt) {
    Outcome<Result<std::string>> outcome;
    store().rename(std::move(from), "b/new name", std::move(when), deadline.value_or(soon()),
                   outcome.done());
    const Result<std::string> etag = outcome.get();
    return etag ? *etag : std::string(error_code_name(etag.error().code));
  }
  /// The endpoint turns out to have the operation.
  void answer_probe() { server_.then(error_answer(404, "NoSuchKey")); }
  SeenRequest seen(std::size_t index) const { return server_.seen().at(index); }
  /// The requests after the probe.
  std::vector<std::string> after_probe() const {
    std::vector<std::string> all = summaries();
    all.erase(all.begin());
    return all;
  }
};

ScriptedAnswer holds(const std::string& etag, const std::string& bytes = "12345") {
  return {.headers = {{"ETag", etag}}, .body = bytes};
}

TEST_F(RenameTest, IsOneRequestAfterOneThatFindsTheServerAble) {
  answer_probe();
  server_.then({});
  EXPECT_EQ(rename(), "\"src\"") << "the ETag stays";
  EXPECT_EQ(rename(), "\"src\"");
  ASSERT_EQ(server_.seen().size(), 3U);
  EXPECT_THAT(summaries()[0], MatchesRegex(kProbe));
  EXPECT_THAT(after_probe(), ElementsAre(kRename, kRename));
  EXPECT_EQ(seen(1).headers.at("x-amz-rename-source"), "/a/%C3%A4%20b");
  EXPECT_EQ(seen(1).headers.at("x-amz-rename-source-if-match"), "\"src\"");
  EXPECT_FALSE(seen(1).headers.contains("if-match") || seen(1).headers.contains("if-none-match"));
  EXPECT_EQ(counted("s3_requests_total", R"(operation="rename")"), 2U);
}

TEST_F(RenameTest, TheProbeNamesNoKeyThatAnybodyHas) {
  answer_probe();
  server_.then({});
  EXPECT_EQ(rename(), "\"src\"");
  EXPECT_EQ(seen(0).headers.at("if-none-match"), "*");
  EXPECT_THAT(seen(0).headers.at("x-amz-rename-source"), StartsWith("/b/.s3rdmafs-probe-"));
  EXPECT_NE("/train" + seen(0).headers.at("x-amz-rename-source"), seen(0).url);
}

TEST_F(RenameTest, IsNotAskedForAgainWhereTheServerRefusesIt) {
  server_.then(error_answer(501, "NotImplemented"));
  EXPECT_EQ(rename(), "Unsupported");
  EXPECT_EQ(rename(), "Unsupported");
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(RenameTest, EachKindOfRefusalMeansThatTheServerCopies) {
  const std::vector<ScriptedAnswer> refusals = {error_answer(400, "InvalidRequest"),
                                                error_answer(405, "MethodNotAllowed"),
                                                error_answer(412, "PreconditionFailed"),
                                                error_answer(403, "AccessDenied"),
                                                {.status = 404}};
  for (const ScriptedAnswer& refusal : refusals) server_.then(refusal);
  for (const ScriptedAnswer& refusal : refusals) {
    const std::size_t before = server_.seen().size();
    store_.reset();  // what it has learned
    EXPECT_EQ(rename(), "Unsupported") << refusal.status;
    EXPECT_EQ(rename(), "Unsupported") << refusal.status;
    EXPECT_EQ(server_.seen().size(), before + 1) << refusal.status;
  }
}

// So a PUT ?renameObject at MinIO.
TEST_F(RenameTest, LeavesNothingAtAServerThatTakesItForAPut) {
  server_.then(ok("\"empty\""));
  server_.then({.status = 204});
  EXPECT_EQ(rename(), "Unsupported");
  EXPECT_EQ(rename(), "Unsupported");
  ASSERT_EQ(server_.seen().size(), 2U);
  EXPECT_EQ(seen(1).method, "DELETE");
  EXPECT_EQ(seen(1).url, seen(0).url) << "the probe's own object";
}

TEST_F(RenameTest, ProbesAgainAfterAServerFaultAndLeavesNothing) {
  server_.then(error_answer(503, "SlowDown"));
  server_.then({.status = 204});  // DELETE: it may be there
  answer_probe();
  server_.then({});
  EXPECT_EQ(rename(), "Unsupported") << "for now";
  EXPECT_EQ(rename(), "\"src\"");
  EXPECT_EQ(server_.seen().size(), 4U);
}

TEST_F(RenameTest, IsNotAskedForAgainWhereTheServerIsSilent) {
  server_.then({.hold = true});
  EXPECT_EQ(rename({}, source(), clock_.now() + std::chrono::seconds(2)), "Unsupported");
  EXPECT_EQ(rename(), "Unsupported");
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(RenameTest, IsNotTriedForKeysOfDirectories) {
  EXPECT_EQ(rename({}, {.key = "a/", .etag = "\"src\"", .size_bytes = 0}), "Unsupported");
  EXPECT_TRUE(server_.seen().empty());
}

TEST_F(RenameTest, TellsThatTheSourceHasAnotherVersionOrIsGone) {
  answer_probe();
  server_.then(condition_fails());
  server_.then(error_answer(404, "NoSuchKey"));
  EXPECT_EQ(rename(), "Stale");
  EXPECT_EQ(rename(), "Stale");
  EXPECT_THAT(after_probe(), ElementsAre(kRename, kRename));
}

TEST_F(RenameTest, AsksForTheStateOfTheNewKeyWhereThatIsRequired) {
  answer_probe();
  server_.then({.status = 404});  // HEAD
  server_.then({});
  server_.then(ok("\"theirs\""));  // HEAD
  EXPECT_EQ(rename(Precondition::absent()), "\"src\"");
  EXPECT_EQ(rename(Precondition::absent()), "Exists");
  const std::string head = "HEAD /train/b/new%20name";
  EXPECT_THAT(after_probe(), ElementsAre(head, kRename, head));
  EXPECT_EQ(seen(2).headers.at("if-none-match"), "*") << "it may compare it";
}

TEST_F(RenameTest, TellsWhichOfBothKeysFailedItsCondition) {
  answer_probe();
  server_.then({.status = 404});
  server_.then(condition_fails());
  server_.then({.status = 404});  // still absent: it is the source's condition
  server_.then({.status = 404});
  server_.then(condition_fails());
  server_.then(ok("\"theirs\""));
  EXPECT_EQ(rename(Precondition::absent()), "Stale");
  EXPECT_EQ(rename(Precondition::absent()), "Exists");
}

TEST_F(RenameTest, RepeatsALostOneByTheSameToken) {
  answer_probe();
  server_.then({.cut = true});
  server_.then({});
  server_.then({});
  EXPECT_EQ(rename(), "\"src\"");
  EXPECT_EQ(rename(), "\"src\"");
  std::set<std::string> tokens;
  for (const std::size_t index : {1U, 2U, 3U}) {
    tokens.insert(seen(index).headers.at("x-amz-client-token"));
  }
  EXPECT_EQ(tokens.size(), 2U) << "another rename has another";
  EXPECT_EQ(seen(1).headers.at("x-amz-client-token"), seen(2).headers.at("x-amz-client-token"));
}

TEST_F(RenameTest, RecognisesItsOwnWorkAtAServerThatKeepsNoTokens) {
  answer_probe();
  server_.then({.cut = true});
  server_.then(error_answer(404, "NoSuchKey"));
  server_.then(holds("\"src\""));  // HEAD of the new key
  server_.then({.status = 404});   // HEAD of the old one
  server_.then({.cut = true});
  server_.then(condition_fails());
  server_.then(holds("\"theirs\""));
  EXPECT_EQ(rename(), "\"src\"");
  EXPECT_EQ(rename(), "Stale") << "another client's of the same length";
}

// Two clients rename empty files to one name, as a lock; the other client was faster.
TEST_F(RenameTest, DoesNotTakeAnotherClientsObjectOfTheSameBytesForItsOwn) {
  answer_probe();
  server_.then({.status = 404});  // HEAD: the name is free
  server_.then({.cut = true});
  server_.then(holds("\"src\"", ""));  // the other client's
  server_.then(holds("\"src\"", ""));  // ours is where it was
  server_.then(holds("\"src\"", ""));
  EXPECT_EQ(rename(Precondition::absent(), source(0)), "Exists");
}

TEST_F(RenameTest, RepeatsALostOneWhereTheNewKeyHadTheSameBytesBefore) {
  answer_probe();
  server_.then({.cut = true});
  server_.then(error_answer(404, "NoSuchKey"));
  server_.then(holds("\"src\""));
  server_.then(holds("\"src\""));  // the source is there after all
  server_.then({});
  EXPECT_EQ(rename(), "\"src\"");
  EXPECT_EQ(after_probe().back(), kRename);
}

// Another server at the same address may refuse it.
TEST_F(RenameTest, LooksForItsWorkWhereARepetitionIsRefused) {
  const std::vector<ScriptedAnswer> refusals = {
      {.status = 404}, error_answer(501, "NotImplemented"), error_answer(403, "AccessDenied")};
  for (const ScriptedAnswer& refusal : refusals) {
    answer_probe();
    server_.then({.cut = true});
    server_.then(refusal);
    server_.then(holds("\"src\""));
    server_.then({.status = 404});
  }
  for (const ScriptedAnswer& refusal : refusals) {
    store_.reset();  // what it has learned
    EXPECT_EQ(rename(), "\"src\"") << refusal.status;
  }
}

TEST_F(RenameTest, IsNoRefusalWhereARepetitionIsRefusedAndTheNewKeyLacksIt) {
  answer_probe();
  server_.then({.cut = true});
  server_.then(error_answer(501, "NotImplemented"));
  server_.then({.status = 404});  // HEADs of the new key
  EXPECT_EQ(rename(), "ServerError") << "it may happen yet";
}

TEST_F(RenameTest, ProbesAgainWhereTheAnswerWasAboutTheSignatureOrTheNameOfTheProbe) {
  const std::vector<std::pair<unsigned, std::string>> answers = {
      {400, "KeyTooLongError"}, {409, "OperationAborted"}, {400, "ExpiredToken"}};
  for (const auto& [status, code] : answers) {
    server_.then(error_answer(status, code));
    server_.then({.status = 204});
    answer_probe();
    server_.then({});
  }
  for (const auto& [status, code] : answers) {
    store_.reset();
    EXPECT_EQ(rename(), "Unsupported") << code << ": for now";
    EXPECT_EQ(rename(), "\"src\"") << code;
  }
}

// One address may lead to two servers, and the probe has met the other.
TEST_F(RenameTest, ASuccessThatWasAPutIsTakenBackAndTheCallerCopies) {
  const fakes::LogCapture log;
  answer_probe();
  server_.then(ok("\"empty\""));
  server_.then(holds("\"src\""));  // HEAD of the source: it is still there
  server_.then({.status = 204});
  EXPECT_EQ(rename(), "Unsupported");
  EXPECT_EQ(rename(), "Unsupported") << "never again";
  ASSERT_THAT(after_probe(),
              ElementsAre(kRename, "HEAD /train/a/%C3%A4%20b", "DELETE /train/b/new%20name"));
  EXPECT_EQ(seen(3).headers.at("if-match"), "\"empty\"") << "and nobody else's object";
  store_.reset();  // its threads log
  EXPECT_EQ(log.lines_with("has not renamed it, but stored an empty object").size(), 1U);
}

TEST_F(RenameTest, ASuccessForAnEmptyObjectIsLookedAtToo) {
  answer_probe();
  server_.then(ok("\"src\""));  // the ETag of nothing
  server_.then({.status = 404});
  server_.then(holds("\"src\"", ""));
  EXPECT_EQ(rename({}, source(0)), "\"src\"");
}

TEST_F(RenameTest, TakesTheETagOfAServerThatGivesANewOne) {
  answer_probe();
  server_.then(ok("\"other\""));
  server_.then({.status = 404});     // the source is gone
  server_.then(holds("\"other\""));  // and the new key has its bytes
  EXPECT_EQ(rename(), "\"other\"");
}

TEST_F(RenameTest, AsksAServerThatStopsToRenameNoMore) {
  answer_probe();
  server_.then(error_answer(501, "NotImplemented"));
  EXPECT_EQ(rename(), "Unsupported");
  EXPECT_EQ(rename(), "Unsupported");
  EXPECT_EQ(server_.seen().size(), 2U);
}

}  // namespace
}  // namespace s3rdmafs::s3
