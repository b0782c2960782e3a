// SPDX-License-Identifier: Apache-2.0
// What the tests of config/ share: a mount file that loads, to which each test adds its own lines.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "config/load.h"

namespace s3rdmafs::config {

/// Two sections, five lines: what a test adds begins on line 6.
inline constexpr std::string_view kRequiredKeys = R"([bucket]
name = "train"
[endpoint]
url = "http://127.0.0.1:9000"

)";

/// Loads the required keys and `more` under the name "train.toml".
inline Result<LoadedConfig> load_with(std::string_view more, const Environment& environment = {},
                                      std::span<const Override> overrides = {}) {
  return load_mount_config_text(std::string(kRequiredKeys) + std::string(more), "train.toml",
                                environment, overrides);
}

/// The error of a load that must fail; empty where it did not.
inline std::string error_of(const Result<LoadedConfig>& loaded) {
  return loaded ? "" : loaded.error().detail;
}

/// A folder of this test's own, gone with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "s3rdmafs-config-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace s3rdmafs::config
