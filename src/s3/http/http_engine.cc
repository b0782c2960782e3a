// SPDX-License-Identifier: Apache-2.0
#include "s3/http/http_engine.h"

#include <algorithm>

namespace s3rdmafs::s3 {

HttpEngine::HttpEngine(Options options, const Clock& clock)
    : transfer_options_(std::move(options.transfer)) {
  const unsigned threads = std::max(1U, options.event_threads);
  for (unsigned i = 0; i < threads; ++i) {
    // The first reactors take the remainder.
    const unsigned share =
        options.connections_max / threads + (i < options.connections_max % threads ? 1 : 0);
    reactors_.push_back(std::make_unique<HttpReactor>(transfer_options_, clock, std::max(1U, share),
                                                      options.servers, i));
  }
}

HttpEngine::~HttpEngine() { shut_down(); }

void HttpEngine::send(HttpRequest request, HttpDone done) {
  HttpReactor& reactor = choose_reactor();
  reactor.load().fetch_add(1);
  if (reactor.loop().is_current_thread()) {
    return reactor.submit(std::move(request), std::move(done));
  }
  EventLoop::Task task = [&reactor, request = std::move(request),
                          done = std::move(done)]() mutable {
    reactor.submit(std::move(request), std::move(done));
  };
  if (!reactor.loop().post(task)) task();  // stopping: submit() fails it here
}

void HttpEngine::call_at(std::chrono::steady_clock::time_point when, EventLoop::Task task) {
  if (HttpReactor* reactor = current_reactor()) {
    static_cast<void>(reactor->loop().call_at(when, std::move(task)));
    return;
  }
  EventLoop& loop = reactors_.front()->loop();
  EventLoop::Task set_timer = [&loop, when, task = std::move(task)]() mutable {
    if (loop.is_stopping()) return task();
    static_cast<void>(loop.call_at(when, std::move(task)));
  };
  if (!loop.post(set_timer)) set_timer();
}

bool HttpEngine::is_shutting_down() const { return reactors_.front()->loop().is_stopping(); }

void HttpEngine::shut_down() {
  for (const auto& reactor : reactors_) reactor->loop().request_stop();
  for (const auto& reactor : reactors_) reactor->loop().join();
}

HttpReactor* HttpEngine::current_reactor() {
  for (const auto& reactor : reactors_) {
    if (reactor->loop().is_current_thread()) return reactor.get();
  }
  return nullptr;
}

HttpReactor& HttpEngine::choose_reactor() {
  HttpReactor* current = current_reactor();
  if (current != nullptr && current->has_room()) return *current;
  return **std::ranges::min_element(reactors_, {},
                                    [](const auto& reactor) { return reactor->load().load(); });
}

}  // namespace s3rdmafs::s3
