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
#include <cstdio>
#include <future>
#include <memory>
#include <optional>

#include <benchmark/benchmark.h>

#include "object_client.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs {
namespace {

constexpr std::size_t kBlockBytes = 64 * kKiB;

/// One object, and a client to get it with.
class Subject {
 public:
  static Result<Subject> create(const std::string& url, const std::string& bucket,
                                const std::string& key) {
    auto client = bench::ObjectClient::create({.url = url, .bucket = bucket});
    if (!client) return std::unexpected(client.error());
    auto object = (*client)->head(key);
    if (!object) return std::unexpected(object.error());
    if (object->size_bytes < kBlockBytes) {
      return fail(ErrorCode::kInvalidArgument, "the object is smaller than 64 KiB");
    }
    return Subject(std::move(*client), std::move(*object));
  }

  /// One GET from beginning to end. @return by which path it came, or nothing if it failed.
  std::optional<s3::Path> get(std::size_t length_bytes) {
    std::promise<std::expected<s3::Path, s3::GetFailure>> promise;
    auto future = promise.get_future();
    client_->store().get(
        {.key = object_.key,
         .etag = object_.etag,
         .offset_bytes = 0,
         .window = {.region = &client_->arena().region(0), .offset = 0, .length = length_bytes}},
        client_->deadline(), [&](auto outcome) { promise.set_value(std::move(outcome)); });
    auto outcome = future.get();
    if (!outcome) return std::nullopt;
    return *outcome;
  }

 private:
  Subject(std::unique_ptr<bench::ObjectClient> client, s3::ObjectInfo object)
      : object_(std::move(object)), client_(std::move(client)) {}

  s3::ObjectInfo object_;
  std::unique_ptr<bench::ObjectClient> client_;
};

void measure(benchmark::State& state, Subject& subject, std::size_t length_bytes, s3::Path path) {
  for ([[maybe_unused]] auto turn : state) {
    if (subject.get(length_bytes) != path) {
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
  auto subject = Subject::create(argv[1], argv[2], argv[3]);
  if (!subject) {
    std::fprintf(stderr, "get_overhead: %s\n", subject.error().detail.c_str());
    return 1;
  }
  const auto add = [&](const char* name, std::size_t length_bytes, s3::Path path) {
    benchmark::RegisterBenchmark(name, [&subject = *subject, length_bytes,
                                        path](benchmark::State& state) {
      measure(state, subject, length_bytes, path);
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
