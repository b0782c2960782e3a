// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/token_policy.h"

#include <algorithm>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {
namespace {

/// The most that every known server transfers in one operation: libcuobjserver's limit
/// (s3rdmafs-protocol(7)).
constexpr std::size_t kRdmaTransferBytesMax = kGiB;

/// Transfers by token before HTTP: if the fabric works, the second one finds a good session.
constexpr unsigned kTransfersMax = 2;

/// Rails that are tried one after the other before the request is sent from any address.
constexpr std::size_t kRailsMax = 2;

std::optional<std::string_view> view(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return std::string_view(*text);
}

}  // namespace

TokenPolicy::TokenPolicy(TransferShared& shared, TransferKind kind, const rdma::Window& window,
                         std::string what)
    : shared_(shared), kind_(kind), window_(window), what_(std::move(what)) {}

void TokenPolicy::prepare(Endpoint& endpoint, Deadline deadline, Done<void> ready) {
  endpoint_ = &endpoint;
  began_at_ = shared_.clock.now();
  Result<bool> wanted = wants_token();
  if (!wanted) return ready(std::unexpected(std::move(wanted.error())));
  if (!*wanted) return ready({});
  drop_stale_sessions();
  window_.region->for_endpoint(endpoint.fabric_number)
      .token(window_.offset, window_.length, deadline,
             [this, ready = std::move(ready)](Result<rdma::Token> token) mutable {
               if (!token) return ready(without_rdma("fabric_down", std::move(token.error())));
               token_ = std::move(*token);
               is_bound_ = may_bind(*token_);
               ready({});
             });
}

bool TokenPolicy::add_token(RequestSpec& spec) const {
  if (!token_) return false;
  spec.headers.emplace_back(shared_.rdma.token_header, token_->text());
  spec.payload_hash = kUnsignedPayload;
  return true;
}

// A server that could not be reached may have been restarted, and then knows none of its sessions.
// A request with one of them would fail there, and a PUT might truncate the object first.
void TokenPolicy::drop_stale_sessions() {
  if (!endpoint_->may_have_restarted.load(std::memory_order_relaxed)) return;
  if (window_.region == nullptr || !endpoint_->may_have_restarted.exchange(false)) return;
  window_.region->for_endpoint(endpoint_->fabric_number).drop_sessions();
}

void TokenPolicy::on_unsent() { end_token(rdma::TokenFate::kUnsent); }

void TokenPolicy::on_no_answer(const HttpFailure& failure) {
  drop_stale_sessions();  // before the token gives back its own session
  if (!failure.may_have_reached_server) return end_token(rdma::TokenFate::kUnsent);
  if (failure.was_hedged) return end_token(rdma::TokenFate::kGivenUp);
  end_token(rdma::TokenFate::kUnanswered);
  // Only this detects a server that loses the answers to tokens alone. With "require" there is no
  // other path, and not asking would make an outage longer.
  if (!is_required() && !is_whole_put_probe_) {
    endpoint_->capabilities.of(kind_).on_transfer_failed();
  }
}

void TokenPolicy::on_answer(const rdma::Decision& decision) {
  using rdma::Verdict;
  end_token(decision.verdict == Verdict::kTransferFailed ? rdma::TokenFate::kTransferFailed
                                                         : rdma::TokenFate::kAnswered);
  if (is_whole_put_probe_) return;
  Capability& capability = endpoint_->capabilities.of(kind_);
  switch (decision.verdict) {
    case Verdict::kDoneByRdma:
      return capability.on_rdma_done(window_.length);
    case Verdict::kS3Error:
      return;
    case Verdict::kBodyCarriesData:
      return capability.on_body_answer(window_.length);
    case Verdict::kTokenRejected:
      return capability.on_token_rejected();
    case Verdict::kRetryWithoutToken:
    case Verdict::kCorrupt:
      return capability.on_declined();
    case Verdict::kTransferFailed:
    case Verdict::kTruncated:
      return capability.on_transfer_failed();
  }
}

void TokenPolicy::on_broken_off() {
  end_token(rdma::TokenFate::kUnanswered);
  endpoint_->capabilities.of(kind_).on_declined();
}

Result<void> TokenPolicy::fall_back(const rdma::Decision& decision, int http_status) {
  if (is_required()) {
    if (decision.verdict == rdma::Verdict::kTransferFailed) return {};
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: rdma.mode is \"require\", and the server did not use RDMA: "
                            "HTTP {}, {}",
                            what_, http_status, decision.reason));
  }
  if (may_fail_again(decision)) return {};
  shared_.metrics.on_fallback(decision.reason, endpoint_->builder.endpoint_url(),
                              fmt::format("{}: HTTP {}", what_, http_status));
  use_http();
  return {};
}

// Repeated packet loss breaks an RC session and says nothing about the next session. From an
// endpoint that has never done RDMA a 500 more likely means that it cannot.
bool TokenPolicy::may_fail_again(const rdma::Decision& decision) {
  if (decision.reason != "transfer_failed") return false;
  return ++transfers_failed_ < kTransfersMax &&
         endpoint_->capabilities.of(kind_).state() == Capability::State::kWorks;
}

