// SPDX-License-Identifier: Apache-2.0
// The headers of s3rdmafs-protocol(7), with a service whose windows are strings.
#include "rdma_requests.h"

namespace s3rdmafs::target {
namespace {

using RdmaRequestsTest = RdmaTargetTest;

TEST_F(RdmaRequestsTest, GetWritesTheWindowAndSendsNoBody) {
  service_.windows["w"] = std::string(12, '.');
  const Response response = request("GET", "/bucket/key", "w");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "x-amz-rdma-reply"), "200");
  EXPECT_EQ(header(response, "x-amz-rdma-bytes-transferred"), "10");
  EXPECT_EQ(response.body_bytes(), 0U);
  EXPECT_EQ(service_.windows["w"], "0123456789..");
  EXPECT_EQ(traffic_.rdma_written_bytes.value(), 10U);
  EXPECT_EQ(traffic_.http_sent_bytes.value(), 0U);
}

TEST_F(RdmaRequestsTest, GetOfARangeAnswers206) {
  service_.windows["w"] = "....";
  const Response response = request("GET", "/bucket/key", "w", {{"range", "bytes=2-5"}});
  EXPECT_EQ(response.status, 206);
  EXPECT_EQ(header(response, "x-amz-rdma-reply"), "206");
  EXPECT_EQ(header(response, "Content-Range"), "bytes 2-5/10");
  EXPECT_EQ(service_.windows["w"], "2345");
}

TEST_F(RdmaRequestsTest, GetThatDoesNotFitTouchesNothing) {
  service_.windows["w"] = std::string(9, '.');
  const Response response = request("GET", "/bucket/key", "w");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(header(response, "x-amz-rdma-reply"), "");
  EXPECT_EQ(service_.windows["w"], std::string(9, '.'));
}

TEST_F(RdmaRequestsTest, AnUnknownTokenIs400AndAFailedTransfer500) {
  EXPECT_EQ(code(request("GET", "/bucket/key", "none")), "InvalidRDMAToken");
  EXPECT_EQ(code(request("PUT", "/bucket/new", "none")), "InvalidRDMAToken");
  EXPECT_FALSE(std::filesystem::exists(folder("bucket/new")));
  service_.windows["w"] = std::string(10, '.');
  service_.fail_transfers = true;
  const Response response = request("GET", "/bucket/key", "w");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(code(response), "RDMATransferFailed");
  EXPECT_EQ(header(response, "x-amz-rdma-reply"), "");
}

TEST_F(RdmaRequestsTest, AnEmptyObjectNeedsNoTransfer) {
  const Response response = request("GET", "/bucket/empty", "none");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "x-amz-rdma-reply"), "");
}

TEST_F(RdmaRequestsTest, PutReadsTheWindow) {
  service_.windows["w"] = "hello";
  const Response response = request("PUT", "/bucket/new", "w");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "x-amz-rdma-reply"), "200");
  EXPECT_EQ(header(response, "x-amz-rdma-bytes-transferred"), "5");
  EXPECT_EQ(header(response, "ETag"), "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_EQ(read_file(folder("bucket/new")), "hello");
}

TEST_F(RdmaRequestsTest, PutChecksTheChecksumOfTheWindow) {
  service_.windows["w"] = "123456789";
  EXPECT_EQ(request("PUT", "/bucket/new", "w", {{"x-amz-checksum-crc32c", "4waSgw=="}}).status,
            200);
  service_.windows["w"] = "12345678X";
  EXPECT_EQ(code(request("PUT", "/bucket/new", "w", {{"x-amz-checksum-crc32c", "4waSgw=="}})),
            "BadDigest");
  EXPECT_EQ(read_file(folder("bucket/new")), "123456789");
}

TEST_F(RdmaRequestsTest, ATokenOutsideTheSignatureIsRefused) {
  service_.windows["w"] = std::string(10, '.');
  Request unsigned_token = make_request({.method = "GET",
                                         .target = "/bucket/key",
                                         .payload_hash = std::string(s3::kUnsignedPayload)});
  unsigned_token.headers.emplace_back("x-amz-rdma-token", "w");
  EXPECT_EQ(send(std::move(unsigned_token), "").status, 403);
  EXPECT_EQ(service_.windows["w"], std::string(10, '.'));
}

TEST_F(RdmaRequestsTest, ABodyBesideATokenIsRefused) {
  service_.windows["w"] = "hello";
  const Response response = send({.method = "PUT",
                                  .target = "/bucket/new",
                                  .headers = {{"x-amz-rdma-token", "w"}},
                                  .body = "also"});
  EXPECT_EQ(code(response), "InvalidRequest");
  EXPECT_FALSE(is_stored());
}

TEST_F(RdmaRequestsTest, WithoutAServiceGetSendsTheBodyAndPutStoresNothing) {
  services_->rdma = nullptr;
  const Response got = request("GET", "/bucket/key", "w");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(header(got, "x-amz-rdma-reply"), "501");
  EXPECT_EQ(body(got), "0123456789");
  const Response put = request("PUT", "/bucket/new", "w");
  EXPECT_EQ(put.status, 200);
  EXPECT_EQ(header(put, "x-amz-rdma-reply"), "501");
  EXPECT_FALSE(std::filesystem::exists(folder("bucket/new")));
}

}  // namespace
}  // namespace s3rdmafs::target
