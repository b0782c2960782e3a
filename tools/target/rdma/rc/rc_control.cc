// SPDX-License-Identifier: Apache-2.0
// Statuses and headers are those of the dialect's first server, to the byte: clients are written
// against it (s3rdmafs-protocol(7)). Answers have no body.
#include "target/rdma/rc/rc_control.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

namespace rc = rdma::rc;

Response with_status(int status) { return Response{.status = status, .headers = {}, .body = {}}; }

Response connect(RcService& service, const Request& request) {
  const auto client = rc::parse_endpoint(request.header_or(rc::kTokenHeader, ""));
  const auto psn = rc::parse_psn(request.header_or(rc::kPsnHeader, ""));
  if (!client || !psn) return with_status(400);
  const auto opened = service.connect(*client, *psn);
  if (!opened) {
    log::warn("rc: a client could not connect: {}", opened.error().detail);
    return with_status(opened.error().code == ErrorCode::kThrottled ? 503 : 500);
  }
  Response response;
  response.set(rc::kSessionHeader, opened->session_id);
  response.set(rc::kReplyHeader, rc::format_reply(opened->endpoint));
  response.set(rc::kPsnHeader, rc::format_psn(opened->psn));
  return response;
}

// hipObject's second dialect, whose clients ask every server first (s3rdmafs-protocol(7)). Without
// the mark they would take a 501 for a proxy's and would not continue by HTTP.
constexpr std::string_view kHipObjectPrefix = "/.hipobj-rc/";

class UnsupportedExchange final : public Exchange {
 public:
  [[nodiscard]] bool is_decided() const override { return true; }
  void receive(std::span<const std::byte>) override {}
  Response finish() override {
    Response response = with_status(501);
    response.set("x-amz-rdma-protocol-status", "unsupported");
    return response;
  }
};

class RcExchange final : public Exchange {
 public:
  RcExchange(RcService* rc, Request request) : rc_(rc), request_(std::move(request)) {}
  [[nodiscard]] bool is_decided() const override { return false; }
  void receive(std::span<const std::byte>) override {}  // there is none; any bytes are ignored

  Response finish() override {
    if (rc_ == nullptr) return with_status(404);
    if (request_.encoded_path == rc::kConnectPath) return connect(*rc_, request_);
    // Always the same answer, so that no client learns which sessions exist.
    rc_->disconnect(request_.header_or(rc::kSessionHeader, ""));
    return with_status(204);
  }

 private:
  RcService* rc_;
  Request request_;
};

}  // namespace

std::unique_ptr<Exchange> RcControl::begin(Request request) {
  if (request.method == "POST" && request.encoded_path.starts_with(kHipObjectPrefix)) {
    return std::make_unique<UnsupportedExchange>();
  }
  const bool is_control = request.method == "POST" && (request.encoded_path == rc::kConnectPath ||
                                                       request.encoded_path == rc::kDisconnectPath);
  if (!is_control) return next_.begin(std::move(request));
  return std::make_unique<RcExchange>(rc_, std::move(request));
}

}  // namespace s3rdmafs::target
