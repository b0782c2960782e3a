// SPDX-License-Identifier: Apache-2.0
// A server that takes whole objects by token but no parts (HTTP 501). A probe with an object of its
// own finds that out, and removes it.
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "s3/endpoints/capabilities.h"
#include "s3/exchanges/probe_object.h"
#include "writer_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using ::testing::MatchesRegex;

constexpr const char* kProbeKey = "/train/.s3rdmafs-probe-";

class WholePutProbeTest : public ObjectWriterTest {
 protected:
  /// summaries(), the probe's key without its number.
  std::vector<std::string> requests() const {
    std::vector<std::string> result = summaries();
    for (std::string& text : result) {
      const std::size_t at = text.find(kProbeKey);
      if (at == std::string::npos) continue;
      text = text.substr(0, at) + "PROBE" + text.substr(at + std::string(kProbeKey).size() + 16);
    }
    return result;
  }
  void refuse_a_part() { answer_part_probe(error_answer(501, "NotImplemented")); }
};

TEST_F(WholePutProbeTest, StoresWholeObjectsByTokenWhereOneOfItsOwnWasStoredRight) {
  refuse_a_part();
  answer_probe(window());
  server_.then(rdma_ok());
  EXPECT_EQ(put().path, Path::kRdma);
  EXPECT_EQ(put().path, Path::kRdma);
  EXPECT_EQ(requests(), after_part_probe({"PUT PROBE token", "GET PROBE", "DELETE PROBE",
                                          "PUT /train/k token", "PUT /train/k token"}));
  EXPECT_EQ(counted("put_bytes_total", R"(path="rdma")"), 2 * kWindowBytes) << "not the probe's";
}

TEST_F(WholePutProbeTest, StoresByHttpWhereTheProbeHasOtherBytes) {
  refuse_a_part();
  answer_probe(std::string(kWindowBytes, '?'));
  server_.then(ok());
  EXPECT_EQ(put().path, Path::kHttp);
  EXPECT_EQ(put().path, Path::kHttp);
  EXPECT_EQ(requests(), after_part_probe({"PUT PROBE token", "GET PROBE", "DELETE PROBE",
                                          "PUT /train/k body", "PUT /train/k body"}))
      << "and no second probe";
}

TEST_F(WholePutProbeTest, StoresByHttpWhereTheProbeIsEmpty) {
  refuse_a_part();
  answer_probe("");
  server_.then(ok());
  EXPECT_EQ(put().path, Path::kHttp);
}

TEST_F(WholePutProbeTest, RemovesWhatAServerThatIgnoresTheTokenStored) {
  refuse_a_part();
  server_.then(ok("\"empty\""));
  server_.then({.status = 204});
  server_.then(ok());
  EXPECT_EQ(put().path, Path::kHttp);
  EXPECT_EQ(put().path, Path::kHttp);
  EXPECT_EQ(requests(), after_part_probe({"PUT PROBE token", "DELETE PROBE", "PUT /train/k body",
                                          "PUT /train/k body"}));
  EXPECT_EQ(counted("rdma_puts_stored_wrong_total"), 0U) << "only a probe was";
}

TEST_F(WholePutProbeTest, AsksNoServerThatRefusesWholeObjectsAgainSoon) {
  refuse_a_part();
  server_.then(error_answer(501, "NotImplemented"));
  server_.then({.status = 204});
  server_.then(ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(put().path, Path::kHttp);
  EXPECT_EQ(requests(), after_part_probe({"PUT PROBE token", "DELETE PROBE", "PUT /train/k body",
                                          "PUT /train/k body", "PUT /train/k body"}));
}

TEST_F(WholePutProbeTest, ProbesAtOnceWhereAPartOfAnUploadWasRefused) {
  server_.then(error_answer(501, "NotImplemented"));
  server_.then(ok());
  answer_probe(window());
  server_.then(rdma_ok());
  EXPECT_EQ(put_part().path, Path::kHttp);
  EXPECT_EQ(put().path, Path::kRdma);
  EXPECT_THAT(requests(),
              ElementsAre("PUT /train/k?partNumber=7&uploadId=up%2F1 token",
                          "PUT /train/k?partNumber=7&uploadId=up%2F1 body", "PUT PROBE token",
                          "GET PROBE", "DELETE PROBE", "PUT /train/k token"));
}

TEST_F(WholePutProbeTest, WritesWhereRdmaIsRequiredAndPartsAreRefused) {
  options_.rdma.mode = RdmaMode::kRequire;
  refuse_a_part();
  answer_probe(window());
  server_.then(rdma_ok());
  EXPECT_EQ(put().path, Path::kRdma);
}

// The control.
TEST_F(WholePutProbeTest, FailsWhereRdmaIsRequiredAndWholeObjectsAreRefusedToo) {
  options_.rdma.mode = RdmaMode::kRequire;
  refuse_a_part();
  server_.then(error_answer(501, "NotImplemented"));
  server_.then({.status = 204});
  EXPECT_EQ(put().etag.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(requests(), after_part_probe({"PUT PROBE token", "DELETE PROBE"}));
}

TEST_F(WholePutProbeTest, TellsOfALateReadOfTheProbe) {
  refuse_a_part();
  server_.then({.cut = true});
  answer_probe(window());
  server_.then(rdma_ok());
  const PutOutcome outcome = put();
  EXPECT_EQ(outcome.path, Path::kRdma);
  EXPECT_TRUE(outcome.late_read_possible) << "the bytes may be read again, from the same window";
}

TEST_F(WholePutProbeTest, StoresTheObjectAlsoWhereTheProbeCannotBeRemoved) {
  refuse_a_part();
  answer_probe(window(), error_answer(403, "AccessDenied"));
  server_.then(rdma_ok());
  EXPECT_EQ(put().path, Path::kRdma);
}

TEST(ProbeKey, IsBesideTheObjectAndNeverTheSameTwice) {
  EXPECT_THAT(probe_key("a/b/c"), MatchesRegex("a/b/\\.s3rdmafs-probe-[0-9a-f]*"));
  EXPECT_THAT(probe_key("c"), MatchesRegex("\\.s3rdmafs-probe-[0-9a-f]*"));
  EXPECT_NE(probe_key("c"), probe_key("c"));
}

TEST(WholePutCapability, IsAskedForWherePartsAreRefusedAndSeldomAgainAfterANo) {
  fakes::FakeClock clock;
  Capabilities capabilities(clock);
  EXPECT_FALSE(capabilities.should_probe_whole_puts()) << "a part is asked for first";
  capabilities.on_parts_refused();
  EXPECT_TRUE(capabilities.should_probe_whole_puts());
  capabilities.on_whole_puts_refused(Capabilities::kRefusalTime);
  clock.advance(2 * Capability::kProbeInterval);
  EXPECT_FALSE(capabilities.should_probe_whole_puts());
  EXPECT_TRUE(capabilities.refuses_whole_puts());
  clock.advance(Capabilities::kRefusalTime);
  EXPECT_TRUE(capabilities.should_probe_whole_puts());
  capabilities.of(TransferKind::kPut).on_rdma_done(kWindowBytes);
  EXPECT_FALSE(capabilities.should_probe_whole_puts()) << "it is known";
}

}  // namespace
}  // namespace s3rdmafs::s3
