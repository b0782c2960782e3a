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
    unsigned servers = 1;          ///< that requests go to; each keeps its connections
    TransferOptions transfer;
  };

  /// Borrows the clock.
  HttpEngine(Options options, const Clock& clock);
  /// Shuts down.
  ~HttpEngine();
  HttpEngine(const HttpEngine&) = delete;
  HttpEngine& operator=(const HttpEngine&) = delete;

  /// A request from an event thread stays on that thread while it has a spare connection. All
  /// others go to the thread with the fewest requests.
  void send(HttpRequest request, HttpDone done);

  /// Runs `task` at `when` on an event thread: the caller's own if it is one. During shutdown it
  /// runs early, possibly on the caller's thread, and a send() in it fails.
  void call_at(std::chrono::steady_clock::time_point when, EventLoop::Task task);

  /// Whether shut_down() was called. Then every new request fails.
  [[nodiscard]] bool is_shutting_down() const;

  /// Ends all requests with kCancelled, and every later one at once. Must not be called on an event
  /// thread, so not from an HttpDone. Returns after the last HttpDone was called.
  void shut_down();

 private:
  /// libcurl's process-wide state. libcurl counts its users and makes this thread-safe.
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
