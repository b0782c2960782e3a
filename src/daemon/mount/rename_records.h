// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "config/mount_config.h"
#include "journal/state_folder.h"
#include "s3/http_object_store.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/renames/rename_journal.h"

namespace s3rdmafs::daemon {

/// The journal of a mount's renames, in the folder that this mount holds.
struct RenameRecords {
  std::optional<journal::StateFolder> folder;
  std::unique_ptr<vfs::RenameJournal> journal;  ///< null: the folder cannot be had; the log says so
};

/// Takes the state folder of this mount, and finishes the renames that an earlier one left. A mount
/// works without: after a crash a file may then be left under both names. Blocks, each request for
/// `retry.deadline` at most.
/// @param mount_point  absolute
[[nodiscard]] RenameRecords take_rename_records(const config::MountConfig& config,
                                                const std::string& mount_point,
                                                s3::HttpObjectStore& store, const Clock& clock);

}  // namespace s3rdmafs::daemon
