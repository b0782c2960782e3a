// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdma/fabric.h"
#include "rdma/reply_rule.h"
#include "s3/endpoints/endpoint.h"
#include "s3/endpoints/transfer_kind.h"
#include "s3/exchanges/transfer_shared.h"
#include "s3/wire/http_message.h"
#include "s3/wire/s3_error.h"

namespace s3rdmafs::s3 {

/// Whether one transfer goes by RDMA token, attempt after attempt: the part that GET, PUT and
/// UploadPart have in common. Gets the token, tells it its fate, keeps the endpoint's capability up
/// to date, and falls back as rdma.mode allows. What an answer means is rdma/reply_rule. Used by
/// one thread at a time; must not move while prepare() waits.
class TokenPolicy {
 public:
  /// @param what  of errors and the log: "GET 'k', bytes 0+4096"
  TokenPolicy(TransferShared& shared, TransferKind kind, const rdma::Window& window,
              std::string what);

  /// Gets a token for the next attempt, which goes to `endpoint`, or decides that it has none: see
  /// add_token(). Calls `ready` as its last deed. Errors: RDMA is required and cannot be had now.
  void prepare(Endpoint& endpoint, Deadline deadline, Done<void> ready);

  /// Puts the token into the attempt's request, and what else that takes. False: there is none, the
  /// attempt goes by HTTP.
  [[nodiscard]] bool add_token(RequestSpec& spec) const;

  /// Where the attempt's connection should come from: see rdma::Token. Empty: no matter.
  [[nodiscard]] std::string source_address() const {
    return is_bound_ ? token_->source_address() : std::string();
  }

  /// To be asked first about every attempt without an answer. True: only that its connection was to
  /// come from a rail's address is known to be wrong, and the attempt is to be made again at once;
  /// by another rail, or from any address. Whose fault it was the next attempt tells: the server's,
  /// if that one reaches nothing from any address either.
  [[nodiscard]] bool goes_another_way(const HttpFailure& failure);
  /// An answer came, whatever it says. Before on_answer().
  void on_connected() { end_unconnected(rdma::TokenFate::kUnconnected); }

  // How the attempt ended: one of these, if it had a token.
  void on_unsent();
  void on_no_answer(const HttpFailure& failure);
  void on_answer(const rdma::Decision& decision);
  void on_broken_off();  ///< an answer with more body than anybody asked for

  /// The transfer is over, however it ended: no token is held any longer.
  void on_over() { end_unconnected(rdma::TokenFate::kUnsent); }

  /// The transfer has ended well.
  void on_done(Path path);

  /// After an answer that is neither success nor an S3 error: from now on by HTTP, counted. A first
  /// failed transfer is worth another by RDMA where that has worked before; with rdma.mode
  /// "require" each one is, and all else is an error.
  [[nodiscard]] Result<void> fall_back(const rdma::Decision& decision, int http_status);
  /// RDMA for this transfer however short it is.
  void ignore_threshold() { ignores_threshold_ = true; }
  /// The transfer finds out whether the endpoint takes whole objects: it has a token although that
  /// is not known, and what becomes of it says nothing until the bytes have been compared.
  void probe_whole_put() { is_whole_put_probe_ = true; }
  /// The endpoint does not do this kind of transfer right: nothing of it by RDMA for a while.
  void give_up_endpoint() { endpoint_->capabilities.of(kind_).on_declined(); }
  /// This transfer goes by HTTP from now on, whatever the mode and the endpoint.
  void use_http() { may_use_token_ = false; }

  [[nodiscard]] const std::string& what() const { return what_; }
  /// The server of the last attempt that was prepared; not of a read for comparison after it.
  [[nodiscard]] const std::string& endpoint_url() const {
    return endpoint_->builder.endpoint_url();
  }
  [[nodiscard]] bool is_required() const;

 private:
  void drop_stale_sessions();
  [[nodiscard]] Result<bool> wants_token();
  [[nodiscard]] bool is_worth_a_token();
  [[nodiscard]] PathModel& paths();
  [[nodiscard]] Result<void> without_rdma(std::string_view reason, Error why);
  [[nodiscard]] bool may_fail_again(const rdma::Decision& decision);
  void end_token(rdma::TokenFate fate);
  [[nodiscard]] bool may_bind(const rdma::Token& token) const;
  void end_unconnected(rdma::TokenFate fate);

  TransferShared& shared_;
  const TransferKind kind_;
  const rdma::Window window_;
  const std::string what_;
  Endpoint* endpoint_ = nullptr;      // of the attempt under way
  std::optional<rdma::Token> token_;  // of the attempt under way
  bool is_bound_ = false;             // it comes from its token's address
  // Of the attempts before it whose connection did not come about, while nobody knows why.
  std::vector<rdma::Token> unconnected_;
  bool has_lost_time_ = false;  // with these
  bool ignores_threshold_ = false;
  bool is_whole_put_probe_ = false;
  std::optional<bool> is_worth_it_;  // decided once: attempts should not differ by chance
  std::chrono::steady_clock::time_point began_at_;
  unsigned transfers_failed_ = 0;
  bool may_use_token_ = true;                  // this transfer may still try RDMA
  const Endpoint* without_rdma_at_ = nullptr;  // where it would be of no use now
};

/// What the rule wants to know of an answer. Borrows both.
[[nodiscard]] rdma::ReplyFacts reply_facts(const HttpResponse& response, const S3Error& error,
                                           std::uint64_t expected_bytes);

}  // namespace s3rdmafs::s3
