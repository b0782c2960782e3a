// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/mounted_bucket.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <optional>
#include <thread>

#include "cache/blocks/block_cache.h"
#include "cache/whole/object_cache.h"
#include "daemon/mount/choose_fabric.h"
#include "daemon/mount/choose_transport.h"
#include "daemon/mount/numa_node.h"
#include "daemon/mount/object_memory.h"
#include "daemon/mount/store_options.h"
#include "daemon/resident/control_socket.h"
#include "daemon/resident/resident_keeper.h"
#include "daemon/resident/warm_request.h"
#include "disk/disk_tier.h"
#include "fuse/kernel_settings.h"
#include "fuse/session.h"
#include "memory/arena.h"
#include "metrics/stats_socket.h"
#include "rdma/fabric.h"
#include "s3/check_bucket.h"
#include "s3/http_object_store.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/uploads.h"
#include "vfs/file_system.h"

namespace s3rdmafs::daemon {
namespace {

// Smaller objects stay in the kernel's page cache: there their second reader pays as little, and an
// object here takes 2 MiB at least.
constexpr std::uint64_t kPassthroughFromBytes = kMiB;

// Smaller ones come into the kernel's page cache when they are opened, instead: a file and a
// backing id of their own would cost more than the reads they save.
constexpr std::uint64_t kContentBytesMax = kPassthroughFromBytes - 1;

// Two files of 64 MiB for each of two programs that read one after another.
constexpr std::uint64_t kSpareBytesMax = 256 * kMiB;

memory::Arena::Lock arena_lock(config::CacheLock lock) {
  switch (lock) {
    case config::CacheLock::kOff:
      return memory::Arena::Lock::kOff;
    case config::CacheLock::kTry:
      return memory::Arena::Lock::kTry;
    case config::CacheLock::kRequire:
      break;
  }
  return memory::Arena::Lock::kRequire;
}

std::string comma_list(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ",") + word;
  return list;
}

}  // namespace

// In order of dependency: each borrows from those above it, and destruction runs from below.
struct MountedBucket::Layers {
  explicit Layers(const MountPlan& mount_plan)
      : plan(mount_plan), credentials(mount_plan.credentials) {}

  const MountPlan plan;
  bool over_ring = false;
  const SystemClock clock;
  metrics::Registry metrics;
  s3::StaticCredentials credentials;
  std::unique_ptr<rdma::Fabric> fabric;
  std::unique_ptr<s3::HttpObjectStore> store;
  std::unique_ptr<disk::DiskTier> disk;  // none without disk.path
  std::unique_ptr<memory::Arena> arena;
  std::unique_ptr<cache::BlockCache> cache;
  std::unique_ptr<cache::ObjectCache> objects;  // none where the kernel cannot pass through
  std::unique_ptr<upload::Uploads> uploads;     // none in a read-only mount
  std::shared_ptr<vfs::FileSystem> file_system;
  std::unique_ptr<fuse::MountContext> context;
  std::unique_ptr<fuse::Session> session;
  std::unique_ptr<metrics::StatsSocket> stats;
  std::unique_ptr<ControlSocket> control;
  std::unique_ptr<ResidentKeeper> keeper;  // none where nothing is to be kept

  /// As those see it who make objects resident.
  Bucket bucket() {
    return {.store = *store,
            .clock = clock,
            .prefix = plan.config.bucket.prefix,
            .request_timeout = plan.config.retry.deadline};
  }

  Result<void> build_store();
  Result<void> check_bucket_answers();
  Result<void> build_disk();
  Result<void> build_cache();
  Result<void> build_uploads();
  Result<void> build_mount();
  void build_keeper();

  /// What the caches fill themselves from.
  [[nodiscard]] s3::ObjectStore& fill_source() const {
    if (disk) return *disk;
    return *store;
  }
};

Result<void> MountedBucket::Layers::build_store() {
  const config::MountConfig& config = plan.config;
  auto chosen = choose_fabric(config, clock, metrics);
  if (!chosen) return std::unexpected(chosen.error());
  fabric = std::move(*chosen);
  store = std::make_unique<s3::HttpObjectStore>(store_options(config), credentials, clock, metrics);
  return {};
}

