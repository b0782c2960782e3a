// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/write_folders.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "journal/mount_folders.h"

namespace s3rdmafs::daemon {

WriteFolders write_folders(const config::MountConfig& config, const std::string& mount_point) {
  // Several endpoints are one store, whatever order the mount file lists them in.
  const std::array<std::string, 5> parts{journal::machine_name(),
                                         std::ranges::min(config.endpoint.all_urls()),
                                         config.bucket.name, config.bucket.prefix, mount_point};
  const std::string name = journal::mount_name(parts);
  const auto resolve = [&](const std::string& setting, auto by_default) {
    return setting == "auto" ? by_default(::getuid(), name) : setting;
  };
  return {.staging = resolve(config.write.staging_dir, journal::default_staging_folder),
          .state = resolve(config.write.state_dir, journal::default_state_folder)};
}

}  // namespace s3rdmafs::daemon
