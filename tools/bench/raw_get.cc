// SPDX-License-Identifier: Apache-2.0
//
// What the object client can do without FUSE: GETs into registered memory, so many at a time, the
// next one asked for as soon as one has ended. Prints the JSON that read_load prints.
//
//   raw_get sequential --url URL --bucket BUCKET [--part BYTES] [--parallel N] KEY
//   raw_get random     ... --reads N [--part BYTES] KEY
//   raw_get objects    ... PREFIX                 every object below it, each whole
//   raw_get list       ... PREFIX                 no bytes: the pages of its listing, one after
//   another
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <random>

#include <CLI/CLI.hpp>

#include "object_client.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::bench {
namespace {

struct Piece {
  const s3::ObjectInfo* object;
  std::uint64_t offset_bytes;
  std::uint64_t length_bytes;
};

/// Keeps `parallel` GETs under way until all pieces have been got. Each has a window of its own.
class Run {
 public:
  Run(ObjectClient& client, std::vector<Piece> pieces, std::uint64_t window_bytes)
      : client_(client), pieces_(std::move(pieces)), window_bytes_(window_bytes) {}

  Result<void> get_all(unsigned parallel) {
    left_ = std::min<std::size_t>(parallel, pieces_.size());
    for (std::size_t lane = left_.load(); lane-- > 0;) get_next(lane);
    return ended_.get_future().get();
  }

 private:
  void get_next(std::size_t lane) {
    const std::size_t index = next_.fetch_add(1);
    if (index >= pieces_.size()) return end_lane();
    const Piece& piece = pieces_[index];
    const std::size_t windows_a_slab = memory::Arena::kSlabBytes / window_bytes_;
    client_.store().get({.key = piece.object->key,
                         .etag = piece.object->etag,
                         .offset_bytes = piece.offset_bytes,
                         .window = {.region = &client_.arena().region(lane / windows_a_slab),
                                    .offset = lane % windows_a_slab * window_bytes_,
                                    .length = piece.length_bytes}},
                        client_.deadline(),
                        [this, lane](const std::expected<s3::Path, s3::GetFailure>& got) {
                          if (got) return get_next(lane);
                          next_ = pieces_.size();
                          const MutexLock lock(mutex_);
                          failure_ = std::unexpected(got.error().error);
                          end_lane_locked();
                        });
  }

  void end_lane() {
    const MutexLock lock(mutex_);
    end_lane_locked();
  }
  void end_lane_locked() REQUIRES(mutex_) {
    if (left_.fetch_sub(1) == 1) ended_.set_value(failure_);
  }

  ObjectClient& client_;
  const std::vector<Piece> pieces_;
  const std::uint64_t window_bytes_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> left_ = 0;  ///< lanes that still get
  Mutex mutex_;
  Result<void> failure_ GUARDED_BY(mutex_);
  std::promise<Result<void>> ended_;
};

struct Wish {
  ObjectClient::Options client;
  std::uint64_t part_bytes = 8 * kMiB;
  unsigned parallel = 8;
  std::uint64_t reads = 0;
  std::string name;  ///< a key, or a prefix
};

std::vector<Piece> parts_of(const s3::ObjectInfo& object, std::uint64_t part_bytes) {
  std::vector<Piece> pieces;
  for (std::uint64_t at = 0; at < object.size_bytes; at += part_bytes) {
    pieces.push_back({&object, at, std::min(part_bytes, object.size_bytes - at)});
  }
  return pieces;
}

std::vector<Piece> random_parts_of(const s3::ObjectInfo& object, const Wish& wish) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::uint64_t> part(
      0, std::max<std::uint64_t>(object.size_bytes / wish.part_bytes, 1) - 1);
  std::vector<Piece> pieces;
  for (std::uint64_t i = 0; i < wish.reads; ++i) {
    const std::uint64_t at = part(random) * wish.part_bytes;
    pieces.push_back({&object, at, std::min(wish.part_bytes, object.size_bytes - at)});
  }
  return pieces;
}

double cpu_seconds_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void print(std::uint64_t bytes, std::size_t count, std::chrono::duration<double> seconds,
           double cpu_seconds) {
  std::printf(
      "{\"bytes\": %llu, \"ops\": %zu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, "
      "\"p50_us\": 0, \"p99_us\": 0}\n",
      static_cast<unsigned long long>(bytes), count, seconds.count(), cpu_seconds);
}