// Before memory is taken and anything is mounted: most mounts that fail fail here.
Result<void> MountedBucket::Layers::check_bucket_answers() {
  std::promise<Result<void>> answer;
  auto answered = answer.get_future();
  s3::check_bucket(*store, plan.config.bucket.prefix, clock.now() + plan.config.retry.deadline,
                   [&answer](Result<void> result) { answer.set_value(std::move(result)); });
  return answered.get();  // bounded by the deadline
}

Result<void> MountedBucket::Layers::build_disk() {
  const config::MountConfig& config = plan.config;
  if (config.disk.path.empty()) return {};
  // Several endpoints are one store, in whatever order they are written.
  const std::string store_name = std::ranges::min(config.endpoint.all_urls());
  auto opened = disk::DiskTier::open({.path = config.disk.path,
                                      .scope = store_name + "/" + config.bucket.name,
                                      .size_bytes = config.disk.size_bytes,
                                      .reserve_bytes = config.disk.reserve_bytes},
                                     *store, clock, metrics);
  if (!opened) return std::unexpected(opened.error());
  disk = std::move(*opened);
  return {};
}

Result<void> MountedBucket::Layers::build_cache() {
  const config::MountConfig& config = plan.config;
  const PreferNode near_the_device(node_of_devices(fabric->name(), config.rdma.rails));
  CacheShares shares = share_cache(config.cache);
  auto made = memory::Arena::create(shares.blocks_bytes, arena_lock(config.cache.lock), *fabric,
                                    {.budget_bytes = config.cache.size_bytes});
  if (!made) return std::unexpected(made.error());
  arena = std::move(*made);
  if (!arena->has_huge_pages()) {
    spdlog::warn("cache: no huge pages ({}); reads are slower, nothing else changes",
                 arena->note());
  }
  cache = std::make_unique<cache::BlockCache>(
      *arena, fill_source(), clock, metrics,
      cache::BlockCache::Options{.read_ahead_max_bytes = config.read_ahead.window_max_bytes,
                                 .fill_deadline = config.retry.deadline});
  if (!shares.objects) return {};
  const auto files = std::make_shared<const memory::HugeTmpfs>(std::move(*shares.objects));
  objects = std::make_unique<cache::ObjectCache>(
      [files] { return files->make_file(); }, fill_source(), *fabric, clock, metrics,
      cache::ObjectCache::Options{
          .limits = {.bytes_max = shares.objects_bytes, .files_max = object_files_max()},
          .object_bytes_min = kPassthroughFromBytes,
          .object_bytes_max = config.cache.passthrough_max_bytes,
          .spare_bytes_max = kSpareBytesMax,
          .lock = arena_lock(config.cache.lock)});
  return {};
}

Result<void> MountedBucket::Layers::build_uploads() {
  const config::MountConfig& config = plan.config;
  if (config.write.mode == config::WriteMode::kOff) return {};
  auto made = upload::Uploads::create(*store, *fabric, clock, metrics,
                                      {.part_bytes = config.write.part_bytes,
                                       .buffer_bytes = config.write.buffer_bytes,
                                       .parallel_parts = config.write.parallel_parts,
                                       .request_timeout = config.retry.deadline,
                                       .lock = arena_lock(config.cache.lock)});
  if (!made) return std::unexpected(made.error());
  uploads = std::move(*made);
  return {};
}

