// SPDX-License-Identifier: Apache-2.0
// Statuses and headers are those of the dialect's first server, to the byte: clients are written
// against it (rc-dialects.md sections 2.1 and 2.9). Answers have no body.
#include "target/rdma/rc_control.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

constexpr const char* kConnectPath = "/.s3rdma-rc/connect";
constexpr const char* kDisconnectPath = "/.s3rdma-rc/disconnect";
constexpr const char* kTokenHeader = "x-amz-rdma-token";
constexpr const char* kPsnHeader = "x-amz-rdma-psn";
constexpr const char* kReplyHeader = "x-amz-rdma-reply";
constexpr const char* kSessionHeader = "x-amz-rdma-session";

Response with_status(int status) { return Response{.status = status, .headers = {}, .body = {}}; }

Response connect(RcService& rc, const Request& request) {
  const auto client = parse_rc_endpoint(request.header_or(kTokenHeader, ""));
  const auto psn = parse_rc_psn(request.header_or(kPsnHeader, ""));
  if (!client || !psn) return with_status(400);
  const auto opened = rc.connect(*client, *psn);
  if (!opened) {
    spdlog::warn("rc: a client could not connect: {}", opened.error().detail);
    return with_status(opened.error().code == ErrorCode::kThrottled ? 503 : 500);
  }
  Response response;
  response.set(kSessionHeader, opened->session_id);
  response.set(kReplyHeader, "200:" + format_rc_endpoint(opened->endpoint));
  response.set(kPsnHeader, format_rc_psn(opened->psn));
  return response;
}

class RcExchange final : public Exchange {
 public:
  RcExchange(RcService* rc, Request request) : rc_(rc), request_(std::move(request)) {}
  [[nodiscard]] bool is_decided() const override { return false; }
  void receive(std::span<const std::byte>) override {}  // there is none; whatever comes is ignored

  Response finish() override {
    if (rc_ == nullptr) return with_status(404);
    if (request_.encoded_path == kConnectPath) return connect(*rc_, request_);
    // Always the same answer: nobody learns which sessions there are.
    rc_->disconnect(request_.header_or(kSessionHeader, ""));
    return with_status(204);
  }

 private:
  RcService* rc_;
  Request request_;
};

}  // namespace

std::unique_ptr<Exchange> RcControl::begin(Request request) {
  const bool is_control = request.method == "POST" && (request.encoded_path == kConnectPath ||
                                                       request.encoded_path == kDisconnectPath);
  if (!is_control) return next_.begin(std::move(request));
  return std::make_unique<RcExchange>(rc_, std::move(request));
}

}  // namespace s3rdmafs::target
