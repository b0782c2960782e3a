// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "net/connection_options.h"
#include "net/curl_handles.h"
#include "s3/wire/http_message.h"

namespace s3rdmafs::s3 {

/// Settings that all transfers of an engine share.
struct TransferOptions {
  std::chrono::milliseconds connect_timeout{};
  std::chrono::milliseconds request_timeout{};  ///< first byte sent to last received
  net::ConnectionOptions connection = {};
  std::chrono::milliseconds rdma_timeout{};  ///< the same for requests with a token
  RdmaHeaderNames rdma_names = {};
};

/// One libcurl easy handle and its current request. Reused, since the handle keeps buffers and
/// options. Belongs to its event loop's thread; never moves, since libcurl holds its address.
class CurlTransfer {
 public:
  explicit CurlTransfer(const TransferOptions& options);
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  /// The transfer that a handle belongs to.
  [[nodiscard]] static CurlTransfer& of(CURL* easy);

  /// Sets the handle up for `request`; the caller adds it to its curl_multi.
  void begin(HttpRequest request, HttpDone done, std::chrono::steady_clock::time_point now);

  /// The outcome, after libcurl reported `code` and the handle was removed from its curl_multi.
  [[nodiscard]] HttpOutcome outcome(CURLcode code, std::chrono::steady_clock::time_point now);
  /// The same for a transfer that is cut short: by a shutdown, or because may_hedge() said so.
  [[nodiscard]] HttpOutcome cancelled() const;
  [[nodiscard]] HttpOutcome given_up() const;
  /// Makes it ready for the next begin() and returns the request's HttpDone.
  [[nodiscard]] HttpDone finish();

  [[nodiscard]] CURL* easy() { return easy_.get(); }
  [[nodiscard]] std::chrono::nanoseconds hedge_after() const { return request_.hedge_after; }
  [[nodiscard]] bool may_hedge() { return request_.may_hedge(); }

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count,
                               void* self) noexcept;
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) noexcept;
  static int on_send(void* self, char*, char*, int, int) noexcept;
  [[nodiscard]] HttpOutcome unusable_header() const;
  void set_options();
  void set_method();
  [[nodiscard]] bool take_body(std::string_view bytes);

  const TransferOptions& options_;
  net::CurlEasy easy_;
  net::CurlList header_list_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};

  HttpRequest request_;
  HttpDone done_;
  HttpResponse response_;
  unsigned times_sent_ = 0;
};

}  // namespace s3rdmafs::s3
