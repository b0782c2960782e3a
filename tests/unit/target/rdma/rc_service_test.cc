// SPDX-License-Identifier: Apache-2.0
// The rc dialect without a device: endpoints, statuses, the bytes that a transfer moves, and the
// state that it leaves.
#include "target/rdma/rc/rc_service.h"

#include <fcntl.h>

#include <array>
#include <vector>

#include "fakes/rdma/fake_rc_connector.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"
#include "target/rdma/rc/rc_control.h"
#include "target/rdma/token_dispatch.h"
#include "target_fixture.h"

namespace s3rdmafs::target {
namespace {

// A token of the dialect's description: queue pair 0x14, GID ::ffff:10.0.2.15, port 1.
constexpr const char* kEndpoint =
    "011400000000000000000000000000ffff0a00020f0000000000000000000000000000000000000000010000";
// Small, so that few bytes take several pieces.
constexpr std::size_t kStagingBytes = 4;

class RcServiceTest : public TargetTest {
 protected:
  RcServiceTest() {
    write_file(folder("bucket/key"), "0123456789");
    services_->rdma = &dispatch_;
  }

  Response post(const std::string& path, NameValues headers) {
    Request request{.method = "POST",
                    .encoded_path = path,
                    .path = path,
                    .query = {},
                    .headers = std::move(headers),
                    .from_loopback = false};
    return control_.begin(std::move(request))->finish();
  }
  Response connect(const std::string& token, const std::string& psn) {
    return post("/.s3rdma-rc/connect", {{"x-amz-rdma-token", token}, {"x-amz-rdma-psn", psn}});
  }
  std::string open_session() { return header(connect(kEndpoint, "660fb8"), "x-amz-rdma-session"); }

  /// A token for the front of `memory_`.
  std::string token(const std::string& session, std::size_t size) {
    return fmt::format("rc:{}:{:016x}:{:08x}:{:08x}", session,
                       reinterpret_cast<std::uintptr_t>(memory_.data()), size, 7);
  }
  Response request(const std::string& method, const std::string& target,
                   const std::string& token_text) {
    return send({.method = method,
                 .target = target,
                 .headers = {{"x-amz-rdma-token", token_text}},
                 .payload_hash = std::string(s3::kUnsignedPayload)});
  }

  fakes::FakeRcConnector device_;
  std::array<std::byte, kStagingBytes> staging_memory_{};
  StagingPool staging_{std::vector{StagingBuffer{.bytes = staging_memory_, .lkey = 1}}};
  RcService rc_{device_, staging_, clock_};
  TokenDispatch dispatch_{nullptr, &rc_};
  S3Handler s3_{*services_};
  RcControl control_{&rc_, s3_};
  std::string memory_ = std::string(12, '.');
};

TEST_F(RcServiceTest, ConnectTellsSessionEndpointAndSequenceNumber) {
  const Response response = connect(kEndpoint, "660fb8");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body_bytes(), 0U);
  EXPECT_EQ(header(response, "x-amz-rdma-session").size(), 32U);
  EXPECT_TRUE(header(response, "x-amz-rdma-reply").starts_with("200:01"));
  EXPECT_EQ(header(response, "x-amz-rdma-reply").size(), 4U + 88U);
  EXPECT_EQ(header(response, "x-amz-rdma-psn"), "00ab12");
  EXPECT_EQ(device_.last_psn, 0x660fb8U);
  EXPECT_EQ(device_.last_client.queue_pair_number, 0x14U);
}

TEST_F(RcServiceTest, ConnectToleratesWhatTheDialectTolerates) {
  EXPECT_EQ(connect(std::string(kEndpoint) + ":00007f0000001000:00001000", "1").status, 200);
  EXPECT_EQ(connect(kEndpoint, "AbCdEf").status, 200);
}

TEST_F(RcServiceTest, AFaultyConnectIs400AndReachesNoDevice) {
  const std::string datagram = "00" + std::string(kEndpoint).substr(2);
  for (const auto& [endpoint, psn] :
       std::vector<std::pair<std::string, std::string>>{{"", "1"},
                                                        {"01", "1"},
                                                        {datagram, "1"},
                                                        {kEndpoint, ""},
                                                        {kEndpoint, "0"},
                                                        {kEndpoint, "1000000"},
                                                        {kEndpoint, "0x1"},
                                                        {kEndpoint, "xyz"}}) {
    const Response response = connect(endpoint, psn);
    EXPECT_EQ(response.status, 400) << endpoint << " " << psn;
    EXPECT_EQ(response.body_bytes(), 0U);
    EXPECT_EQ(header(response, "x-amz-rdma-reply"), "");
  }
  EXPECT_EQ(device_.last_psn, 0U);
}

TEST_F(RcServiceTest, ADeviceThatRefusesIs500AndTooManySessionsAre503) {
  device_.refuse_connections = true;
  EXPECT_EQ(connect(kEndpoint, "1").status, 500);
  device_.refuse_connections = false;
  for (std::size_t i = 0; i < RcSessions::kSessionsMax; ++i) open_session();
  EXPECT_EQ(connect(kEndpoint, "1").status, 503);
  clock_.advance(RcSessions::kIdleMax + std::chrono::seconds(1));
  EXPECT_EQ(connect(kEndpoint, "1").status, 200) << "connecting sweeps the idle ones";
  EXPECT_EQ(device_.links_alive, 1);
}

TEST_F(RcServiceTest, DisconnectIs204AndEndsTheSession) {
  const std::string session = open_session();
  for (const std::string& id : {session, session, std::string("unknown")}) {
    EXPECT_EQ(post("/.s3rdma-rc/disconnect", {{"x-amz-rdma-session", id}}).status, 204);
  }
  EXPECT_EQ(device_.links_alive, 0);
}

TEST_F(RcServiceTest, WithoutADeviceTheEndpointsAreNotThere) {
  RcControl without(nullptr, s3_);
  Request request{.method = "POST",
                  .encoded_path = "/.s3rdma-rc/connect",
                  .path = "/.s3rdma-rc/connect",
                  .query = {},
                  .headers = {},
                  .from_loopback = false};
  const Response response = without.begin(std::move(request))->finish();
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body_bytes(), 0U);
}

