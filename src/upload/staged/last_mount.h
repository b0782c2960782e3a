// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "upload/staged/staging_area.h"
#include "upload/uploads.h"

namespace s3rdmafs::upload {

/// Cleans up after the mount before this one; to be called once, when the mount begins: aborts the
/// multipart uploads that Uploads::Options::journal says were left, and names in the log the staged
/// files that were, with the command that lists and sends them. Sends requests, and waits for none.
/// @param area        null where the mount does not stage
/// @param mount_file  for the command in the log
void settle_last_mount(Uploads& uploads, const StagingArea* area, std::string_view mount_file);

}  // namespace s3rdmafs::upload
