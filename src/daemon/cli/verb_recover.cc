// SPDX-License-Identifier: Apache-2.0
// Files that a mount wrote and could not store: lists them, sends them, or removes them. It takes
// the folders of the mount as a mount does, so neither it nor a mount ever sees half of the other's
// work. Bytes go by HTTP: without a mount, setting up RDMA costs more than a few files save.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include <toml++/toml.h>

#include "config/load.h"
#include "daemon/cli/leftover_source.h"
#include "daemon/cli/verbs.h"
#include "daemon/doctor/report/json.h"
#include "daemon/mount/await.h"
#include "daemon/mount/buckets/buckets.h"
#include "daemon/mount/mount_point.h"
#include "daemon/mount/staging_tmpfs.h"
#include "daemon/mount/write_folders.h"
#include "journal/state_folder.h"
#include "journal/upload_journal.h"
#include "rdma/null_fabric.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"
#include "s3rdmafs/base/units.h"
#include "upload/staged/staging_area.h"
#include "upload/uploads.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::string_view kDaemonEnded = "the daemon ended before it was stored";

/// Of a file that was larger than the staging area.
std::string lost_text(const upload::ByteRanges& lost) {
  return fmt::format(
      "{} bytes are lost: they were sent before the file was complete, and the server keeps them "
      "only of a file that is stored",
      lost.bytes());
}

/// One file and what became of it.
struct Recovered {
  const upload::Leftover* leftover = nullptr;
  std::string_view outcome = "left";  ///< "left", "sent", "kept", "discarded"
  std::string why = {};               ///< why it is still there
};

/// All that was found.
struct Findings {
  std::string folder;
  std::vector<Recovered> files;
  std::vector<upload::DamagedFile> damaged = {};  ///< neither sent nor discarded
};

/// All that sending needs, in order of dependency.
class Sender {
 public:
  /// @param state  null where the mount had no journal
  static Result<std::unique_ptr<Sender>> create(const MountPlan& plan,
                                                const journal::StateFolder* state,
                                                const Clock& clock, metrics::Registry& metrics) {
    const config::MountConfig& config = plan.config;
    std::unique_ptr<Sender> made(new Sender(clock, config.retry.deadline));
    made->fabric_ = rdma::make_null_fabric();
    auto buckets = Buckets::open(plan, *made->fabric_, clock, metrics);
    if (!buckets) return std::unexpected(std::move(buckets.error()));
    made->buckets_ = std::move(*buckets);
    made->store_ = &made->buckets_->stored();
    if (state != nullptr) {
      auto journal = journal::UploadJournal::open(*state, clock);
      if (!journal) return std::unexpected(journal.error());
      made->journal_ = std::move(*journal);
    }
    auto uploads = upload::Uploads::create(made->buckets_->writer(), *made->fabric_, clock, metrics,
                                           {.part_bytes = config.write.part_bytes,
                                            .buffer_bytes = config.write.buffer_bytes,
                                            .parallel_parts = config.write.parallel_parts,
                                            .request_timeout = config.retry.deadline,
                                            .lock = memory::Arena::Lock::kOff,
                                            .journal = made->journal_.get()});
    if (!uploads) return std::unexpected(uploads.error());
    made->uploads_ = std::move(*uploads);
    made->uploads_->abort_left();
    return made;
  }
  ~Sender() {
    if (uploads_) uploads_->shut_down(uploads_->request_deadline());
    if (store_ != nullptr) store_->shut_down();
  }

  Result<void> send(upload::StagingFile& file) {
    if (!file.dropped().empty()) return check_incomplete(file);
    const upload::StagingFile::Snapshot snapshot = file.begin_store();
    upload::StagedObject object{.key = snapshot.identity.key,
                                .size_bytes = snapshot.size_bytes,
                                .base = std::nullopt,
                                .changed = snapshot.changed,
                                .when = snapshot.identity.when(),
                                .metadata = snapshot.identity.metadata};
    if (const auto& base = snapshot.identity.base) {
      object.base = s3::ObjectInfo{.key = snapshot.identity.key,
                                   .etag = base->etag,
                                   .size_bytes = base->size_bytes,
                                   .modified = {}};
    }
    if (object.base && object.changed.empty()) add_headers(*object.base);
    auto source = std::make_shared<LeftoverSource>(file, *store_, *fabric_);
    const auto etag = await<Result<std::string>>(
        [&](auto done) { uploads_->staged().store(std::move(object), source, std::move(done)); });
    if (etag) return file.stored(*etag);
    file.not_stored();
    const ErrorCode code = etag.error().code;
    if (code == ErrorCode::kStale || code == ErrorCode::kExists) {
      const auto is_stored = is_stored_already(file, *store_, *fabric_, clock_, request_time_);
      if (is_stored && *is_stored) return {};
    }
    return std::unexpected(etag.error());
  }