bool TokenPolicy::is_required() const { return shared_.rdma.mode == RdmaMode::kRequire; }

void TokenPolicy::on_done(Path path) {
  if (shared_.rdma.threshold_bytes) return;
  paths().on_done(window_.length, path, shared_.clock.now() - began_at_);
}

PathModel& TokenPolicy::paths() {
  return kind_ == TransferKind::kGet ? endpoint_->read_paths : endpoint_->write_paths;
}

bool TokenPolicy::is_worth_a_token() {
  if (is_required() || ignores_threshold_) return true;
  if (shared_.rdma.threshold_bytes) return window_.length >= *shared_.rdma.threshold_bytes;
  return paths().choose(window_.length) == Path::kRdma;
}

Result<bool> TokenPolicy::wants_token() {
  if (shared_.rdma.mode == RdmaMode::kOff || !may_use_token_) return false;
  if (without_rdma_at_ == endpoint_) return false;
  if (window_.length == 0) return false;  // zero-length transfers: s3rdmafs-protocol(7)
  if (!is_worth_it_) is_worth_it_ = is_worth_a_token();
  if (!*is_worth_it_) return false;
  if (is_whole_put_probe_) return true;
  const std::optional<Objection> objection = find_objection();
  if (!objection) return true;
  Error why{ErrorCode::kUnsupported, std::string(objection->why)};
  if (auto can = without_rdma(objection->reason, std::move(why)); !can) {
    return std::unexpected(std::move(can.error()));
  }
  return false;
}

std::optional<TokenPolicy::Objection> TokenPolicy::find_objection() {
  Capabilities& capabilities = endpoint_->capabilities;
  if (window_.length > kRdmaTransferBytesMax) {
    return Objection{"too_long", "the transfer is longer than servers do at once"};
  }
  if (kind_ != TransferKind::kGet && capabilities.stores_wrong_bytes()) {
    return Objection{"stored_wrong",
                     "the endpoint has stored other bytes than those it was to read by RDMA"};
  }
  if (kind_ == TransferKind::kPut && !capabilities.is_known_to_read()) {
    return Objection{"not_known_to_read",
                     capabilities.has_unconfirmed_put()
                         ? "the endpoint has stored an object without confirming the RDMA read"
                         : "the endpoint has not been seen to store a part by RDMA"};
  }
  Capability& capability = capabilities.of(kind_);
  if (capability.should_try(window_.length)) return std::nullopt;
  if (capability.state() == Capability::State::kRejectsTokens) {
    return Objection{"endpoint_rejects_tokens", "the endpoint rejected our tokens"};
  }
  return Objection{"endpoint_declines", "the endpoint does no RDMA at present"};
}

Result<void> TokenPolicy::without_rdma(std::string_view reason, Error why) {
  if (is_required()) {
    return fail(why.code, fmt::format("{}: rdma.mode is \"require\", and {}", what_, why.detail));
  }
  shared_.metrics.on_fallback(reason, endpoint_->builder.endpoint_url(), why.detail);
  without_rdma_at_ = endpoint_;
  return {};
}

void TokenPolicy::end_token(rdma::TokenFate fate) {
  if (token_) {
    const bool is_unbound = !is_bound_ && !token_->source_address().empty();
    const bool is_answered = fate == rdma::TokenFate::kAnswered;
    token_->end(is_answered && is_unbound ? rdma::TokenFate::kAnsweredUnbound : fate);
  }
  token_.reset();
  is_bound_ = false;
}

// One other rail is worth a try, since the server reaches the memory by that rail. After two
// failures, or for the same rail again, a request from any address is better than none. So it is
// after a time-out, since the server may be dead and others alive.
bool TokenPolicy::may_bind(const rdma::Token& token) const {
  const std::string& source = token.source_address();
  return !source.empty() && !has_lost_time_ && unconnected_.size() < kRailsMax &&
         std::ranges::find(unconnected_, source, &rdma::Token::source_address) ==
             unconnected_.end();
}

bool TokenPolicy::goes_another_way(const HttpFailure& failure) {
  if (failure.no_connection_from_source && token_) {
    unconnected_.push_back(std::move(*token_));
    has_lost_time_ |= failure.was_connect_time_out;
    token_.reset();
    is_bound_ = false;
    return true;
  }
  end_unconnected(failure.may_have_reached_server ? rdma::TokenFate::kUnconnected
                                                  : rdma::TokenFate::kUnsent);
  return false;
}

void TokenPolicy::end_unconnected(rdma::TokenFate fate) {
  for (rdma::Token& token : unconnected_) token.end(fate);
  unconnected_.clear();
  has_lost_time_ = false;
}

rdma::ReplyFacts reply_facts(const HttpResponse& response, const S3Error& error,
                             std::uint64_t expected_bytes) {
  return {.http_status = response.status,
          .reply = view(response.headers.rdma_reply),
          .bytes_transferred = view(response.headers.rdma_bytes_transferred),
          .body_bytes = response.body_bytes,
          .expected_bytes = expected_bytes,
          .s3_error_code = error.code,
          .content_length = response.headers.content_length};
}

}  // namespace s3rdmafs::s3
