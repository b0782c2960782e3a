// SPDX-License-Identifier: Apache-2.0
#include "s3/http/http_reactor.h"

#include <algorithm>

namespace s3rdmafs::s3 {

HttpReactor::HttpReactor(const TransferOptions& options, const Clock& clock,
                         unsigned connections_max, unsigned servers, unsigned number)
    : options_(options),
      clock_(clock),
      connections_max_(connections_max),
      servers_(servers),
      // A transfer has one connection. This keeps all of them open between requests, even if the
      // servers take turns in having all requests.
      loop_(
          clock, number, /*connections_kept=*/connections_max * servers,
          {.on_transfer_done = [this](CURL* easy, CURLcode code) { on_transfer_done(easy, code); },
           .on_stop = [this] { end_all(); }}) {}

void HttpReactor::submit(HttpRequest request, HttpDone done) {
  if (loop_.is_stopping()) {
    return end(
        std::move(done),
        std::unexpected(HttpFailure{.error = {ErrorCode::kCancelled, "the mount is going down"}}));
  }
  if (active_.size() < connections_max_) return start(std::move(request), std::move(done));
  const Deadline deadline = request.deadline;
  const auto at = waiting_.insert(
      waiting_.end(), Waiting{std::move(request), std::move(done), EventLoop::TimerId{}});
  at->deadline_timer = loop_.call_at(deadline, [this, at] { on_deadline_in_line(at); });
}

void HttpReactor::start(HttpRequest request, HttpDone done) {
  if (idle_.empty()) {
    transfers_.push_back(std::make_unique<CurlTransfer>(options_));
    idle_.push_back(transfers_.back().get());
  }
  CurlTransfer* transfer = idle_.back();
  idle_.pop_back();
  auto& hedge_timer = active_[transfer];
  keep_connections_from(request.source_address);
  const auto now = clock_.now();
  transfer->begin(std::move(request), std::move(done), now);
  if (const auto hedge_after = transfer->hedge_after(); hedge_after > hedge_after.zero()) {
    hedge_timer =
        loop_.call_at(now + std::chrono::ceil<std::chrono::steady_clock::duration>(hedge_after),
                      [this, transfer] { on_hedge_due(*transfer); });
  }
  curl_multi_add_handle(loop_.multi(), transfer->easy());
}

// A connection belongs to one source address. With room for all requests from each address, a mount
// with several rails does not close and open connections with every request.
void HttpReactor::keep_connections_from(const std::string& source_address) {
  if (source_address.empty() ||
      std::ranges::find(source_addresses_, source_address) != source_addresses_.end())
    return;
  source_addresses_.push_back(source_address);
  const std::size_t kept =
      connections_max_ * servers_ * (1 + source_addresses_.size());  // 1: from anywhere
  curl_multi_setopt(loop_.multi(), CURLMOPT_MAXCONNECTS, static_cast<long>(kept));
}

void HttpReactor::start_next_waiting() {
  if (waiting_.empty() || loop_.is_stopping()) return;
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  loop_.cancel(next.deadline_timer);
  start(std::move(next.request), std::move(next.done));
}

void HttpReactor::on_transfer_done(CURL* easy, CURLcode code) {
  CurlTransfer& transfer = CurlTransfer::of(easy);
  curl_multi_remove_handle(loop_.multi(), easy);
  HttpOutcome outcome = transfer.outcome(code, clock_.now());
  HttpDone done = take_out(transfer);
  start_next_waiting();  // before `done`, which may add a request: first come, first served
  end(std::move(done), std::move(outcome));
}

// Also called early, when the loop stops; on_stop then ends the transfer.
void HttpReactor::on_hedge_due(CurlTransfer& transfer) {
  active_.at(&transfer).reset();
  if (loop_.is_stopping() || !transfer.may_hedge()) return;
  curl_multi_remove_handle(loop_.multi(), transfer.easy());
  HttpOutcome outcome = transfer.given_up();
  HttpDone done = take_out(transfer);
  start_next_waiting();
  end(std::move(done), std::move(outcome));
}

HttpDone HttpReactor::take_out(CurlTransfer& transfer) {
  const auto active = active_.extract(&transfer);
  if (active.mapped()) loop_.cancel(*active.mapped());
  idle_.push_back(&transfer);
  return transfer.finish();
}

void HttpReactor::on_deadline_in_line(WaitingList::iterator at) {
  // Also called early, when the loop stops.
  const Error error =
      loop_.is_stopping()
          ? Error{ErrorCode::kCancelled, "the mount is going down"}
          : Error{ErrorCode::kTimedOut,
                  "no connection became free by the deadline: the server is too slow for "
                  "this load, or http.connections_max is too small"};
  HttpDone done = std::move(at->done);
  waiting_.erase(at);
  end(std::move(done), std::unexpected(HttpFailure{.error = error}));
}

void HttpReactor::end(HttpDone done, HttpOutcome outcome) {
  load_.fetch_sub(1);
  done(std::move(outcome));
}

void HttpReactor::end_all() {
  // Requests in line end by their timers, which the loop has run before.
  while (!active_.empty()) {
    CurlTransfer* transfer = active_.begin()->first;
    curl_multi_remove_handle(loop_.multi(), transfer->easy());
    HttpOutcome outcome = transfer->cancelled();
    end(take_out(*transfer), std::move(outcome));
  }
}

}  // namespace s3rdmafs::s3