Result<void> MountedBucket::Layers::build_mount() {
  const config::MountConfig& config = plan.config;
  std::optional<vfs::FileSystem::Writing> writing;
  if (uploads) writing.emplace(vfs::FileSystem::Writing{*store, *uploads});
  file_system = vfs::FileSystem::create(
      *store, *cache, clock, metrics,
      vfs::FileSystem::Options{.prefix = config.bucket.prefix,
                               .ttl = config.metadata.ttl,
                               .negative_ttl = config.metadata.negative_ttl,
                               .content_bytes_max = kContentBytesMax,
                               .listing_bytes_max = config.metadata.listing_bytes_max,
                               .on_etag_repeated =
                                   [this](std::string_view key, std::string_view etag) {
                                     if (disk) disk->invalidate(key, etag);
                                   }},
      writing, objects.get());
  context.reset(
      new fuse::MountContext{.file_system = *file_system,
                             .clock = clock,
                             .metrics = metrics,
                             .presentation = {.uid = config.mount.uid,
                                              .gid = config.mount.gid,
                                              .file_mode = config.mount.file_mode,
                                              .directory_mode = config.mount.directory_mode,
                                              .negative_ttl = config.metadata.negative_ttl,
                                              .deadline = config.retry.deadline},
                             .read = config.read});
  auto mounted = fuse::Session::mount(*context, {.source = plan.source,
                                                 .mount_point = plan.mount_point,
                                                 .allow_other = config.mount.allow_other,
                                                 .kernel_options = comma_list(plan.kernel_options),
                                                 .threads = config.mount.threads,
                                                 .over_ring = over_ring});
  if (!mounted) return std::unexpected(mounted.error());
  session = std::move(*mounted);

  auto listening =
      metrics::StatsSocket::listen(metrics, metrics::stats_socket_path(plan.mount_point));
  if (!listening) return std::unexpected(listening.error());
  stats = std::move(*listening);
  auto taking = ControlSocket::listen(
      control_socket_path(plan.mount_point),
      [this](ControlRequest& request) { answer_request(bucket(), objects.get(), request); });
  if (!taking) return std::unexpected(taking.error());
  control = std::move(*taking);
  build_keeper();
  return {};
}

void MountedBucket::Layers::build_keeper() {
  std::vector<std::string> globs;
  globs.reserve(plan.config.resident.size());
  for (const auto& resident : plan.config.resident) globs.push_back(resident.glob);
  if (globs.empty()) return;
  if (!objects) {
    spdlog::warn("resident: nothing is made resident: this mount has no passthrough");
    return;
  }
  keeper = std::make_unique<ResidentKeeper>(bucket(), *objects, metrics, std::move(globs));
}

MountedBucket::MountedBucket(std::unique_ptr<Layers> layers) : layers_(std::move(layers)) {}

MountedBucket::~MountedBucket() {
  // What was written and closed gets its time; then every request under way gets its answer (EIO)
  // while the session can still carry it.
  const Deadline deadline = layers_->clock.now() + layers_->plan.config.retry.deadline;
  layers_->control->stop();
  if (layers_->keeper) layers_->keeper->stop();
  layers_->file_system->end_writes(deadline);
  if (layers_->uploads) layers_->uploads->shut_down(deadline);
  // First those that wait for an RDMA session: they then fail in the store as well.
  layers_->fabric->shut_down();
  layers_->fill_source().shut_down();
  layers_->cache->shut_down();
  // Before the cache, whose answers they wait for.
  layers_->control.reset();
  layers_->keeper.reset();
  if (layers_->objects) layers_->objects->shut_down();
}

Result<std::unique_ptr<MountedBucket>> MountedBucket::create(const MountPlan& plan) {
  if (auto ok = fuse::check_fuse_device(); !ok) return std::unexpected(ok.error());
  const auto over_ring = choose_ring(plan.config.mount.transport);
  if (!over_ring) return std::unexpected(over_ring.error());
  auto layers = std::make_unique<Layers>(plan);
  layers->over_ring = *over_ring;
  for (const auto step : {&Layers::build_store, &Layers::check_bucket_answers, &Layers::build_disk,
                          &Layers::build_cache, &Layers::build_uploads, &Layers::build_mount}) {
    if (auto done = ((*layers).*step)(); !done) {
      if (layers->store) layers->fill_source().shut_down();
      return std::unexpected(done.error());
    }
  }
  return std::unique_ptr<MountedBucket>(new MountedBucket(std::move(layers)));
}

Result<void> MountedBucket::serve(const std::function<void()>& on_answer) {
  // The answer to this stat comes from serve() below, through the kernel: when it is there, the
  // mount works. The root's attributes need no network, so it is bounded.
  bool answered = false;
  std::string problem;
  std::jthread first_request([&] {
    struct stat status{};
    if (::stat(layers_->plan.mount_point.c_str(), &status) != 0) {
      problem = std::strerror(errno);
      layers_->session->stop();
      return;
    }
    fuse::raise_kernel_read_ahead(layers_->plan.mount_point);
    answered = true;
    on_answer();
    if (layers_->keeper) layers_->keeper->start();
  });
  layers_->session->serve();
  first_request.join();
  if (answered) return {};
  return fail(ErrorCode::kSystem, "the mount does not answer: " + problem);
}

}  // namespace s3rdmafs::daemon
