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

/// Decides for each attempt of one transfer whether it goes by RDMA token; GET, PUT and UploadPart
/// share this. Gets the token, ends it with its fate, keeps the endpoint's capability up to date,
/// and falls back as rdma.mode allows. rdma/reply_rule.h interprets the answers. Used by one thread
/// at a time; must not move while prepare() waits.
class TokenPolicy {
 public:
  /// @param what  the transfer, for errors and the log: "GET 'k', bytes 0+4096"
  TokenPolicy(TransferShared& shared, TransferKind kind, const rdma::Window& window,
              std::string what);

  /// Gets a token for the next attempt, which goes to `endpoint`, or decides that it goes without:
  /// see add_token(). Calls `ready` as its last action. Errors: RDMA is required and not available
  /// now.
  void prepare(Endpoint& endpoint, Deadline deadline, Done<void> ready);

  /// Adds the token, if there is one, to the attempt's request. False: the attempt goes by HTTP.
  [[nodiscard]] bool add_token(RequestSpec& spec) const;

  /// The address that the attempt's connection should come from: see rdma::Token. Empty: any.
  [[nodiscard]] std::string source_address() const {
    return is_bound_ ? token_->source_address() : std::string();
  }

  /// Call first for every attempt without an answer. True: no connection could be made from the
  /// rail's address, so the attempt should be made again at once, by another rail or from any
  /// address. That attempt shows whose fault it was: if it reaches no server either, the server's.
  [[nodiscard]] bool goes_another_way(const HttpFailure& failure);
  /// An answer came, of any kind. Call before on_answer().
  void on_connected() { end_unconnected(rdma::TokenFate::kUnconnected); }

  // How an attempt with a token ended; call one of these.
  void on_unsent();
  void on_no_answer(const HttpFailure& failure);
  void on_answer(const rdma::Decision& decision);
  void on_broken_off();  ///< the body was longer than the range

  /// The transfer is over. Gives back all tokens.
  void on_over() { end_unconnected(rdma::TokenFate::kUnsent); }

  /// The transfer has succeeded.
  void on_done(Path path);

  /// After an answer that is neither success nor an S3 error: the transfer goes by HTTP from now
  /// on, and that is counted. The first failed transfer is repeated by RDMA if that has worked
  /// before. With rdma.mode "require" every failed transfer is, and any other answer is an error.
  [[nodiscard]] Result<void> fall_back(const rdma::Decision& decision, int http_status);
  /// This transfer may go by RDMA however short it is.
  void ignore_threshold() { ignores_threshold_ = true; }
  /// This transfer tests whether the endpoint takes whole objects. It has a token although that is
  /// not known, and its outcome teaches nothing until the bytes have been compared.
  void probe_whole_put() { is_whole_put_probe_ = true; }
  /// The endpoint does this kind of transfer wrong: none goes by RDMA for a while.
  void give_up_endpoint() { endpoint_->capabilities.of(kind_).on_declined(); }
  /// This transfer goes by HTTP from now on, whatever mode and endpoint are.
  void use_http() { may_use_token_ = false; }

  [[nodiscard]] const std::string& what() const { return what_; }
  /// The server of the last attempt that was prepared. A read for comparison may go elsewhere.
  [[nodiscard]] const std::string& endpoint_url() const {
    return endpoint_->builder.endpoint_url();
  }
  [[nodiscard]] bool is_required() const;

 private:
  void drop_stale_sessions();
  /// Why a transfer that is worth a token has none.
  struct Objection {
    std::string_view reason;  ///< as StoreMetrics::on_fallback() has it
    std::string_view why;     ///< for errors and the log
  };

  [[nodiscard]] Result<bool> wants_token();
  [[nodiscard]] std::optional<Objection> find_objection();
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
  bool is_bound_ = false;             // its connection comes from its token's address
  // Of earlier attempts that could not connect, while the reason is not known.
  std::vector<rdma::Token> unconnected_;
  bool has_lost_time_ = false;  // one of these timed out
  bool ignores_threshold_ = false;
  bool is_whole_put_probe_ = false;
  std::optional<bool> is_worth_it_;  // decided once, so that attempts do not differ by chance
  std::chrono::steady_clock::time_point began_at_;
  unsigned transfers_failed_ = 0;
  bool may_use_token_ = true;                  // this transfer may still try RDMA
  const Endpoint* without_rdma_at_ = nullptr;  // RDMA was ruled out there
};

/// The facts of an answer that rdma/reply_rule.h judges. Borrows both arguments.
[[nodiscard]] rdma::ReplyFacts reply_facts(const HttpResponse& response, const S3Error& error,
                                           std::uint64_t expected_bytes);

}  // namespace s3rdmafs::s3
