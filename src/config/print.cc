// SPDX-License-Identifier: Apache-2.0
#include "config/print.h"

#include "config/value.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {

namespace {

constexpr std::string_view kHidden = "********";

// The keys of a [[bucket]] that differ from the mount's own.
std::string print_table(const MountConfig& mount, const MountConfig::Directory& directory) {
  MountConfig base = mount;
  MountConfig own = *directory.config;
  std::string result = fmt::format("\n[[bucket]]\ndirectory = {}\n", toml_string(directory.name));
  for (const Key& key : schema()) {
    std::string value = toml_value(key, own);
    if (value == toml_value(key, base)) continue;
    if (key.is_secret) value = toml_string(kHidden);
    const std::string name = key.section == "bucket" ? std::string(key.name) : key.full_name();
    result += fmt::format("{} = {}\n", name, value);
  }
  return result;
}

}  // namespace

std::string print_config(const LoadedConfig& loaded) {
  MountConfig config = loaded.config;  // a copy: the schema reaches fields by mutable reference
  std::string result;
  std::string_view section;
  for (const Key& key : schema()) {
    // Each table has its own.
    if (!config.directories.empty() && key.section == "bucket") continue;
    if (key.section != section) {
      section = key.section;
      result += fmt::format("{}[{}]\n", result.empty() ? "" : "\n", section);
    }
    std::string value = toml_value(key, config);
    // A default is known to all, and an empty one is nothing to hide.
    const bool is_default = key.standard && value == toml_string(key.standard->text);
    if (key.is_secret && !is_default) value = toml_string(kHidden);
    // 32 columns hold every default, so that the sources line up.
    result += fmt::format("{:<32}  # {}\n", fmt::format("{} = {}", key.name, value),
                          loaded.sources.at(&key));
  }
  for (const MountConfig::Resident& resident : loaded.config.resident) {
    result += fmt::format("\n[[resident]]\nglob = {}\n", toml_string(resident.glob));
  }
  for (const MountConfig::Directory& directory : loaded.config.directories) {
    result += print_table(loaded.config, directory);
  }
  return result;
}

}  // namespace s3rdmafs::config