TEST_F(RcServiceTest, TheHandshakeOfHipObjectIsAnsweredAsUnsupported) {
  for (const std::string step : {"prepare", "ready", "cancel"}) {
    const Response response =
        post("/.hipobj-rc/" + step, {{"x-amz-rdma-protocol", "hipobj-rc-v2"}});
    EXPECT_EQ(response.status, 501) << step;
    EXPECT_EQ(header(response, "x-amz-rdma-protocol-status"), "unsupported") << step;
    EXPECT_EQ(response.body_bytes(), 0U) << step;
  }
  EXPECT_EQ(device_.links_alive, 0);
}

TEST_F(RcServiceTest, AWriterOfAPartOfTheWindowStaysInIt) {
  const std::string session = open_session();
  const UniqueFd object(::open((folder("bucket/key")).c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(rc_.write_part(token(session, 12), 4, object.get(), 0, 8));
  EXPECT_EQ(memory_, "....01234567");
  EXPECT_FALSE(rc_.write_part(token(session, 12), 5, object.get(), 0, 8));
  EXPECT_FALSE(rc_.write_part(token(session, 12), 13, object.get(), 0, 0));
}

TEST_F(RcServiceTest, EveryOtherRequestIsS3s) {
  EXPECT_EQ(code(post("/bucket/key", {})), "MethodNotAllowed");
}

TEST_F(RcServiceTest, GetMovesTheObjectPieceByPiece) {
  const Response response = request("GET", "/bucket/key", token(open_session(), 12));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "x-amz-rdma-reply"), "200");
  EXPECT_EQ(header(response, "x-amz-rdma-bytes-transferred"), "10");
  EXPECT_EQ(memory_, "0123456789..");
}

TEST_F(RcServiceTest, PutReadsTheWindowPieceByPiece) {
  memory_ = "hello, world";
  EXPECT_EQ(request("PUT", "/bucket/new", token(open_session(), 12)).status, 200);
  EXPECT_EQ(read_file(folder("bucket/new")), "hello, world");
}

TEST_F(RcServiceTest, AFailedPutKeepsTheOldObjectAndEndsTheSession) {
  const std::string session = open_session();
  device_.pieces_until_failure = 1;
  const Response response = request("PUT", "/bucket/key", token(session, 12));
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(code(response), "RDMATransferFailed");
  EXPECT_EQ(read_file(folder("bucket/key")), "0123456789");
  EXPECT_EQ(device_.links_alive, 0);
  device_.pieces_until_failure = -1;
  EXPECT_EQ(request("GET", "/bucket/key", token(session, 12)).status, 500)
      << "a session that failed is not connected";
}

TEST_F(RcServiceTest, AFailureBeforeTheTransferKeepsTheSession) {
  const std::string session = open_session();
  EXPECT_EQ(request("GET", "/bucket/none", token(session, 12)).status, 404);
  EXPECT_EQ(request("GET", "/bucket/key", token(session, 9)).status, 400) << "it does not fit";
  EXPECT_EQ(request("GET", "/bucket/key", "rc:" + session + ":zz:12:7").status, 400);
  EXPECT_EQ(memory_, std::string(12, '.'));
  EXPECT_EQ(request("GET", "/bucket/key", token(session, 12)).status, 200);
}

TEST_F(RcServiceTest, ATokenOfAFabricThatIsNotServedIsDeclined) {
  const Response response = request("GET", "/bucket/key", "shm:whatever");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "x-amz-rdma-reply"), "501");
  EXPECT_EQ(body(response), "0123456789");
}

TEST_F(RcServiceTest, ATransferWaitsForAStagingBufferWithABound) {
  auto held = staging_.borrow(std::chrono::seconds(1));
  ASSERT_TRUE(held);
  EXPECT_EQ(staging_.borrow(std::chrono::milliseconds(1)).error().code, ErrorCode::kTimedOut);
}

}  // namespace
}  // namespace s3rdmafs::target
