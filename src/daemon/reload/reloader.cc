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
constexpr std::string_view kBucketTables = "[[bucket]] ";  // and the directory
constexpr std::string_view kNoTable = "none";

// A profile is nothing but defaults of other keys, which are compared themselves.
bool has_effect_itself(const config::Key& key) { return !key.section.empty(); }

std::string globs_of(const config::MountConfig& config) {
  std::string globs;
  for (const auto& wanted : config.resident) {
    globs += (globs.empty() ? "" : ", ") + config::toml_string(wanted.glob);
  }
  return "[" + globs + "]";
}

std::string shown(const config::Key& key, const std::string& value) {
  const bool is_hidden = key.is_secret && value != config::toml_string("");
  return is_hidden ? config::toml_string("********") : value;
}

}  // namespace

Reloader::Listed Reloader::values_of(config::MountConfig config) {
  Listed values;
  for (const config::Key& key : config::schema()) {
    if (!has_effect_itself(key)) continue;
    const std::string text = config::toml_value(key, config);
    values.emplace_back(key.full_name(), Value{.text = text, .shown = shown(key, text)});
  }
  const std::string globs = globs_of(config);
  values.emplace_back(kResidentTables, Value{.text = globs, .shown = globs});
  for (const config::MountConfig::Directory& directory : config.directories) {
    config::MountConfig own = *directory.config;
    Value table;
    for (const config::Key& key : config::schema()) {
      const std::string text = config::toml_value(key, own);
      if (key.section != "bucket" && text == config::toml_value(key, config)) continue;
      const std::string name = key.full_name();
      table.text += fmt::format("{}{} = {}", table.text.empty() ? "" : ", ", name, text);
      table.shown +=
          fmt::format("{}{} = {}", table.shown.empty() ? "" : ", ", name, shown(key, text));
    }
    values.emplace_back(std::string(kBucketTables) + directory.name, std::move(table));
  }
  return values;
}

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
  Listed wanted = values_of(loaded->config);
  for (const auto& [key, value] : in_effect_) {
    const bool is_gone =
        std::ranges::none_of(wanted, [&](const auto& one) { return one.first == key; });
    if (is_gone) wanted.emplace_back(key, Value{.text = {}, .shown = std::string(kNoTable)});
  }
  std::vector<SettingChange> changes;
  for (auto& [key, value] : wanted) {
    const auto in_effect = in_effect_.find(key);
    const bool is_new = in_effect == in_effect_.end();
    if (!is_new && value.text == in_effect->second.text) continue;
    const LiveSetting* const live = live_setting(key);
    SettingChange change{.key = key,
                         .before = is_new ? std::string(kNoTable) : in_effect->second.shown,
                         .after = value.shown,
                         .is_live = live != nullptr};
    if (extent == Extent::kApply && live != nullptr) {
      // Before: the level that it changes may be the log's.
      log::info("reload: {} changes from {} to {}", change.key, change.before, change.after);
      live->apply(loaded->config);
      in_effect->second = std::move(value);
    } else if (extent == Extent::kApply) {
      log::warn("reload: {} stays {} until the next mount; the mount file says {}", change.key,
                change.before, change.after);
    }
    changes.push_back(std::move(change));
  }
  if (extent == Extent::kApply) {
    for (const std::string& warning : loaded->warnings) log::warn("{}", warning);
    if (changes.empty()) log::info("reload: the mount file says nothing new");
  }
  return changes;
}

std::string Reloader::settings_text() {
  const MutexLock lock(mutex_);
  const auto first_table = in_effect_.lower_bound(kBucketTables);
  const bool has_tables =
      first_table != in_effect_.end() && first_table->first.starts_with(kBucketTables);
  std::string text;
  std::string_view section;
  for (const config::Key& key : config::schema()) {
    // Each table has its own [bucket].
    if (!has_effect_itself(key) || (has_tables && key.section == "bucket")) continue;
    if (key.section != section) {
      section = key.section;
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    text += fmt::format("{} = {}\n", key.name, in_effect_.find(key.full_name())->second.shown);
  }
  const std::string& globs = in_effect_.find(kResidentTables)->second.shown;
  if (globs != "[]") text += fmt::format("\n# [[resident]] {}\n", globs);
  for (auto table = first_table; has_tables && table != in_effect_.end(); ++table) {
    if (!table->first.starts_with(kBucketTables)) break;
    text += fmt::format("\n# {}: {}\n", table->first, table->second.shown);
  }
  return text;
}

}  // namespace s3rdmafs::daemon
