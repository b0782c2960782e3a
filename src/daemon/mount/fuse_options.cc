// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/fuse_options.h"

#include <string>
#include <vector>

#include "config/file_globs.h"

namespace s3rdmafs::daemon {
namespace {

std::string comma_list(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ",") + word;
  return list;
}

fuse::IoModePolicy::Preference preference_of(config::ReadMode mode) {
  switch (mode) {
    case config::ReadMode::kDirect:
      return fuse::IoModePolicy::Preference::kDirect;
    case config::ReadMode::kBuffered:
      return fuse::IoModePolicy::Preference::kBuffered;
    case config::ReadMode::kAuto:
      break;
  }
  return fuse::IoModePolicy::Preference::kAuto;
}

fuse::IoModePolicy::Match match_of(const std::string& list) {
  return [globs = config::FileGlobs(list)](const std::string& path) { return globs.match(path); };
}

}  // namespace

fuse::MountContext::Presentation presentation_of(const config::MountConfig& config) {
  return {.uid = config.mount.uid,
          .gid = config.mount.gid,
          .file_mode = config.mount.file_mode,
          .directory_mode = config.mount.directory_mode,
          .negative_ttl = config.metadata.negative_ttl,
          .deadline = config.retry.deadline};
}

vfs::PosixMetadata posix_metadata_of(config::PosixMetadata posix) {
  switch (posix) {
    case config::PosixMetadata::kRead:
      return vfs::PosixMetadata::kRead;
    case config::PosixMetadata::kWrite:
      return vfs::PosixMetadata::kWrite;
    case config::PosixMetadata::kOff:
      break;
  }
  return vfs::PosixMetadata::kOff;
}

fuse::IoModePolicy::Rules read_rules(const config::MountConfig::Read& read) {
  return {.preference = preference_of(read.mode),
          .buffered = match_of(read.buffered),
          .direct = match_of(read.direct)};
}

fuse::Session::Options session_options(const MountPlan& plan, bool over_ring) {
  return {.source = plan.source,
          .mount_point = plan.mount_point,
          .allow_other = plan.config.mount.allow_other,
          .kernel_options = comma_list(plan.kernel_options),
          .threads = plan.config.mount.threads,
          .over_ring = over_ring};
}

}  // namespace s3rdmafs::daemon
