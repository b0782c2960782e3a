// SPDX-License-Identifier: Apache-2.0
// Shared by all tests of the object client: a store with a test's options, answers to a GET of one
// window, and a way to wait for an operation.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/s3/scripted_http_server.h"
#include "s3/http_object_store.h"

namespace s3rdmafs::s3 {

/// How much these tests move at a time.
inline constexpr std::size_t kWindowBytes = 4096;

/// The version of the object that these tests read.
inline constexpr const char* kEtag = "\"v1\"";
inline constexpr std::uint64_t kObjectBytes = 100'000;

using Got = std::expected<Path, GetFailure>;

/// An operation's result, when it comes.
template <class T>
class Outcome {
 public:
  auto done() {
    return [this](T result) { promise_.set_value(std::move(result)); };
  }
  [[nodiscard]] bool wait() { return is_there_in(std::chrono::seconds(30)); }
  [[nodiscard]] bool is_there() { return is_there_in(std::chrono::seconds(0)); }
  [[nodiscard]] bool is_there_in(std::chrono::milliseconds limit) {
    return future_.wait_for(limit) == std::future_status::ready;
  }
  T get() {
    if (!wait()) throw std::runtime_error("the operation never ended");
    return future_.get();
  }

 private:
  std::promise<T> promise_;
  std::future<T> future_ = promise_.get_future();
};

inline std::pair<std::string, std::string> content_range(std::uint64_t offset,
                                                         std::uint64_t object_bytes) {
  return {"Content-Range", "bytes " + std::to_string(offset) + "-" +
                               std::to_string(offset + kWindowBytes - 1) + "/" +
                               std::to_string(object_bytes)};
}

/// A server that sends the window's bytes in the body.
inline fakes::ScriptedAnswer sent_by_http(const std::string& bytes, std::uint64_t offset = 0) {
  return {.status = 206,
          .headers = {{"ETag", kEtag}, content_range(offset, kObjectBytes)},
          .body = bytes};
}

/// A server that says that it has written the window by RDMA.
inline fakes::ScriptedAnswer sent_by_rdma(std::uint64_t offset = 0,
                                          std::uint64_t object_bytes = kObjectBytes) {
  return {.status = 206,
          .headers = {{"ETag", kEtag},
                      content_range(offset, object_bytes),
                      {"x-amz-rdma-reply", "206"},
                      {"x-amz-rdma-bytes-transferred", std::to_string(kWindowBytes)}}};
}

inline fakes::ScriptedAnswer held(fakes::ScriptedAnswer answer) {
  answer.hold = true;
  return answer;
}

/// An answer whose connection breaks in the middle of the body.
inline fakes::ScriptedAnswer broken(fakes::ScriptedAnswer answer) {
  answer.announced_bytes = answer.body.size();
  answer.body.resize(answer.body.size() / 2);
  return answer;
}

inline bool has_token(const fakes::SeenRequest& request) {
  return request.headers.contains("x-amz-rdma-token");
}

/// A store that is made from `options_` when it is first used.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    using namespace std::chrono_literals;
    options_.bucket = "train";
    options_.endpoint.region = "us-east-1";
    options_.http = {
        .event_threads = 1, .connections_max = 8, .connect_timeout = 5s, .request_timeout = 20s};
    options_.retry = {.attempts_max = 4, .backoff_first = 1ms, .backoff_max = 5ms};
  }
  /// Before the servers and the memory of a derived fixture, which the store uses.
  void TearDown() override { store_.reset(); }

  HttpObjectStore& store() {
    if (!store_) store_.emplace(options_, credentials_, clock_, metrics_);
    return *store_;
  }

  static rdma::Window window_of(rdma::MemoryRegion& region, std::size_t offset = 0) {
    return {.region = &region, .offset = offset, .length = kWindowBytes};
  }
  Got get_into(const rdma::Window& window, bool can_restart = false) {
    Outcome<Got> outcome;
    store().get({.key = "key", .etag = kEtag, .window = window, .can_restart = can_restart}, soon(),
                outcome.done());
    return outcome.get();
  }

  /// A deadline that only a test which hangs meets.
  [[nodiscard]] Deadline soon() const { return clock_.now() + std::chrono::seconds(20); }

  std::uint64_t counted(const std::string& name, const std::string& labels = {}) {
    return metrics_.counter(name, "", labels).value();
  }
  std::uint64_t fallbacks(const std::string& reason) {
    return counted("rdma_fallbacks_total", "reason=\"" + reason + "\"");
  }
  static std::string of_endpoint(const std::string& url) { return "endpoint=\"" + url + "\""; }
  bool is_alive(const std::string& url) {
    return metrics_.gauge("endpoint_alive", "", of_endpoint(url)).value() == 1;
  }

  const SystemClock clock_;
  metrics::Registry metrics_;
  StaticCredentials credentials_{
      {.access_key_id = "key", .secret_access_key = "secret", .session_token = ""}};
  HttpObjectStore::Options options_;
  std::optional<HttpObjectStore> store_;
};

/// The same with one server. RDMA is preferred for 1 KiB and more.
class OneServerTest : public StoreTest {
 protected:
  OneServerTest() {
    options_.endpoint.urls = {server_.url()};
    options_.rdma = {.mode = RdmaMode::kPrefer, .threshold_bytes = 1024};
    options_.http.event_threads = 2;
  }

  bool has_token(std::size_t request) { return s3::has_token(server_.seen().at(request)); }

  fakes::ScriptedHttpServer server_;
};

/// The same with two servers of one store, `a_` and `b_`.
class TwoServersTest : public StoreTest {
 protected:
  TwoServersTest() { options_.endpoint.urls = {a_url_, b_url_}; }

  std::optional<fakes::ScriptedHttpServer> a_{std::in_place}, b_{std::in_place};
  const std::string a_url_ = a_->url(), b_url_ = b_->url();
};

}  // namespace s3rdmafs::s3
