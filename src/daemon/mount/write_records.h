// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "config/mount_config.h"
#include "journal/state_folder.h"
#include "journal/upload_journal.h"
#include "s3/object_store.h"
#include "s3/object_writer.h"
#include "s3/upload_log.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/renames/rename_journal.h"

namespace s3rdmafs::daemon {

/// The journals of a mount that may write, in the folder that it holds. All null where the folder
/// cannot be had.
struct WriteRecords {
  std::optional<journal::StateFolder> folder;
  std::unique_ptr<journal::UploadJournal> uploads;
  std::unique_ptr<s3::UploadLog> store_uploads;  ///< notes those of the store's own in `uploads`
  std::unique_ptr<vfs::RenameJournal> renames;
};

/// Takes the folder (write.state_dir). A mount works without the default one, and the log says so:
/// after a crash a file may then be left under both names, and uploads may be left. Errors: a
/// folder that the mount file names cannot be had.
/// @param mount_point  absolute
[[nodiscard]] Result<WriteRecords> take_write_records(const config::MountConfig& config,
                                                      const std::string& mount_point,
                                                      const Clock& clock);

/// Finishes the renames that an earlier mount left. Blocks, each request for `request_time` at
/// most.
void finish_renames(WriteRecords& records, s3::ObjectStore& store, s3::ObjectWriter& writer,
                    const Clock& clock, std::chrono::milliseconds request_time);

}  // namespace s3rdmafs::daemon
