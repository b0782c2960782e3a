// SPDX-License-Identifier: Apache-2.0
// The wiring: one function builds each layer, in the order of the members of Layers. Settings
// become the layers' options here and nowhere below. Every wait is bounded by retry.deadline.
#include "daemon/mount/mounted_bucket.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <thread>
#include <tuple>

#include "daemon/attach/past_fuse.h"
#include "daemon/mount/buckets/buckets.h"
#include "daemon/mount/caches.h"
#include "daemon/mount/choose_fabric.h"
#include "daemon/mount/choose_transport.h"
#include "daemon/mount/fuse_options.h"
#include "daemon/mount/mount_point.h"
#include "daemon/mount/staging_tmpfs.h"
#include "daemon/mount/write_folders.h"
#include "daemon/mount/write_records.h"
#include "daemon/reload/hangup_listener.h"
#include "daemon/reload/reload_request.h"
#include "daemon/resident/resident_service.h"
#include "daemon/top/watch_activity.h"
#include "disk/disk_tier.h"
#include "fuse/kernel/kernel_settings.h"
#include "fuse/session.h"
#include "metrics/scrape_listener.h"
#include "metrics/stats_socket.h"
#include "rdma/fabric.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/log_setup.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/staged/last_mount.h"
#include "upload/staged/staging_area.h"
#include "upload/uploads.h"
#include "vfs/file_system.h"
#include "vfs/files/open_trace.h"

namespace s3rdmafs::daemon {
namespace {

// Smaller files enter the kernel's page cache when they are opened: a file and a backing id of
// their own would cost more than the reads they save.
constexpr std::uint64_t kContentBytesMax = kPassthroughFromBytes - 1;

// Names of a manifest do not change while it is mounted; the kernel asks again once a day.
constexpr std::chrono::hours kManifestTtl{24};

std::vector<std::string> resident_globs(const config::MountConfig& config) {
  std::vector<std::string> globs;
  globs.reserve(config.resident.size());
  for (const auto& wanted : config.resident) globs.push_back(wanted.glob);
  return globs;
}

}  // namespace

// In order of dependency: each borrows from those above it, and destruction runs from below.
struct MountedBucket::Layers {
  explicit Layers(const MountPlan& mount_plan) : plan(mount_plan) {}

  const MountPlan plan;
  bool over_ring = false;
  const SystemClock clock;
  metrics::Registry metrics;
  std::unique_ptr<rdma::Fabric> fabric;
  std::unique_ptr<Buckets> buckets;
  std::unique_ptr<disk::DiskTier> disk;  // null without disk.path
  Caches caches;
  std::optional<StagingTmpfs> staging_tmpfs;     // nothing unless the staging folder is one
  std::unique_ptr<upload::StagingArea> staging;  // null unless files are staged
  WriteRecords records;                          // empty in a read-only mount
  std::unique_ptr<upload::Uploads> uploads;      // null in a read-only mount
  std::shared_ptr<vfs::OpenTrace> open_trace;
  std::shared_ptr<vfs::FileSystem> file_system;           // of one bucket, or the root of several
  std::vector<std::shared_ptr<vfs::FileSystem>> volumes;  // of several buckets, one each
  std::unique_ptr<fuse::MountContext> context;
  std::unique_ptr<fuse::Session> session;
  std::unique_ptr<PastFuse> past_fuse;  // null where programs have to read through FUSE
  std::unique_ptr<metrics::StatsSocket> stats;
  std::unique_ptr<metrics::ScrapeListener> scrapes;  // null without metrics.listen
  std::unique_ptr<metrics::StatsSocket> activity;
  std::unique_ptr<Reloader> reloader;
  std::unique_ptr<ResidentService> resident;
  std::unique_ptr<HangupListener> hangups;  // null where SIGHUP ends the mount

