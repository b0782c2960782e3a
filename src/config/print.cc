// SPDX-License-Identifier: Apache-2.0
#include "config/print.h"

#include "config/value.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {

std::string print_config(const LoadedConfig& loaded) {
  MountConfig config = loaded.config;  // a copy: the schema reaches fields by mutable reference
  std::string result;
  std::string_view section;
  for (const Key& key : schema()) {
    if (key.section != section) {
      section = key.section;
      result += fmt::format("{}[{}]\n", result.empty() ? "" : "\n", section);
    }
    std::string value = toml_value(key, config);
    // A default is known to all, and an empty one is nothing to hide.
    const bool is_default = key.standard && value == toml_string(key.standard->text);
    if (key.is_secret && !is_default) value = toml_string("********");
    // 32 columns hold every default, so that the sources line up.
    result += fmt::format("{:<32}  # {}\n", fmt::format("{} = {}", key.name, value),
                          loaded.sources.at(&key));
  }
  for (const MountConfig::Resident& resident : loaded.config.resident) {
    result += fmt::format("\n[[resident]]\nglob = {}\n", toml_string(resident.glob));
  }
  return result;
}

}  // namespace s3rdmafs::config
