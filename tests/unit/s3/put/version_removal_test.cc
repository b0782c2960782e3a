// SPDX-License-Identifier: Apache-2.0
// The removal of one version, of servers that know conditions on DELETE and of others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "writer_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using fakes::error_answer;
using ::testing::ElementsAre;

class VersionRemovalTest : public ObjectWriterTest {
 protected:
  Result<void> remove(const std::string& etag = "\"v\"") {
    Outcome<Result<void>> outcome;
    store().remove_version("k", etag, soon(), outcome.done());
    return outcome.get();
  }
};

TEST_F(VersionRemovalTest, IsPrecededByAHeadAndHasACondition) {
  server_.then(ok("\"v\""));
  server_.then({.status = 204});
  server_.then(ok("\"theirs\""));
  EXPECT_TRUE(remove());
  EXPECT_EQ(remove().error().code, ErrorCode::kStale);
  EXPECT_THAT(summaries(), ElementsAre("HEAD /train/k", "DELETE /train/k", "HEAD /train/k"));
  EXPECT_EQ(server_.seen().at(1).headers.at("if-match"), "\"v\"");
}

TEST_F(VersionRemovalTest, IsOneRequestOnceTheServerIsKnownToCompare) {
  server_.then(ok("\"v\""));
  server_.then(condition_fails());  // another client was faster
  server_.then(ok("\"theirs\""));
  server_.then({.status = 204});
  EXPECT_EQ(remove().error().code, ErrorCode::kStale);
  EXPECT_TRUE(remove());
  EXPECT_EQ(server_.seen().size(), 4U);
}

TEST_F(VersionRemovalTest, SendsTheQuotesThatAListingLeftOut) {
  server_.then(ok("\"v\""));
  server_.then({.status = 204});
  EXPECT_TRUE(remove("v"));
  EXPECT_EQ(server_.seen().at(1).headers.at("if-match"), "\"v\"");
}

TEST_F(VersionRemovalTest, ARefusalOfTheVersionThatIsThereIsNotAConflict) {
  server_.then(ok("\"v\""));
  server_.then(condition_fails());
  server_.then(ok("\"v\""));
  EXPECT_EQ(remove().error().code, ErrorCode::kProtocol) << "kStale would say that it was replaced";
}

TEST_F(VersionRemovalTest, SucceedsIfThereIsNothing) {
  server_.then({.status = 404});
  EXPECT_TRUE(remove());
  EXPECT_EQ(server_.seen().size(), 1U);
}

TEST_F(VersionRemovalTest, TakesA412OfAnAbsentKeyForSuccess) {
  server_.then(ok("\"v\""));
  server_.then(condition_fails());
  server_.then({.status = 404});
  EXPECT_TRUE(remove());
}

TEST_F(VersionRemovalTest, GoesWithoutAConditionThatTheServerRefuses) {
  server_.then(ok("\"v\""));
  server_.then(error_answer(501, "NotImplemented"));
  server_.then(ok("\"v\""));
  server_.then({.status = 204});
  server_.then(ok("\"v\""));
  server_.then({.status = 204});
  EXPECT_TRUE(remove());
  EXPECT_FALSE(server_.seen().at(3).headers.contains("if-match"));
  EXPECT_TRUE(remove());
  EXPECT_FALSE(server_.seen().back().headers.contains("if-match")) << "it is remembered";
}

TEST_F(VersionRemovalTest, IsRepeatedAfterALostAnswer) {
  server_.then(ok("\"v\""));
  server_.then({.cut = true});
  server_.then({.status = 404});  // HEAD: the lost attempt had removed it
  EXPECT_TRUE(remove());
}

}  // namespace
}  // namespace s3rdmafs::s3
