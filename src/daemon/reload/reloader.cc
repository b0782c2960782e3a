// SPDX-License-Identifier: Apache-2.0
#include "daemon/reload/reloader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "config/keys/schema.h"
#include "config/value.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::string_view kResidentTables = "resident";

// A profile is nothing but defaults of other keys, which are compared themselves.
bool has_effect_itself(const config::Key& key) { return !key.section.empty(); }

std::string globs_of(const config::MountConfig& config) {
  std::string globs;
  for (const auto& wanted : config.resident) {
    globs += (globs.empty() ? "" : ", ") + config::toml_string(wanted.glob);
  }
  return "[" + globs + "]";
}

// The order of the man page; [[resident]] is last there too.
std::vector<std::pair<std::string, std::string>> values_of(config::MountConfig config) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const config::Key& key : config::schema()) {
    if (has_effect_itself(key)) {
      values.emplace_back(key.full_name(), config::toml_value(key, config));
    }
  }
  values.emplace_back(kResidentTables, globs_of(config));
  return values;
}

bool is_secret(std::string_view full_name) {
  return std::ranges::any_of(config::schema(), [&](const config::Key& key) {
    return key.is_secret && key.full_name() == full_name;
  });
}

std::string shown(std::string_view key, const std::string& value) {
  return is_secret(key) && value != config::toml_string("") ? config::toml_string("********")
                                                            : value;
}

}  // namespace

Reloader::Reloader(const config::MountConfig& mounted, Load load, std::vector<LiveSetting> live)
    : load_(std::move(load)), live_(std::move(live)) {
  for (auto& [key, value] : values_of(mounted)) in_effect_.emplace(key, std::move(value));
}

const LiveSetting* Reloader::live_setting(std::string_view key) const {
  const auto found = std::ranges::find(live_, key, &LiveSetting::key);
  return found == live_.end() ? nullptr : &*found;
}

Result<std::vector<SettingChange>> Reloader::reload(Extent extent) {
  const MutexLock lock(mutex_);
  auto loaded = load_();
  if (!loaded) return std::unexpected(loaded.error());
  std::vector<SettingChange> changes;
  for (auto& [key, value] : values_of(loaded->config)) {
    std::string& in_effect = in_effect_.at(key);
    if (value == in_effect) continue;
    const LiveSetting* const live = live_setting(key);
    SettingChange change{.key = key,
                         .before = shown(key, in_effect),
                         .after = shown(key, value),
                         .is_live = live != nullptr};
    if (extent == Extent::kApply && live != nullptr) {
      // Before: the level that it changes may be the log's.
      spdlog::info("reload: {} changes from {} to {}", change.key, change.before, change.after);
      live->apply(loaded->config);
      in_effect = std::move(value);
    } else if (extent == Extent::kApply) {
      spdlog::warn("reload: {} stays {} until the next mount; the mount file says {}", change.key,
                   change.before, change.after);
    }
    changes.push_back(std::move(change));
  }
  if (extent == Extent::kApply) {
    for (const std::string& warning : loaded->warnings) spdlog::warn("{}", warning);
    if (changes.empty()) spdlog::info("reload: the mount file says nothing new");
  }
  return changes;
}

std::string Reloader::settings_text() {
  const MutexLock lock(mutex_);
  std::string text;
  std::string_view section;
  for (const config::Key& key : config::schema()) {
    if (!has_effect_itself(key)) continue;
    if (key.section != section) {
      section = key.section;
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    const std::string name = key.full_name();
    text += fmt::format("{} = {}\n", key.name, shown(name, in_effect_.at(name)));
  }
  const std::string& globs = in_effect_.find(kResidentTables)->second;
  return globs == "[]" ? text : text + fmt::format("\n# [[resident]] {}\n", globs);
}

}  // namespace s3rdmafs::daemon
