// SPDX-License-Identifier: Apache-2.0
//
// What the object client can store without FUSE: PUTs of one size, so many at a time, the next one
// sent as soon as one has ended. Prints the JSON that read_load prints.
//
//   raw_put --url URL --bucket BUCKET --files N --size BYTES [--parallel N] PREFIX
//
// All PUTs send the same bytes of one window: a server reads them, and none writes there.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>

#include <CLI/CLI.hpp>

#include "object_client.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::bench {
namespace {

/// Keeps `parallel` PUTs under way until all objects are stored.
class Run {
 public:
  Run(ObjectClient& client, std::string prefix, std::size_t files, s3::PutBody body)
      : client_(client), prefix_(std::move(prefix)), files_(files), body_(body) {}

  Result<void> put_all(unsigned parallel) {
    left_ = std::min<std::size_t>(parallel, files_);
    for (std::size_t lane = left_.load(); lane-- > 0;) put_next();
    return ended_.get_future().get();
  }

 private:
  void put_next() {
    const std::size_t number = next_.fetch_add(1);
    if (number >= files_) return end_lane({});
    client_.writer().put(prefix_ + "/n" + std::to_string(number), body_, {}, client_.deadline(),
                         [this](s3::PutOutcome outcome) {
                           if (outcome.etag) return put_next();
                           next_ = files_;
                           end_lane(std::unexpected(std::move(outcome.etag.error())));
                         });
  }

  void end_lane(Result<void> outcome) {
    const MutexLock lock(mutex_);
    if (!outcome) failure_ = std::move(outcome);
    if (left_.fetch_sub(1) == 1) ended_.set_value(failure_);
  }

  ObjectClient& client_;
  const std::string prefix_;
  const std::size_t files_;
  const s3::PutBody body_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> left_ = 0;  ///< lanes that still put
  Mutex mutex_;
  Result<void> failure_ GUARDED_BY(mutex_);
  std::promise<Result<void>> ended_;
};

struct Wish {
  ObjectClient::Options client;
  std::size_t files = 0;
  std::uint64_t size_bytes = 0;
  unsigned parallel = 8;
  std::string prefix;
};

double cpu_seconds_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

Result<void> serve(const Wish& wish) {
  auto made = ObjectClient::create(wish.client);
  if (!made) return std::unexpected(made.error());
  ObjectClient& client = **made;
  auto& region = client.arena().region(0);
  const auto bytes = region.bytes().first(wish.size_bytes);
  std::ranges::fill(bytes, std::byte{0x5A});
  const s3::PutBody body{.window = {.region = &region, .offset = 0, .length = wish.size_bytes},
                         .crc64nvme = crc64nvme(0, bytes)};
  const double cpu_before = cpu_seconds_so_far();
  const auto began = std::chrono::steady_clock::now();
  Run run(client, wish.prefix, wish.files, body);
  const auto put = run.put_all(wish.parallel);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  client.store().shut_down();  // the last answer's thread may still be inside `run`
  if (!put) return put;
  const unsigned long long size_bytes = wish.size_bytes;
  std::printf(
      "{\"bytes\": %llu, \"ops\": %zu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, "
      "\"p50_us\": 0, \"p99_us\": 0}\n",
      size_bytes * wish.files, wish.files, seconds.count(), cpu_seconds_so_far() - cpu_before);
  return {};
}

}  // namespace
}  // namespace s3rdmafs::bench

int main(int argc, char** argv) {
  using namespace s3rdmafs;
  CLI::App app("PUTs by the object client of a mount, without a mount.");
  bench::Wish wish;
  // The defaults of a mount.
  wish.client.event_threads = 2;
  wish.client.connections_max = 64;
  wish.client.access = rdma::Access::kRemoteRead;
  std::string fabric = "shm";
  app.add_option("--url", wish.client.url, "http://HOST:PORT")->required();
  app.add_option("--bucket", wish.client.bucket)->required();
  app.add_option("--fabric", fabric, "shm, or none for HTTP bodies")
      ->check(CLI::IsMember({"shm", "none"}));
  app.add_option("--files", wish.files, "Objects to store")->required()->check(CLI::PositiveNumber);
  app.add_option("--size", wish.size_bytes, "Bytes of each")
      ->required()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{memory::Arena::kSlabBytes}));
  app.add_option("--parallel", wish.parallel, "PUTs under way")->check(CLI::Range(1, 1024));
  app.add_option("prefix", wish.prefix, "Before the name of each")->required();
  CLI11_PARSE(app, argc, argv);
  if (auto set = set_up_log("warn", LogSink::kStandardError); !set) return 1;
  wish.client.over_shm = fabric == "shm";
  if (auto done = bench::serve(wish); !done) {
    std::fprintf(stderr, "raw_put: %s\n", done.error().detail.c_str());
    return 1;
  }
  return 0;
}
