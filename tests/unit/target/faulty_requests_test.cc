// SPDX-License-Identifier: Apache-2.0
// Each fault, as the client and its memory see it.
#include <chrono>

#include "rdma/rdma_requests.h"

namespace s3rdmafs::target {
namespace {

class FaultyRequestsTest : public RdmaTargetTest {
 protected:
  FaultyRequestsTest() { service_.windows[kToken] = "wwwwwwwwww"; }
  void inject(std::string_view lines) { ASSERT_TRUE(faults_.replace_by_text(lines)); }
  std::string& window() { return service_.windows[kToken]; }
  std::uint64_t late_transfers(const std::string& result) {
    return registry_.counter("target_late_transfers_total", "", "result=\"" + result + "\"")
        .value();
  }
};

TEST_F(FaultyRequestsTest, WithoutAFaultNothingIsCut) {
  EXPECT_EQ(reply(get(kToken)), "200");
  EXPECT_EQ(hang_ups_, 0);
}

TEST_F(FaultyRequestsTest, CutBeforeMovesNothing) {
  inject("cut-before");
  (void)get(kToken);
  (void)put(kToken);
  EXPECT_EQ(hang_ups_, 2);
  EXPECT_EQ(window(), "wwwwwwwwww");
  EXPECT_FALSE(is_stored());
}

TEST_F(FaultyRequestsTest, CutAfterHasDoneEverything) {
  inject("cut-after");
  (void)put(kToken);
  (void)get(kToken);
  EXPECT_EQ(hang_ups_, 2);
  EXPECT_EQ(read_file(folder("bucket/new")), "wwwwwwwwww");
  EXPECT_EQ(window(), "0123456789");
}

TEST_F(FaultyRequestsTest, LateWriteMovesAfterTheCut) {
  inject("late-write:1ms");
  (void)get(kToken);
  EXPECT_EQ(hang_ups_, 1);
  EXPECT_EQ(window(), "0123456789");
  EXPECT_EQ(late_transfers("done"), 1U);
}

TEST_F(FaultyRequestsTest, LateReadStoresAfterTheCut) {
  inject("late-write:1ms");
  (void)put(kToken);
  EXPECT_EQ(hang_ups_, 1);
  EXPECT_EQ(read_file(folder("bucket/new")), "wwwwwwwwww");
}

TEST_F(FaultyRequestsTest, LateReadOfMemoryThatIsGoneStoresNothing) {
  inject("late-write:1ms");
  service_.fail_transfers = true;
  (void)put(kToken);
  EXPECT_FALSE(is_stored());
  EXPECT_EQ(late_transfers("refused"), 1U);
}

TEST_F(FaultyRequestsTest, DuplicateWriteMovesTwice) {
  inject("duplicate-write:1ms");
  (void)get(kToken);
  EXPECT_EQ(service_.transfers, 2);
  EXPECT_EQ(hang_ups_, 1);
  EXPECT_EQ(late_transfers("done"), 1U);
}

TEST_F(FaultyRequestsTest, DeclineSendsTheObjectAndStoresNothing) {
  inject("decline");
  behave_as("aistor");  // which declines in another way
  EXPECT_EQ(body(get(kToken)), "0123456789");
  EXPECT_EQ(reply(put(kToken)), "501");
  EXPECT_FALSE(is_stored());
}

TEST_F(FaultyRequestsTest, DeclineWithoutDataSendsNothing) {
  inject("decline-without-data");
  const Response got = get(kToken);
  EXPECT_EQ(told(got), (Told{200, "501", ""}));
  EXPECT_EQ(got.body_bytes(), 0U);
  EXPECT_EQ(reply(put(kToken)), "501");
  EXPECT_FALSE(is_stored());
}

TEST_F(FaultyRequestsTest, Error501IsAnErrorWithAReply) {
  inject("error-501");
  for (const Response& refused : {get(kToken), put(kToken)}) {
    EXPECT_EQ(refused.status, 501);
    EXPECT_EQ(reply(refused), "501");
    EXPECT_EQ(code(refused), "NotImplemented");
  }
  EXPECT_FALSE(is_stored());
}

TEST_F(FaultyRequestsTest, CorruptTurnsOneByteOverAndSaysNothing) {
  inject("corrupt");
  EXPECT_EQ(told(get(kToken)), (Told{200, "200", "10"}));
  EXPECT_EQ(window(),
            "01234\xca"
            "6789");
  window() = "wwwwwwwwww";
  EXPECT_EQ(reply(put(kToken)), "200");
  EXPECT_EQ(read_file(folder("bucket/new")),
            "wwwww\x88"
            "wwww");
}

TEST_F(FaultyRequestsTest, TruncateMovesLessAndSaysSo) {
  inject("truncate:3");
  EXPECT_EQ(told(get(kToken)), (Told{200, "200", "3"}));
  EXPECT_EQ(window(), "012wwwwwww");
}

TEST_F(FaultyRequestsTest, WrongCountIsOnlyAWord) {
  inject("wrong-count:-2");
  EXPECT_EQ(count(get(kToken)), "8");
  EXPECT_EQ(window(), "0123456789");
  EXPECT_EQ(count(put(kToken)), "8");
  EXPECT_EQ(read_file(folder("bucket/new")), "0123456789");
}

TEST_F(FaultyRequestsTest, SuccessWithBodyIsBoth) {
  inject("success-with-body");
  EXPECT_EQ(get_in_body(kToken), (Told{200, "200", "10"}));
}

TEST_F(FaultyRequestsTest, NoReplyHasDoneEverythingAndSaysNothing) {
  inject("no-reply");
  EXPECT_EQ(told(get(kToken)), (Told{200, "", ""}));
  EXPECT_EQ(window(), "0123456789");
  EXPECT_EQ(reply(put(kToken)), "");
  EXPECT_EQ(read_file(folder("bucket/new")), "0123456789");
}

TEST_F(FaultyRequestsTest, ZeroStoreStoresTheEmptyObject) {
  inject("zero-store");
  EXPECT_EQ(told(put(kToken)), (Told{200, "", ""}));
  EXPECT_TRUE(is_stored());
  EXPECT_EQ(read_file(folder("bucket/new")), "");
}

TEST_F(FaultyRequestsTest, GarbageTokenStandsInTheReply) {
  inject("garbage-token");
  EXPECT_EQ(reply(get(kToken)), "200:" + std::string(88, '7'));
}

TEST_F(FaultyRequestsTest, DelaysAreWaitedForAtTheirStage) {
  using std::chrono::milliseconds;
  for (const char* kind : {"delay-request", "delay-transfer", "delay-answer"}) {
    inject(std::string(kind) + ":20ms");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(reply(get(kToken)), "200");
    EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(20)) << kind;
  }
}

TEST_F(FaultyRequestsTest, RequestsWithoutATokenAreLeftAlone) {
  inject("decline\ncut-before\ndelay-request:1h");
  const Response got = send({.method = "GET", .target = "/bucket/key"});
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(body(got), "0123456789");
}

}  // namespace
}  // namespace s3rdmafs::target
