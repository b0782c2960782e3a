// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/write_records.h"

#include <utility>

#include "daemon/mount/await.h"
#include "daemon/mount/write_folders.h"
#include "s3rdmafs/base/log.h"
#include "vfs/renames/unfinished_renames.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::string_view kAuto = "auto";

/// Two layers that do not know each other.
class StoreUploads final : public s3::UploadLog {
 public:
  explicit StoreUploads(journal::UploadJournal& journal) : journal_(journal) {}
  void begun(const std::string& key, const std::string& upload_id) override {
    journal_.begun(key, upload_id);
  }
  void ended(const std::string& upload_id) override { journal_.ended(upload_id); }

 private:
  journal::UploadJournal& journal_;
};

Result<WriteRecords> open_records(const std::string& path, const Clock& clock) {
  auto folder = journal::StateFolder::take(path, "write.state_dir", clock);
  if (!folder) return std::unexpected(std::move(folder.error()));
  WriteRecords records;
  records.folder.emplace(std::move(*folder));
  auto uploads = journal::UploadJournal::open(*records.folder, clock);
  if (!uploads) return std::unexpected(std::move(uploads.error()));
  records.uploads = std::move(*uploads);
  records.store_uploads = std::make_unique<StoreUploads>(*records.uploads);
  auto renames = vfs::RenameJournal::open(*records.folder, clock);
  if (!renames) return std::unexpected(std::move(renames.error()));
  records.renames = std::move(*renames);
  return records;
}

}  // namespace

Result<WriteRecords> take_write_records(const config::MountConfig& config,
                                        const std::string& mount_point, const Clock& clock) {
  auto records = open_records(write_folders(config, mount_point).state, clock);
  if (records || config.write.state_dir != kAuto) return records;
  log::warn(
      "journal: renames and uploads are not recorded: {}; after a crash a file may be left under "
      "both names, and parts of uploads may be left; name a folder with write.state_dir",
      records.error().detail);
  return WriteRecords{};
}

void finish_renames(WriteRecords& records, s3::ObjectStore& store, s3::ObjectWriter& writer,
                    const Clock& clock, std::chrono::milliseconds request_time) {
  if (!records.renames) return;
  const auto request_deadline = [&clock, request_time] { return clock.now() + request_time; };
  auto unfinished = records.renames->take_unfinished();
  const auto finished = await<Result<void>>([&](auto done) {
    vfs::finish_renames({store, writer, *records.renames, request_deadline}, std::move(unfinished),
                        std::move(done));
  });
  if (!finished) log::warn("rename: {}", finished.error().detail);
}

}  // namespace s3rdmafs::daemon
