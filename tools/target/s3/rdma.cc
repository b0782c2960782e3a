// SPDX-License-Identifier: Apache-2.0
#include "target/s3/rdma.h"

namespace s3rdmafs::target {
namespace {

constexpr const char* kTokenHeader = "x-amz-rdma-token";
constexpr const char* kReplyHeader = "x-amz-rdma-reply";
constexpr const char* kBytesHeader = "x-amz-rdma-bytes-transferred";

}  // namespace

S3Result<std::optional<std::string>> rdma_token(const Call& call) {
  auto token = call.request.header(kTokenHeader);
  if (token && !call.caller.is_anonymous && !call.caller.signed_headers.contains(kTokenHeader)) {
    return refuse(kAccessDenied, "x-amz-rdma-token must be among the signed headers.");
  }
  return token;
}

bool is_declined(const Services& services, const std::optional<std::string>& token) {
  return token && (services.rdma == nullptr || !services.rdma->serves(*token));
}

std::unexpected<S3Error> refuse_transfer(const Error& error) {
  if (error.code == ErrorCode::kInvalidArgument) return refuse(kInvalidRdmaToken, error.detail);
  return refuse(kRdmaTransferFailed, error.detail);
}

void set_rdma_reply(Response& response, std::uint64_t bytes_transferred) {
  response.set(kReplyHeader, std::to_string(response.status));
  response.set(kBytesHeader, std::to_string(bytes_transferred));
}

void set_rdma_declined(Response& response) { response.set(kReplyHeader, "501"); }

}  // namespace s3rdmafs::target