 private:
  /// It cannot be sent; but the daemon may have ended just after the server had all of it.
  Result<void> check_incomplete(upload::StagingFile& file) {
    const auto is_stored = is_stored_already(file, *store_, *fabric_, clock_, request_time_);
    if (is_stored && *is_stored) return {};
    return fail(ErrorCode::kUnsupported, lost_text(file.dropped()));
  }

  /// A copy of the base would lose them. Where it has another version, it is not copied either.
  void add_headers(s3::ObjectInfo& base) {
    const auto there = await<Result<s3::ObjectInfo>>(
        [&](auto done) { store_->head(base.key, clock_.now() + request_time_, std::move(done)); });
    if (there) base.headers = there->headers;
  }

  Sender(const Clock& clock, std::chrono::milliseconds request_time)
      : clock_(clock), request_time_(request_time) {}

  const Clock& clock_;
  const std::chrono::milliseconds request_time_;
  std::unique_ptr<rdma::Fabric> fabric_;
  std::unique_ptr<Buckets> buckets_;
  s3::ObjectStore* store_ = nullptr;  // that of the buckets
  std::unique_ptr<journal::UploadJournal> journal_;
  std::unique_ptr<upload::Uploads> uploads_;
};

Result<std::string> mount_point_of(const RecoverCommand& command,
                                   const config::MountConfig& config) {
  const std::string& point = command.mountpoint.empty() ? config.mount.point : command.mountpoint;
  if (point.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "no mount point: pass it after the mount file, or set mount.point in it");
  }
  return resolve_mount_point(point);
}

// A listing must not make the folders of a mount that never was.
bool is_there(const std::string& folder) { return ::access(folder.c_str(), F_OK) == 0; }

void send_file(Sender& sender, upload::StagingArea& area, Recovered& file) {
  const auto opened = area.open(*file.leftover);
  const Result<void> sent =
      opened ? sender.send(**opened) : Result<void>(std::unexpected(opened.error()));
  if (sent) {
    file.outcome = "sent";
    return (*opened)->remove();
  }
  file.outcome = "kept";
  file.why = sent.error().detail;
  if (opened && (*opened)->dropped().empty()) (*opened)->set_reason(file.why);
}

void discard_file(upload::StagingArea& area, Recovered& file) {
  const auto opened = area.open(*file.leftover);
  if (opened) {
    (*opened)->remove();
    file.outcome = "discarded";
    return;
  }
  file.outcome = "kept";
  file.why = opened.error().detail;
}

std::uint64_t age_seconds(const upload::Leftover& leftover, const Clock& clock) {
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall_now() - leftover.modified);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(age.count(), 0));
}

void print_text(const Findings& found, const Clock& clock) {
  for (const Recovered& file : found.files) {
    const upload::StagedState& state = file.leftover->state;
    const std::string what =
        state.identity.base ? "replaces version " + state.identity.base->etag : "a new file";
    std::printf("%s: %s: %s bytes, %s changed, %s, written %s ago%s%s\n",
                std::string(file.outcome).c_str(), printable(state.identity.key).c_str(),
                std::to_string(state.size_bytes).c_str(),
                std::to_string(state.changed.bytes()).c_str(), printable(what).c_str(),
                format_duration(std::chrono::seconds(age_seconds(*file.leftover, clock))).c_str(),
                file.why.empty() ? "" : "; ", printable(file.why).c_str());
  }
  for (const upload::DamagedFile& file : found.damaged) {
    std::printf("damaged: %s: %s; its bytes are in %s.data, remove both files by hand\n",
                file.path.c_str(), printable(file.why).c_str(), file.path.c_str());
  }
  std::printf("%zu files in %s\n", found.files.size(), found.folder.c_str());
}