Result<void> get_and_print(ObjectClient& client, std::vector<Piece> pieces, const Wish& wish) {
  std::uint64_t bytes = 0;
  std::uint64_t largest = 1;
  for (const Piece& piece : pieces) {
    bytes += piece.length_bytes;
    largest = std::max(largest, piece.length_bytes);
  }
  if (bytes == 0 || largest > wish.part_bytes) {
    return fail(ErrorCode::kInvalidArgument, "nothing to get, or an object is larger than --part");
  }
  const std::size_t count = pieces.size();
  const double cpu_before = cpu_seconds_so_far();
  const auto began = std::chrono::steady_clock::now();
  Run run(client, std::move(pieces), wish.part_bytes);
  const auto got = run.get_all(wish.parallel);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  client.store().shut_down();  // the last answer's thread may still be inside `run`
  if (!got) return got;
  print(bytes, count, seconds, cpu_seconds_so_far() - cpu_before);
  return {};
}

enum class Mode { kSequential, kRandom, kObjects, kList };

Result<void> list_and_print(ObjectClient& client, const std::string& prefix) {
  const double cpu_before = cpu_seconds_so_far();
  const auto began = std::chrono::steady_clock::now();
  const auto objects = client.list(prefix);
  if (!objects) return std::unexpected(objects.error());
  if (objects->empty()) return fail(ErrorCode::kNotFound, "nothing to list");
  print(0, objects->size(), std::chrono::steady_clock::now() - began,
        cpu_seconds_so_far() - cpu_before);
  return {};
}

Result<void> serve(Mode mode, Wish wish) {
  const std::size_t windows_a_slab = memory::Arena::kSlabBytes / wish.part_bytes;
  wish.client.memory_bytes =
      (wish.parallel + windows_a_slab - 1) / windows_a_slab * memory::Arena::kSlabBytes;
  auto client = ObjectClient::create(wish.client);
  if (!client) return std::unexpected(client.error());
  if (mode == Mode::kList) return list_and_print(**client, wish.name + "/");
  if (mode == Mode::kObjects) {
    const auto objects = (*client)->list(wish.name + "/");
    if (!objects) return std::unexpected(objects.error());
    std::vector<Piece> pieces;
    for (const auto& object : *objects) pieces.push_back({&object, 0, object.size_bytes});
    return get_and_print(**client, std::move(pieces), wish);
  }
  const auto object = (*client)->head(wish.name);
  if (!object) return std::unexpected(object.error());
  return get_and_print(
      **client,
      mode == Mode::kRandom ? random_parts_of(*object, wish) : parts_of(*object, wish.part_bytes),
      wish);
}

}  // namespace
}  // namespace s3rdmafs::bench

int main(int argc, char** argv) {
  using namespace s3rdmafs;
  CLI::App app("GETs by the object client of a mount, without a mount.");
  app.require_subcommand(1);
  bench::Wish wish;
  // The defaults of a mount.
  wish.client.event_threads = 2;
  wish.client.connections_max = 64;
  std::string fabric = "shm";
  const auto subcommand = [&](const char* name, const char* description) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->add_option("--url", wish.client.url, "http://HOST:PORT")->required();
    sub->add_option("--bucket", wish.client.bucket)->required();
    sub->add_option("--fabric", fabric, "shm, or none for HTTP bodies")
        ->check(CLI::IsMember({"shm", "none"}));
    sub->add_option("--part", wish.part_bytes, "Bytes of one GET, at most")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{memory::Arena::kSlabBytes}));
    sub->add_option("--parallel", wish.parallel, "GETs under way")->check(CLI::Range(1, 1024));
    sub->add_option("name", wish.name, "Key or prefix")->required();
    return sub;
  };
  subcommand("sequential", "One object in parts, front to back");
  auto* random = subcommand("random", "Random parts of one object");
  random->add_option("--reads", wish.reads, "How many")->required();
  auto* objects = subcommand("objects", "Every object below a prefix, each whole");
  auto* list = subcommand("list", "The pages of a prefix, one after another");
  CLI11_PARSE(app, argc, argv);
  if (auto set = set_up_log("warn", LogSink::kStandardError); !set) return 1;
  wish.client.over_shm = fabric == "shm";
  const auto mode = random->parsed()    ? bench::Mode::kRandom
                    : objects->parsed() ? bench::Mode::kObjects
                    : list->parsed()    ? bench::Mode::kList
                                        : bench::Mode::kSequential;
  if (auto done = bench::serve(mode, wish); !done) {
    std::fprintf(stderr, "raw_get: %s\n", done.error().detail.c_str());
    return 1;
  }
  return 0;
}
