// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/rename_records.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/mount/await.h"
#include "journal/mount_folders.h"
#include "s3rdmafs/base/log.h"
#include "vfs/renames/unfinished_renames.h"

namespace s3rdmafs::daemon {
namespace {

std::string state_folder_of(const config::MountConfig& config, const std::string& mount_point) {
  // Several endpoints are one store, whatever order the mount file lists them in.
  const std::array<std::string, 4> parts{std::ranges::min(config.endpoint.all_urls()),
                                         config.bucket.name, config.bucket.prefix, mount_point};
  return journal::default_state_folder(::getuid(), journal::mount_name(parts));
}

Result<RenameRecords> open_records(const std::string& path, const Clock& clock) {
  auto folder = journal::StateFolder::take(path, "the state folder", clock);
  if (!folder) return std::unexpected(std::move(folder.error()));
  RenameRecords records;
  records.folder.emplace(std::move(*folder));
  auto journal = vfs::RenameJournal::open(*records.folder, clock);
  if (!journal) return std::unexpected(std::move(journal.error()));
  records.journal = std::move(*journal);
  return records;
}

}  // namespace

RenameRecords take_rename_records(const config::MountConfig& config, const std::string& mount_point,
                                  s3::HttpObjectStore& store, const Clock& clock) {
  auto records = open_records(state_folder_of(config, mount_point), clock);
  if (!records) {
    spdlog::warn(
        "rename: steps are not kept: {}; after a crash a file may be left under both names",
        records.error().detail);
    return {};
  }
  const auto request_deadline = [&clock, time = config.retry.deadline] {
    return clock.now() + time;
  };
  auto unfinished = records->journal->take_unfinished();
  const auto finished = await<Result<void>>([&](auto done) {
    vfs::finish_renames({store, store, *records->journal, request_deadline}, std::move(unfinished),
                        std::move(done));
  });
  if (!finished) spdlog::warn("rename: {}", finished.error().detail);
  return std::move(*records);
}

}  // namespace s3rdmafs::daemon