void print_json(const Findings& found, const Clock& clock) {
  toml::array listed;
  for (const Recovered& file : found.files) {
    const upload::StagedState& state = file.leftover->state;
    listed.push_back(toml::table{
        {"key", doctor::valid_utf8(state.identity.key)},
        {"outcome", std::string(file.outcome)},
        {"size_bytes", static_cast<std::int64_t>(state.size_bytes)},
        {"changed_bytes", static_cast<std::int64_t>(state.changed.bytes())},
        {"lost_bytes", static_cast<std::int64_t>(state.dropped.bytes())},
        {"base_etag", state.identity.base ? doctor::valid_utf8(state.identity.base->etag) : ""},
        {"age_seconds", static_cast<std::int64_t>(age_seconds(*file.leftover, clock))},
        {"why", doctor::valid_utf8(file.why)}});
  }
  toml::array damaged;
  for (const upload::DamagedFile& file : found.damaged) {
    damaged.push_back(toml::table{{"path", doctor::valid_utf8(file.path)},
                                  {"why", doctor::valid_utf8(file.why)}});
  }
  const toml::table all{
      {"folder", found.folder}, {"files", std::move(listed)}, {"damaged", std::move(damaged)}};
  std::fputs(doctor::json_text(all).c_str(), stdout);
}

/// Sends or discards all files; null: there are none. Errors: nothing could be tried.
Result<void> work_on(const RecoverCommand& command, const config::MountConfig& config,
                     const std::string& state_path, upload::StagingArea* area,
                     std::vector<Recovered>& files, metrics::Registry& metrics,
                     const Clock& clock) {
  // Also where there is nothing to journal: a mount that began meanwhile would see half of this.
  std::optional<journal::StateFolder> state;
  if (is_there(state_path)) {
    auto taken = journal::StateFolder::take(state_path, "write.state_dir", clock);
    if (!taken) return std::unexpected(taken.error());
    state.emplace(std::move(*taken));
  }
  if (command.discard) {
    for (Recovered& file : files) discard_file(*area, file);
    return {};
  }
  if (!command.send || files.empty()) return {};
  MountPlan plan;
  plan.config = without_rdma(config);
  const auto chosen = choose_keys(config::Environment::of_this_process(), plan);
  if (!chosen) return std::unexpected(chosen.error());
  const auto sender = Sender::create(plan, state ? &*state : nullptr, clock, metrics);
  if (!sender) return std::unexpected(sender.error());
  for (Recovered& file : files) send_file(**sender, *area, file);
  return {};
}

}  // namespace

int run_recover(const RecoverCommand& command) {
  const auto loaded = config::load_mount_config(
      command.file, config::Environment::of_this_process(), command.overrides);
  if (!loaded) return report_mistakes(loaded.error());
  if (auto set = set_up_log("warn", LogSink::kStandardError); !set) return report(set.error());
  const config::MountConfig& config = loaded->config;
  const auto mount_point = mount_point_of(command, config);
  if (!mount_point) return report(mount_point.error());
  const WriteFolders folders = write_folders(config, *mount_point);

  const SystemClock clock;
  metrics::Registry metrics;
  // After the area: it unmounts the folder.
  const std::optional<StagingTmpfs> tmpfs = StagingTmpfs::find(config, folders.staging);
  std::unique_ptr<upload::StagingArea> area;
  Findings found{.folder = folders.staging, .files = {}};
  if (is_there(folders.staging)) {
    auto taken = upload::StagingArea::take(
        {.path = folders.staging, .size_bytes = config.write.staging_bytes}, clock, metrics);
    if (!taken) return report(taken.error());
    area = std::move(*taken);
    for (const upload::Leftover& leftover : area->leftovers()) {
      const upload::StagedState& state = leftover.state;
      std::string why = state.reason.empty() ? std::string(kDaemonEnded) : state.reason;
      if (!state.dropped.empty()) why += "; " + lost_text(state.dropped);
      found.files.push_back({.leftover = &leftover, .why = std::move(why)});
    }
    found.damaged = area->damaged();
  }
  const auto worked =
      work_on(command, config, folders.state, area.get(), found.files, metrics, clock);
  if (!worked) return report(worked.error());
  (command.json ? print_json : print_text)(found, clock);
  const bool is_kept = std::ranges::any_of(
      found.files, [](const Recovered& file) { return file.outcome == "kept"; });
  return is_kept ? kExitFailure : kExitSuccess;
}

}  // namespace s3rdmafs::daemon
