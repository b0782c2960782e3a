// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/write_folders.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "journal/mount_folders.h"

namespace s3rdmafs::daemon {

WriteFolders write_folders(const config::MountConfig& config, const std::string& mount_point) {
  // Several endpoints are one store, whatever order the mount file lists them in.
  const config::MountConfig& first =
      config.directories.empty() ? config : *config.directories.front().config;
  std::vector<std::string> parts{journal::machine_name(),
                                 std::ranges::min(first.endpoint.all_urls()), first.bucket.name,
                                 first.bucket.prefix, mount_point};
  // Keys in these folders begin with names of directories.
  for (const auto& directory : config.directories) parts.push_back(directory.name);
  const std::string name = journal::mount_name(parts);
  const auto resolve = [&](const std::string& setting, auto by_default) {
    return setting == "auto" ? by_default(::getuid(), name) : setting;
  };
  return {.staging = resolve(config.write.staging_dir, journal::default_staging_folder),
          .state = resolve(config.write.state_dir, journal::default_state_folder)};
}

}  // namespace s3rdmafs::daemon
