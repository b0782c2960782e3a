// SPDX-License-Identifier: Apache-2.0
//
// What a token costs. Moving 64 KiB by RDMA should cost hardly more than asking for one byte by
// HTTP, or small blocks would be better off without it. Both go through the whole object client,
// one after the other over one and the same connection: the store is a single lane with a single
// connection, and its threshold decides which way a request goes.
//
//   get_overhead URL BUCKET KEY [BENCHMARK OPTION...]
//
// KEY is an object of at least 64 KiB. tools/bench/get_overhead.sh starts the server and judges.
#include <sys/mman.h>

#include <cstdio>
#include <future>
#include <memory>
#include <span>

#include <benchmark/benchmark.h>

#include "cache/arena.h"
#include "rdma/shm/shm_fabric.h"
#include "s3/http_object_store.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/metrics/registry.h"
#include "s3rdmafs/rdma/shm_wire.h"

namespace s3rdmafs {
namespace {

constexpr std::size_t kBlockBytes = 64 * kKiB;
constexpr std::chrono::seconds kPatience{10};

/// The client of a mount, without the mount.
class Client {
 public:
  static Result<std::unique_ptr<Client>> create(const std::string& url, const std::string& bucket,
                                                const std::string& key) {
    const auto colon = url.rfind(':');
    const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1)));
    auto client = std::unique_ptr<Client>(new Client(url, bucket, port));
    auto arena =
        cache::Arena::create(cache::Arena::kSlabBytes, cache::Arena::Lock::kTry, *client->fabric_);
    if (!arena) return std::unexpected(arena.error());
    client->arena_ = std::move(*arena);
    std::promise<Result<s3::ObjectInfo>> promise;
    client->store_.head(key, client->deadline(), [&](Result<s3::ObjectInfo> object) {
      promise.set_value(std::move(object));
    });
    auto object = promise.get_future().get();
    if (!object) return std::unexpected(object.error());
    if (object->size_bytes < kBlockBytes) {
      return fail(ErrorCode::kInvalidArgument, "the object is smaller than 64 KiB");
    }
    client->object_ = std::move(*object);
    return client;
  }

  /// One GET from beginning to end. @return by which path it came, or nothing if it failed.
  std::optional<s3::Path> get(std::size_t length_bytes) {
    std::promise<std::expected<s3::Path, s3::GetFailure>> promise;
    auto future = promise.get_future();
    store_.get({.key = object_.key,
                .etag = object_.etag,
                .offset_bytes = 0,
                .window = {.region = &arena_->region(0), .offset = 0, .length = length_bytes}},
               deadline(), [&](auto outcome) { promise.set_value(std::move(outcome)); });
    auto outcome = future.get();
    if (!outcome) return std::nullopt;
    return *outcome;
  }

 private:
  Client(const std::string& url, const std::string& bucket, std::uint16_t port)
      : fabric_(rdma::shm::make_shm_fabric(rdma::shm::default_socket_name(port))),
        credentials_({.access_key_id = "bench", .secret_access_key = "bench-secret"}),
        store_({.bucket = {.name = bucket, .prefix = {}},
                .endpoint = {.url = url, .region = "us-east-1", .ca_file = {}},
                .rdma = {.mode = config::RdmaMode::kPrefer,
                         .threshold_bytes = kBlockBytes,
                         .shm_socket = {}},
                .http = {.event_threads = 1,
                         .connections_max = 1,
                         .connect_timeout = kPatience,
                         .request_timeout = kPatience},
                .retry = {.attempts_max = 1,
                          .backoff_first = std::chrono::milliseconds(1),
                          .backoff_max = std::chrono::milliseconds(1),
                          .deadline = kPatience}},
               credentials_, clock_, metrics_) {}

  [[nodiscard]] Deadline deadline() const { return clock_.now() + kPatience; }

  const SystemClock clock_;
  metrics::Registry metrics_;
  std::unique_ptr<rdma::Fabric> fabric_;
  std::unique_ptr<cache::Arena> arena_;
  s3::StaticCredentials credentials_;
  s3::ObjectInfo object_;
  s3::HttpObjectStore store_;  // last: its threads are gone before what they use
};

void measure(benchmark::State& state, Client& client, std::size_t length_bytes, s3::Path path) {
  for ([[maybe_unused]] auto turn : state) {
    if (client.get(length_bytes) != path) {
      state.SkipWithError("a request failed, or went the other way");
      return;
    }
  }
}

}  // namespace
}  // namespace s3rdmafs

int main(int argc, char** argv) {
  using namespace s3rdmafs;
  if (argc < 4) {
    std::fprintf(stderr, "usage: get_overhead URL BUCKET KEY [BENCHMARK OPTION...]\n");
    return 2;
  }
  auto client = Client::create(argv[1], argv[2], argv[3]);
  if (!client) {
    std::fprintf(stderr, "get_overhead: %s\n", client.error().detail.c_str());
    return 1;
  }
  const auto add = [&](const char* name, std::size_t length_bytes, s3::Path path) {
    benchmark::RegisterBenchmark(name, [&client = **client, length_bytes,
                                        path](benchmark::State& state) {
      measure(state, client, length_bytes, path);
    })->UseRealTime();
  };
  add("http_1B", 1, s3::Path::kHttp);
  add("rdma_64KiB", kBlockBytes, s3::Path::kRdma);
  argc -= 3;
  argv[3] = argv[0];
  argv += 3;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
