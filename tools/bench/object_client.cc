// SPDX-License-Identifier: Apache-2.0
#include "object_client.h"

#include <future>

#include "rdma/null_fabric.h"
#include "rdma/shm/shm_fabric.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/rdma/shm_wire.h"

namespace s3rdmafs::bench {
namespace {

constexpr std::chrono::seconds kPatience{10};

std::unique_ptr<rdma::Fabric> make_fabric(const ObjectClient::Options& options) {
  if (!options.over_shm) return rdma::make_null_fabric();
  const std::string port = options.url.substr(options.url.rfind(':') + 1);
  return rdma::shm::make_shm_fabric(
      rdma::shm::default_socket_name(static_cast<std::uint16_t>(std::stoi(port))));
}

s3::HttpObjectStore::Options store_options(const ObjectClient::Options& options) {
  return {
      .bucket = options.bucket,
      .terms = {},
      .endpoint = {.urls = {options.url}, .region = "us-east-1"},
      .rdma = {.mode = options.over_shm ? s3::RdmaMode::kPrefer : s3::RdmaMode::kOff,
               .threshold_bytes = 64 * kKiB},
      .http = {.event_threads = options.event_threads,
               .connections_max = options.connections_max,
               .connect_timeout = kPatience,
               .request_timeout = kPatience},
      .retry = {.attempts_max = 1,
                .backoff_first = std::chrono::milliseconds(1),
                .backoff_max = std::chrono::milliseconds(1)},
  };
}

}  // namespace

ObjectClient::ObjectClient(const Options& options)
    : fabric_(make_fabric(options)),
      credentials_({.access_key_id = "bench", .secret_access_key = "bench-secret"}),
      store_(store_options(options), credentials_, clock_, metrics_) {}

Result<std::unique_ptr<ObjectClient>> ObjectClient::create(const Options& options) {
  auto client = std::unique_ptr<ObjectClient>(new ObjectClient(options));
  auto arena = memory::Arena::create(options.memory_bytes, memory::Arena::Lock::kTry,
                                     *client->fabric_, {.access = options.access});
  if (!arena) return std::unexpected(arena.error());
  client->arena_ = std::move(*arena);
  return client;
}

Deadline ObjectClient::deadline() const { return clock_.now() + kPatience; }

Result<s3::ObjectInfo> ObjectClient::head(const std::string& key) {
  std::promise<Result<s3::ObjectInfo>> promise;
  store_.head(key, deadline(),
              [&](Result<s3::ObjectInfo> object) { promise.set_value(std::move(object)); });
  return promise.get_future().get();
}

Result<std::vector<s3::ObjectInfo>> ObjectClient::list(const std::string& prefix) {
  std::vector<s3::ObjectInfo> objects;
  std::string continuation;
  do {
    std::promise<Result<s3::ListPage>> promise;
    store_.list({.prefix = prefix, .delimiter = {}, .continuation_token = continuation}, deadline(),
                [&](Result<s3::ListPage> page) { promise.set_value(std::move(page)); });
    auto page = promise.get_future().get();
    if (!page) return std::unexpected(page.error());
    std::ranges::move(page->objects, std::back_inserter(objects));
    continuation = page->next_token;
  } while (!continuation.empty());
  return objects;
}

}  // namespace s3rdmafs::bench
