// SPDX-License-Identifier: Apache-2.0
#include "upload/staged/last_mount.h"

#include <cstddef>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::upload {
namespace {

// A crash among a thousand writers is not a thousand lines of log.
constexpr std::size_t kNamedInTheLog = 20;

}  // namespace

void settle_last_mount(Uploads& uploads, const StagingArea* area, std::string_view mount_file) {
  uploads.abort_left();
  if (area == nullptr || area->leftovers().empty()) return;
  const std::vector<Leftover>& left = area->leftovers();
  for (std::size_t i = 0; i < left.size() && i < kNamedInTheLog; ++i) {
    log::warn("staging: '{}' was written by an earlier mount and not stored{}",
              left[i].state.identity.key,
              left[i].state.reason.empty() ? "" : ": " + left[i].state.reason);
  }
  log::warn(
      "staging: {} files of earlier mounts in {} are not stored; when this mount has ended, list "
      "them with `s3rdmafs recover {}`, and send them with --send",
      left.size(), area->path(), mount_file);
}

}  // namespace s3rdmafs::upload