  Result<void> build_stores();
  Result<void> check_buckets_answer();
  Result<void> build_disk();
  Result<void> build_caches();
  Result<void> build_staging();
  Result<void> build_uploads();
  Result<void> build_file_systems();
  [[nodiscard]] std::shared_ptr<vfs::FileSystem> make_file_system(const Buckets::One& bucket,
                                                                  vfs::Volume volume);
  [[nodiscard]] std::shared_ptr<vfs::FileSystem> make_root();
  void end_writes(Deadline deadline) const;
  Result<void> mount_session();
  Result<void> open_sockets();
  Result<void> open_scrapes();
  Result<void> prepare_reloads();
  void listen_for_hangups();
  [[nodiscard]] std::vector<LiveSetting> live_settings();
  [[nodiscard]] std::vector<fuse::StatusFile> status_files();
  /// For `s3rdmafs top`. @param age  of the mount
  [[nodiscard]] std::string activity_text(std::chrono::nanoseconds age) const;

  /// The store that the caches fill themselves from.
  [[nodiscard]] s3::ObjectStore& fill_source() const { return disk ? *disk : buckets->shown(); }
};

Result<void> MountedBucket::Layers::build_stores() {
  auto chosen = choose_fabric(with_all_endpoints(plan.config), clock, metrics);
  if (!chosen) return std::unexpected(chosen.error());
  fabric = std::move(*chosen);
  auto opened = Buckets::open(plan, *fabric, clock, metrics);
  if (!opened) return std::unexpected(std::move(opened.error()));
  buckets = std::move(*opened);
  return {};
}

// Runs before memory is taken and anything is mounted, since most mounts that fail do so here.
Result<void> MountedBucket::Layers::check_buckets_answer() { return buckets->check_answers(clock); }

Result<void> MountedBucket::Layers::build_disk() {
  const config::MountConfig& config = plan.config;
  if (config.disk.path.empty()) return {};
  auto opened = disk::DiskTier::open({.path = config.disk.path,
                                      .scope = buckets->identity(),
                                      .size_bytes = config.disk.size_bytes,
                                      .reserve_bytes = config.disk.reserve_bytes},
                                     buckets->shown(), clock, metrics);
  if (!opened) return std::unexpected(opened.error());
  disk = std::move(*opened);
  return {};
}

Result<void> MountedBucket::Layers::build_caches() {
  const ObjectReaders readers = object_readers(buckets->any_writable());
  auto built = daemon::build_caches(plan.config, *fabric, fill_source(), clock, metrics, readers);
  if (!built) return std::unexpected(built.error());
  caches = std::move(*built);
  return {};
}

// Before memory is taken: a folder that cannot be had is the user's to mend.
Result<void> MountedBucket::Layers::build_staging() {
  const config::MountConfig& config = plan.config;
  if (!buckets->any_staged()) return {};
  const std::string folder = write_folders(config, plan.mount_point).staging;
  const auto take = [&]() -> Result<void> {
    staging.reset();
    staging_tmpfs.reset();
    if (auto tmpfs = StagingTmpfs::make(config, folder)) staging_tmpfs.emplace(*std::move(tmpfs));
    auto taken = upload::StagingArea::take(
        {.path = folder, .size_bytes = config.write.staging_bytes}, clock, metrics);
    if (!taken) return std::unexpected(taken.error());
    staging = std::move(*taken);
    return {};
  };
  if (auto taken = take(); !taken) return taken;
  // A mount that was just ending may have unmounted it before the folder was taken.
  const bool is_tmpfs_gone = staging_tmpfs && !staging->bounds_itself();
  if (auto taken = is_tmpfs_gone ? take() : Result<void>(); !taken) return taken;
  log::info("staging: up to {} in {}{}", format_size(config.write.staging_bytes), folder,
            staging->bounds_itself() ? ", a tmpfs, where the kernel can write new files" : "");
  return {};
}

Result<void> MountedBucket::Layers::build_uploads() {
  const config::MountConfig& config = plan.config;
  if (!buckets->any_writable()) return {};
  auto taken = take_write_records(config, plan.mount_point, clock);
  if (!taken) return std::unexpected(taken.error());
  records = std::move(*taken);
  if (records.store_uploads) buckets->set_upload_log(*records.store_uploads);
  auto made = upload::Uploads::create(buckets->writer(), *fabric, clock, metrics,
                                      {.part_bytes = config.write.part_bytes,
                                       .buffer_bytes = config.write.buffer_bytes,
                                       .parallel_parts = config.write.parallel_parts,
                                       .request_timeout = config.retry.deadline,
                                       .lock = memory_lock(config.cache.lock),
                                       .journal = records.uploads.get()});
  if (!made) return std::unexpected(made.error());
  uploads = std::move(*made);
  upload::settle_last_mount(*uploads, staging.get(), plan.source);
  return {};
}

std::shared_ptr<vfs::FileSystem> MountedBucket::Layers::make_file_system(const Buckets::One& bucket,
                                                                         vfs::Volume volume) {
  const config::MountConfig& config = bucket.config;
  std::optional<vfs::FileSystem::Writing> writing;
  if (bucket.is_writable()) {
    writing.emplace(
        vfs::FileSystem::Writing{.writer = buckets->writer(),
                                 .uploads = *uploads,
                                 .staging = bucket.is_staged() ? staging.get() : nullptr,
                                 .rename_log = records.renames.get(),
                                 .rename_keys_max = config.write.rename_keys_max});
  }
  return vfs::FileSystem::create(
      buckets->shown(), *caches.blocks, clock, metrics,
      vfs::FileSystem::Options{
          .prefix = Buckets::prefix_of(bucket),
          .directory = bucket.directory,
          .volume = volume,
          .open_trace = open_trace,
          .ttl = bucket.names ? kManifestTtl : config.metadata.ttl,
          .negative_ttl = bucket.names ? kManifestTtl : config.metadata.negative_ttl,
          .confirms_opens = config.metadata.open == config::OpenCheck::kAlways,
          .content_bytes_max = kContentBytesMax,
          .listing_bytes_max = config.metadata.listing_bytes_max,
          .call_time = config.retry.deadline,
          .posix = posix_metadata_of(config.metadata.posix),
          .metadata_requests_max = std::max(1U, config.http.connections_max / 4),
          .on_etag_repeated =
              [this](std::string_view key, std::string_view etag) {
                if (disk) disk->invalidate(key, etag);
              }},
      writing, caches.passed_objects());
}

// It has the directories of the buckets, which never change, and nothing can be made in it.
std::shared_ptr<vfs::FileSystem> MountedBucket::Layers::make_root() {
  std::map<std::string, vfs::Volume> roots;
  vfs::Volume volume = 0;
  for (const Buckets::One& bucket : buckets->all()) roots.emplace(bucket.directory, ++volume);
  return vfs::FileSystem::create(buckets->root(), *caches.blocks, clock, metrics,
                                 vfs::FileSystem::Options{.prefix = {},
                                                          .roots = std::move(roots),
                                                          .open_trace = open_trace,
                                                          .ttl = kManifestTtl,
                                                          .negative_ttl = kManifestTtl});
}

Result<void> MountedBucket::Layers::build_file_systems() {
  const auto time = plan.config.retry.deadline;
  if (uploads) finish_renames(records, buckets->stored(), buckets->writer(), clock, time);
  open_trace = std::make_shared<vfs::OpenTrace>(clock);
  if (!buckets->are_directories()) {
    file_system = make_file_system(buckets->all().front(), 0);
    return {};
  }
  file_system = make_root();
  for (const Buckets::One& bucket : buckets->all()) {
    volumes.push_back(make_file_system(bucket, static_cast<vfs::Volume>(volumes.size() + 1)));
  }
  return {};
}

// One after another: the deadline is of all.
void MountedBucket::Layers::end_writes(Deadline deadline) const {
  file_system->end_writes(deadline);
  for (const auto& one : volumes) one->end_writes(deadline);
}

Result<void> MountedBucket::Layers::mount_session() {
  const config::MountConfig& config = plan.config;
  context.reset(new fuse::MountContext{.file_system = *file_system,
                                       .clock = clock,
                                       .metrics = metrics,
                                       .presentation = presentation_of(config),
                                       .read = read_rules(config.read),
                                       .status_files = status_files()});
  if (caches.attached_objects()) context->attach_socket = attach_socket_path(plan.mount_point);
  for (const auto& one : volumes) context->volumes.push_back(one.get());
  if (auto freed = free_mount_point(plan.mount_point); !freed) return freed;
  auto mounted = fuse::Session::mount(*context, session_options(plan, over_ring));
  if (!mounted) return std::unexpected(mounted.error());
  session = std::move(*mounted);
  return {};
}

// Read by requests only, which are served when all of this is there.
std::vector<fuse::StatusFile> MountedBucket::Layers::status_files() {
  return {{"stats", [this] { return metrics.prometheus_text(); }},
          {"config", [this] { return reloader->settings_text(); }},
          {"access-log", [this] { return context->access_log.text(); }}};
}

std::string MountedBucket::Layers::activity_text(std::chrono::nanoseconds age) const {
  ActivityReport report = watch_activity(*context);
  const std::vector<Buckets::One>& all = buckets->all();
  report.bucket =
      all.size() == 1 ? all.front().config.bucket.name : fmt::format("{} buckets", all.size());
  report.endpoint = all.front().config.endpoint.all_urls().front();
  report.age = std::chrono::duration_cast<std::chrono::seconds>(age);
  const bool is_off = plan.config.rdma.mode == config::RdmaMode::kOff;
  report.settings = {{"rdma.mode", is_off ? "off" : "on"},
                     {"rdma.fabric", std::string(fabric->name())},
                     {"mount.transport", over_ring ? "uring" : "/dev/fuse"}};
  return to_text(report);
}

Result<void> MountedBucket::Layers::open_sockets() {
  auto listening =
      metrics::StatsSocket::listen(metrics, metrics::stats_socket_path(plan.mount_point));
  if (!listening) return std::unexpected(listening.error());
  stats = std::move(*listening);
  if (auto opened = open_scrapes(); !opened) return opened;
  auto past = PastFuse::listen(caches.attached_objects(), *context, plan.config);
  if (!past) return std::unexpected(past.error());
  past_fuse = std::move(*past);
  auto watched = metrics::StatsSocket::listen(
      [this, begin = clock.now()] { return activity_text(clock.now() - begin); },
      activity_socket_path(plan.mount_point), "activity");
  if (!watched) return std::unexpected(watched.error());
  activity = std::move(*watched);
  auto taking = ResidentService::listen(
      {.socket_path = control_socket_path(plan.mount_point),
       .record_socket_path = record_socket_path(plan.mount_point),
       .globs = resident_globs(plan.config),
       .also_answer =
           [this](ControlRequest& request) {
             if (!is_reload_request(request)) return false;
             answer_reload_request(*reloader, request);
             return true;
           }},
      {.store = buckets->shown(),
       .clock = clock,
       .prefix = buckets->are_directories() ? "" : plan.config.bucket.prefix,
       .request_timeout = plan.config.retry.deadline},
      {.targets = {.blocks = *caches.blocks, .whole = caches.passed_objects()},
       .trace = *open_trace},
      metrics);
  if (!taking) return std::unexpected(taking.error());
  resident = std::move(*taking);
  return {};
}

Result<void> MountedBucket::Layers::open_scrapes() {
  const config::MountConfig::Metrics& wanted = plan.config.metrics;
  if (wanted.listen.empty()) return {};
  auto opened = metrics::ScrapeListener::listen(
      metrics, {.address = wanted.listen, .mode = wanted.mode, .group = wanted.group});
  if (!opened) return std::unexpected(opened.error());
  scrapes = std::move(*opened);
  return {};
}

// s3rdmafs.toml(5) lists them too.
std::vector<LiveSetting> MountedBucket::Layers::live_settings() {
  const auto set_read_rules = [this](const config::MountConfig& config) {
    context->io_policy.set_rules(read_rules(config.read));
  };
  return {{"read.mode", set_read_rules},
          {"read.buffered", set_read_rules},
          {"read.direct", set_read_rules},
          {"read_ahead.window_max",
           [this](const config::MountConfig& config) {
             caches.blocks->set_read_ahead_max(config.read_ahead.window_max_bytes);
           }},
          {"log.level",
           [](const config::MountConfig& config) {
             std::ignore = set_log_level(config.log.level);  // it was checked when it was read
           }},
          {"resident", [this](const config::MountConfig& config) {
             resident->set_globs(resident_globs(config));
           }}};
}

// Before the sockets: a request for it may come at once.
Result<void> MountedBucket::Layers::prepare_reloads() {
  reloader = std::make_unique<Reloader>(plan.config, plan.load_again, live_settings());
  return {};
}

// When the mount is ready: a signal that came before is still pending then.
void MountedBucket::Layers::listen_for_hangups() {
  if (!plan.reloads_on_hangup) return;
  hangups = std::make_unique<HangupListener>([this] {
    const auto changes = reloader->reload(Reloader::Extent::kApply);
    if (!changes) log::error("reload: nothing changes: {}", changes.error().detail);
  });
}

MountedBucket::MountedBucket(std::unique_ptr<Layers> layers) : layers_(std::move(layers)) {}

MountedBucket::~MountedBucket() {
  Layers& layers = *layers_;
  layers.hangups.reset();
  if (layers.past_fuse) layers.past_fuse->stop();
  // Uploads of closed files get their time; then every request under way gets its answer (EIO)
  // while the session can still carry it.
  const Deadline deadline = layers.clock.now() + layers.plan.config.retry.deadline;
  layers.resident->stop();
  layers.end_writes(deadline);
  if (layers.uploads) layers.uploads->shut_down(deadline);
  // Requests that wait for an RDMA session end first, so that they fail in the store as well.
  layers.fabric->shut_down();
  layers.fill_source().shut_down();
  // A rename that waits for the disk ends as well: its next request fails.
  if (layers.records.renames) layers.records.renames->finish();
  layers.caches.blocks->shut_down();
  // Its threads wait for answers of the object cache.
  layers.resident.reset();
  if (layers.caches.objects) layers.caches.objects->shut_down();
}

Result<std::unique_ptr<MountedBucket>> MountedBucket::create(const MountPlan& plan) {
  if (auto ok = fuse::check_fuse_device(); !ok) return std::unexpected(ok.error());
  const auto over_ring = choose_ring(plan.config.mount.transport);
  if (!over_ring) return std::unexpected(over_ring.error());
  auto layers = std::make_unique<Layers>(plan);
  layers->over_ring = *over_ring;
  for (const auto step : {&Layers::build_stores, &Layers::check_buckets_answer, &Layers::build_disk,
                          &Layers::build_staging, &Layers::build_caches, &Layers::build_uploads,
                          &Layers::build_file_systems, &Layers::mount_session,
                          &Layers::prepare_reloads, &Layers::open_sockets}) {
    if (auto done = ((*layers).*step)(); !done) {
      if (layers->buckets) layers->fill_source().shut_down();
      return std::unexpected(done.error());
    }
  }
  return std::unique_ptr<MountedBucket>(new MountedBucket(std::move(layers)));
}

Result<void> MountedBucket::serve(const std::function<void()>& on_answer) {
  // serve() below answers this stat, through the kernel: once the answer is there, the mount works.
  // The root's attributes need no network, so the wait is bounded.
  bool answered = false;
  std::string problem;
  std::jthread first_request([&] {
    struct stat status{};
    if (::stat(layers_->plan.mount_point.c_str(), &status) != 0) {
      problem = std::strerror(errno);
      layers_->session->stop();
      return;
    }
    if (layers_->past_fuse) layers_->past_fuse->begin(status.st_dev);
    fuse::raise_kernel_read_ahead(layers_->plan.mount_point);
    answered = true;
    on_answer();
    layers_->resident->start_keeping();
    layers_->listen_for_hangups();
  });
  layers_->session->serve();
  first_request.join();
  if (answered) return {};
  return fail(ErrorCode::kSystem, "the mount does not answer: " + problem);
}

}  // namespace s3rdmafs::daemon
