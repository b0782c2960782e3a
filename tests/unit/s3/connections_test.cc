// SPDX-License-Identifier: Apache-2.0
// Which connections requests go by, and what ends when the store does.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "reader_fixture.h"

namespace s3rdmafs::s3 {
namespace {

using namespace std::chrono_literals;
using fakes::error_answer;
using fakes::ScriptedAnswer;

class ConnectionsTest : public ObjectReaderTest {};

// --- A kept-alive connection that dies under a request ---

TEST_F(ConnectionsTest, LetsLibcurlSendNoTokenTwice) {
  options_.http.event_threads = 1;
  server_.then(rdma_answer());
  server_.then({.cut = true});
  server_.then(rdma_answer());
  ASSERT_TRUE(get());
  const auto result = get();  // on the same connection, which libcurl would replace on its own
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().late_write_possible);
  EXPECT_EQ(server_.seen().size(), 2U);
}

// The control: without a token libcurl sends it again by itself.
TEST_F(ConnectionsTest, LetsLibcurlSendAPlainRequestAgain) {
  options_.http.event_threads = 1;
  options_.rdma.mode = RdmaMode::kOff;
  server_.then(body_answer());
  server_.then({.cut = true});
  server_.then(body_answer());
  ASSERT_TRUE(get());
  ASSERT_TRUE(get());
  EXPECT_EQ(server_.seen().size(), 3U);
  EXPECT_EQ(counted("s3_retries_total"), 0U);
}

// --- Rails ---

// Two rails as tokens name them: the requests come from 127.0.0.1 and 127.0.0.2 in turn.
TEST_F(ConnectionsTest, SendsARequestFromTheAddressOfItsToken) {
  options_.http.event_threads = 1;
  options_.http.connections_max = 1;  // one easy handle, which both rails take turns with
  server_.then(rdma_answer());
  for (const char* rail : {"127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.2"}) {
    region_.set_source_address(rail);
    ASSERT_EQ(get().value(), Path::kRdma);
    EXPECT_EQ(server_.seen().back().client_address, rail);
  }
}

TEST_F(ConnectionsTest, KeepsTheConnectionsOfEveryRailOpen) {
  options_.http.event_threads = 1;
  options_.http.connections_max = 1;
  server_.then(rdma_answer());
  std::map<std::string, std::set<std::uint16_t>> ports;
  for (int round = 0; round < 5; ++round) {
    for (const char* rail : {"127.0.0.1", "127.0.0.2"}) {
      region_.set_source_address(rail);
      ASSERT_EQ(get().value(), Path::kRdma);
      ports[rail].insert(server_.seen().back().client_port);
    }
  }
  EXPECT_EQ(ports["127.0.0.1"].size(), 1U) << "not a new connection for each request";
  EXPECT_EQ(ports["127.0.0.2"].size(), 1U);
}

TEST_F(ConnectionsTest, SaysThatNoServerWasReachedIfNoAddressReachesOne) {
  region_.set_source_address("192.0.2.1");  // not this host's
  options_.endpoint.urls = {"http://127.0.0.1:1"};
  const auto outcome = get();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().error.code, ErrorCode::kUnreachable);
  EXPECT_FALSE(outcome.error().late_write_possible);
  EXPECT_EQ(region_.last_fate(), rdma::TokenFate::kUnsent);
  EXPECT_TRUE(server_.seen().empty());
}

// --- The end ---

TEST_F(ConnectionsTest, EndsEverythingWhenShutDown) {
  options_.http.event_threads = 1;
  options_.http.connections_max = 1;
  server_.then({.hold = true});
  Outcome<Got> on_the_wire;
  Outcome<Got> in_line;
  start_get(on_the_wire, clock_.now() + 1h, region_);
  ASSERT_TRUE(server_.wait_for_requests(1));
  start_get(in_line, clock_.now() + 1h, region_);
  store().shut_down();
  ASSERT_TRUE(on_the_wire.is_there()) << "no callback is left when it returns";
  ASSERT_TRUE(in_line.is_there());
  const GetFailure sent = on_the_wire.get().error();
  EXPECT_EQ(sent.error.code, ErrorCode::kCancelled);
  EXPECT_TRUE(sent.late_write_possible);
  const GetFailure unsent = in_line.get().error();
  EXPECT_EQ(unsent.error.code, ErrorCode::kCancelled);
  EXPECT_FALSE(unsent.late_write_possible);
  EXPECT_EQ(head().error().code, ErrorCode::kCancelled) << "and later ones end at once";
  EXPECT_EQ(in_flight(), 0);
}

TEST_F(ConnectionsTest, EndsWhatWaitsForARetryWhenShutDown) {
  options_.retry.backoff_first = options_.retry.backoff_max = 1h;
  ScriptedAnswer answer = error_answer(503, "SlowDown");
  answer.headers.emplace_back("Retry-After", "3600");
  server_.then(answer);
  Outcome<Result<ObjectInfo>> outcome;
  store().head("k", clock_.now() + 10h, outcome.done());
  // The store may not have read the answer yet; the result is the same.
  ASSERT_TRUE(server_.wait_for_requests(1));
  store().shut_down();
  ASSERT_TRUE(outcome.is_there());
  EXPECT_EQ(outcome.get().error().code, ErrorCode::kCancelled);
}

TEST_F(ConnectionsTest, ServesManyAtOnceOverFewConnections) {
  options_.http.connections_max = 3;
  server_.then(rdma_answer());
  std::vector<std::unique_ptr<Outcome<Got>>> outcomes;
  for (int i = 0; i < 200; ++i) {
    outcomes.push_back(std::make_unique<Outcome<Got>>());
    start_get(*outcomes.back(), soon(), region_);
  }
  for (const auto& outcome : outcomes) EXPECT_EQ(outcome->get().value(), Path::kRdma);
  EXPECT_EQ(in_flight(), 0);
}

}  // namespace
}  // namespace s3rdmafs::s3
