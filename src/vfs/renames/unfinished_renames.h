// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "s3/object_store.h"
#include "s3/object_writer.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/renames/rename_log.h"

namespace s3rdmafs::vfs {

/// The needs of finish_renames(). Borrowed until it has answered.
struct RenameFinish {
  s3::ObjectStore& store;
  s3::ObjectWriter& writer;
  RenameLog& log;
  std::function<Deadline()> request_deadline;
};

/// Finishes or undoes what the mount before has left, one rename after the other, before any name
/// is used. Each ends in the log, and where it cannot be finished, with a warning: both names may
/// then have files. `done` always succeeds.
void finish_renames(RenameFinish with, std::vector<BegunRename> renames, Done<void> done);

}  // namespace s3rdmafs::vfs
