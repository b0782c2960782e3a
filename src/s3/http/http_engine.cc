// SPDX-License-Identifier: Apache-2.0
#include "s3/http/http_engine.h"

#include <algorithm>

namespace s3rdmafs::s3 {

HttpEngine::HttpEngine(Options options, const Clock& clock)
    : transfer_options_(std::move(options.transfer)) {
  const unsigned threads = std::max(1U, options.event_threads);
  for (unsigned i = 0; i < threads; ++i) {
    // The first lanes take what does not divide.
    const unsigned share =
        options.connections_max / threads + (i < options.connections_max % threads ? 1 : 0);
    lanes_.push_back(std::make_unique<HttpReactor>(transfer_options_, clock, std::max(1U, share),
                                                   options.servers, i));
  }
}

HttpEngine::~HttpEngine() { shut_down(); }

void HttpEngine::send(HttpRequest request, HttpDone done) {
  HttpReactor& lane = choose_lane();
  lane.load().fetch_add(1);
  if (lane.loop().is_current_thread()) {
    return lane.submit(std::move(request), std::move(done));
  }
  EventLoop::Task task = [&lane, request = std::move(request), done = std::move(done)]() mutable {
    lane.submit(std::move(request), std::move(done));
  };
  if (!lane.loop().post(task)) task();  // stopping: it fails right here
}

void HttpEngine::call_at(std::chrono::steady_clock::time_point when, EventLoop::Task task) {
  if (HttpReactor* lane = current_lane()) {
    static_cast<void>(lane->loop().call_at(when, std::move(task)));
    return;
  }
  EventLoop& loop = lanes_.front()->loop();
  EventLoop::Task set_timer = [&loop, when, task = std::move(task)]() mutable {
    if (loop.is_stopping()) return task();
    static_cast<void>(loop.call_at(when, std::move(task)));
  };
  if (!loop.post(set_timer)) set_timer();
}

bool HttpEngine::is_shutting_down() const { return lanes_.front()->loop().is_stopping(); }

void HttpEngine::shut_down() {
  for (const auto& lane : lanes_) lane->loop().request_stop();
  for (const auto& lane : lanes_) lane->loop().join();
}

HttpReactor* HttpEngine::current_lane() {
  for (const auto& lane : lanes_) {
    if (lane->loop().is_current_thread()) return lane.get();
  }
  return nullptr;
}

HttpReactor& HttpEngine::choose_lane() {
  HttpReactor* current = current_lane();
  if (current != nullptr && current->has_room()) return *current;
  return **std::ranges::min_element(lanes_, {},
                                    [](const auto& lane) { return lane->load().load(); });
}

}  // namespace s3rdmafs::s3
