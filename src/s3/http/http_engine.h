// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "s3/http/http_reactor.h"
#include "s3/wire/http_message.h"
#include "s3rdmafs/base/clock.h"

namespace s3rdmafs::s3 {

/// Sends HTTP/1.1 requests over kept-alive connections, on a few event threads. Knows neither S3
/// nor retries. Thread-safe.
class HttpEngine {
 public:
  struct Options {
    unsigned event_threads = 1;
    unsigned connections_max = 1;  ///< in all; at least one per thread
    unsigned servers = 1;          ///< that requests go to: for the connections kept open
    TransferOptions transfer;
  };

  /// Borrows the clock.
  HttpEngine(Options options, const Clock& clock);
  /// Shuts down.
  ~HttpEngine();
  HttpEngine(const HttpEngine&) = delete;
  HttpEngine& operator=(const HttpEngine&) = delete;

  /// A caller on an event thread stays there, without a hand-over, while that thread has a
  /// connection to spare; others go to the least busy one.
  void send(HttpRequest request, HttpDone done);

  /// Runs `task` at `when` on an event thread, the caller's own if it is on one; early, perhaps on
  /// the caller's thread, when shutting down, which a send() in it will then find out.
  void call_at(std::chrono::steady_clock::time_point when, EventLoop::Task task);

  /// Whether shut_down() was called: no request comes about any more.
  [[nodiscard]] bool is_shutting_down() const;

  /// Ends all requests with kCancelled, and every later one at once. Not to be called on an event
  /// thread, that is, from an HttpDone. Returns when no HttpDone is left to be called.
  void shut_down();

 private:
  /// libcurl's process-wide state: counted by libcurl, and safe to use from several threads.
  struct CurlGlobal {
    CurlGlobal() noexcept { curl_global_init(CURL_GLOBAL_DEFAULT); }
    ~CurlGlobal() { curl_global_cleanup(); }
    CurlGlobal(const CurlGlobal&) = delete;
    CurlGlobal& operator=(const CurlGlobal&) = delete;
  };

  [[nodiscard]] HttpReactor* current_reactor();
  [[nodiscard]] HttpReactor& choose_reactor();

  const CurlGlobal curl_;
  const TransferOptions transfer_options_;
  std::vector<std::unique_ptr<HttpReactor>> reactors_;
};

}  // namespace s3rdmafs::s3
