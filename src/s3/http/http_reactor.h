// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "s3/http/curl_transfer.h"
#include "s3/http/event_loop.h"
#include "s3/wire/http_message.h"

namespace s3rdmafs::s3 {

/// One event loop with its share of the connections. A request that finds none free waits in line
/// until its deadline.
class HttpReactor {
 public:
  /// Borrows options and clock.
  /// @param servers  how many the requests go to
  /// @param number   names the thread
  HttpReactor(const TransferOptions& options, const Clock& clock, unsigned connections_max,
              unsigned servers, unsigned number);

  /// On the loop's thread; once the loop is stopping on any thread, and then the request fails.
  void submit(HttpRequest request, HttpDone done);

  [[nodiscard]] EventLoop& loop() { return loop_; }
  /// Requests that this reactor has and has not ended, for balancing. Any thread.
  [[nodiscard]] std::atomic<std::size_t>& load() { return load_; }
  [[nodiscard]] bool has_room() const { return load_.load() < connections_max_; }

 private:
  struct Waiting {
    HttpRequest request;
    HttpDone done;
    EventLoop::TimerId deadline_timer;
  };
  using WaitingList = std::list<Waiting>;

  void start(HttpRequest request, HttpDone done);
  void keep_connections_from(const std::string& source_address);
  void start_next_waiting();
  void on_transfer_done(CURL* easy, CURLcode code);
  void on_hedge_due(CurlTransfer& transfer);
  [[nodiscard]] HttpDone take_out(CurlTransfer& transfer);
  void on_deadline_in_line(WaitingList::iterator at);
  void end(HttpDone done, HttpOutcome outcome);
  void end_all();

  const TransferOptions& options_;
  const Clock& clock_;
  const std::size_t connections_max_;
  const std::size_t servers_;
  std::atomic<std::size_t> load_{0};

  // On the loop's thread only, from here on.
  std::vector<std::unique_ptr<CurlTransfer>> transfers_;  // at most connections_max_
  std::vector<CurlTransfer*> idle_;
  /// Transfers under way; each with the timer that asks whether to hedge it, while that is set.
  std::unordered_map<CurlTransfer*, std::optional<EventLoop::TimerId>> active_;
  WaitingList waiting_;
  std::vector<std::string> source_addresses_;  // of all requests so far: one for each rail

  EventLoop loop_;  // last: its thread uses all of the above and must end before them
};

}  // namespace s3rdmafs::s3
