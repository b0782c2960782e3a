// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <sys/stat.h>

#include <algorithm>

#include "config/keys/mount_profiles.h"
#include "config/nearest_name.h"
#include "config/read_file.h"
#include "config/relations.h"
#include "config/tables/bucket_tables.h"
#include "config/text_checks.h"
#include "config/toml_document.h"
#include "config/value.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

constexpr std::string_view kResident = "resident";
constexpr std::string_view kGlob = "glob";
constexpr std::string_view kVariablePrefix = "S3RDMAFS_";

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Key& key : schema()) {
    if (key.section.empty() || (!names.empty() && names.back() == key.section)) continue;
    names.emplace_back(key.section);
  }
  return names;
}

std::vector<std::string> names_in(std::string_view section) {
  std::vector<std::string> names;
  for (const Key& key : schema()) {
    if (key.section == section) names.emplace_back(key.name);
  }
  return names;
}

// One load: collects all errors instead of stopping at the first.
class Loader {
 public:
  Loader(std::string_view name, const Environment& environment)
      : name_(name), environment_(environment) {}

  Result<LoadedConfig> load(std::string_view text, std::span<const Override> overrides) {
    Result<TomlDocument> document = parse_toml(text, name_);
    if (!document) return std::unexpected(document.error());
    apply_defaults();
    apply_file(*document);
    apply_environment();
    for (const Override& entry : overrides) {
      apply(*entry.key, entry.text, entry.source, entry.source);
    }
    apply_profile();
    complete_defaults();
    apply_bucket_tables(*document);
    check_required();
    if (errors_.empty()) check_relations();
    if (!errors_.empty()) return fail(ErrorCode::kConfig, all_errors());
    return std::move(loaded_);
  }

 private:
  std::string all_errors() const {
    std::string lines;
    for (const std::string& error : errors_) lines += (lines.empty() ? "" : "\n") + error;
    return lines;
  }

  // `where` leads the error's line, `source` is kept for `s3rdmafs config`.
  void apply(const Key& key, std::string_view text, std::string_view where, std::string source) {
    const Result<void> set = set_value(key, text, loaded_.config);
    if (set) {
      loaded_.sources[&key] = std::move(source);
    } else {
      report(where, key.full_name(), set.error().detail);
    }
    given_.push_back(&key);
  }

  void report(std::string_view where, std::string_view what, std::string_view detail) {
    errors_.push_back(fmt::format("{}: {}: {}", where, what, detail));
  }

  std::string at(const Position& position) const {
    return fmt::format("{}:{}:{}", name_, position.line, position.column);
  }

  void apply_defaults() {
    for (const Key& key : schema()) {
      if (!key.standard) continue;
      const std::string text = key.standard->compute != nullptr
                                   ? key.standard->compute(environment_)
                                   : std::string(key.standard->text);
      apply(key, text, "default", "default");
    }
    given_.clear();
  }

  void apply_file(const TomlDocument& document) {
    const std::vector<std::string> sections = section_names();
    for (const TomlSection& section : document.sections) {
      if (std::ranges::find(sections, section.name) != sections.end()) continue;
      if (section.name == kResident) {
        report(at(section.position), "[resident]", "is an array of tables: write [[resident]]");
        continue;
      }
      report(at(section.position), "[" + section.name + "]",
             "no such section" + did_you_mean(section.name, sections));
    }
    for (const TomlEntry& entry : document.entries) apply_entry(entry, sections);
    for (const TomlTable& table : document.tables) apply_table(table, sections);
  }

  // Arrays of tables are not in the schema: they have no default, variable or option.
  void apply_table(const TomlTable& table, const std::vector<std::string>& sections) {
    if (table.name == kBucketTable) {
      has_bucket_tables_ = true;  // they need the settings of the whole mount
      return;
    }
    const std::string header = "[[" + table.name + "]]";
    if (table.name != kResident) {
      const bool is_section = std::ranges::find(sections, table.name) != sections.end();
      report(at(table.position), header,
             is_section ? "may appear only once; write [" + table.name + "]"
                        : "no such array of tables" +
                              did_you_mean(table.name, std::vector{std::string(kResident),
                                                                   std::string(kBucketTable)}));
      return;
    }
    bool has_glob = false;
    for (const TomlEntry& entry : table.entries) {
      if (entry.name != kGlob || entry.section != table.name) {
        report(at(entry.name_position), header + " " + entry.name,
               "no such key" + did_you_mean(entry.name, std::vector{std::string(kGlob)}));
        continue;
      }
      has_glob = true;
      const Result<std::string> glob =
          entry.type == ValueType::kString
              ? check_glob(entry.text)
              : fail(ErrorCode::kInvalidArgument, "found a value of type " +
                                                      std::string(entry.type_name) +
                                                      ", expected text in quotes");
      if (glob) {
        loaded_.config.resident.push_back({*glob});
      } else {
        report(at(entry.value_position), header + " " + entry.name, glob.error().detail);
      }
    }
    if (!has_glob) report(at(table.position), header, "has no key glob");
  }

  void apply_entry(const TomlEntry& entry, const std::vector<std::string>& sections) {
    const Key* const key = find_key(entry.section, entry.name);
    if (entry.section.empty() && key == nullptr) {
      std::vector<std::string> known = names_in("");
      known.insert(known.end(), sections.begin(), sections.end());
      report(
          at(entry.name_position), entry.name,
          "is outside every section; write [section] above it" + did_you_mean(entry.name, known));
      return;
    }
    const bool has_section = std::ranges::find(sections, entry.section) != sections.end();
    if (!entry.section.empty() && !has_section) return;  // reported
    const std::string full_name =
        key != nullptr ? key->full_name() : entry.section + "." + entry.name;
    if (key == nullptr) {
      report(at(entry.name_position), full_name,
             "no such key" + did_you_mean(entry.name, names_in(entry.section)));
    } else if (!accepts_type(key->rule, entry.type)) {
      report(at(entry.value_position), full_name,
             fmt::format("found a value of type {}, expected {}", entry.type_name,
                         expectation(key->rule)));
      given_.push_back(key);
    } else {
      apply(*key, entry.text, at(entry.value_position),
            fmt::format("{}:{}", name_, entry.value_position.line));
    }
  }

  void apply_environment() {
    std::vector<std::string> known;
    for (const Key& key : schema()) {
      known.push_back(key.variable_name());
      const auto value = environment_.variable(known.back());
      if (value) apply(key, *value, known.back(), "environment " + known.back());
    }
    // A warning only: the name space is open to scripts around us.
    for (const auto& [name, value] : environment_.variables) {
      if (!name.starts_with(kVariablePrefix) || std::ranges::find(known, name) != known.end())
        continue;
      loaded_.warnings.push_back(
          fmt::format("environment variable {} does not set any key of the mount file{}", name,
                      did_you_mean(name, known)));
    }
  }

  // Weaker than whatever sets a key, stronger than defaults.
  void apply_profile() {
    const Profile profile = loaded_.config.profile;
    const std::string source = fmt::format("from profile {}", profile_name(profile));
    for (const ProfileLine& line : profile_lines()) {
      if (line.profile == profile) set_default(line.section, line.name, line.text, source);
    }
  }

  // The defaults that depend on another key.
  void complete_defaults() {
    if (loaded_.config.write.mode != WriteMode::kOff) {
      set_default("mount", "file_mode", "0644");
      set_default("mount", "directory_mode", "0755");
      set_default("metadata", "open", "always");
    }
    if (loaded_.config.metadata.open == OpenCheck::kAlways) {
      set_default("metadata", "negative_ttl", "0s");
    }
    if (loaded_.config.read_ahead.window_max_bytes > loaded_.config.cache.size_bytes) {
      set_default("read_ahead", "window_max", format_size(loaded_.config.cache.size_bytes));
    }
    if (loaded_.config.rdma.fabric == FabricChoice::kDc) set_default("rdma", "verify", "sample");
  }

  void set_default(std::string_view section, std::string_view name, std::string_view text,
                   const std::string& source = "default") {
    const Key& key = *find_key(section, name);
    if (loaded_.sources[&key] == "default") apply(key, text, source, source);
  }

  [[nodiscard]] bool is_given(const Key& key) const {
    return std::ranges::find(given_, &key) != given_.end();
  }

  void apply_bucket_tables(const TomlDocument& document) {
    if (!has_bucket_tables_) return;
    for (const Key* const key : given_) {
      if (key->section != kBucketTable) continue;
      relate(key->section, key->name,
             "is set together with [[bucket]]; it belongs into one of these tables");
    }
    BucketTables tables = read_bucket_tables(document.tables, loaded_.config,
                                             [this](const Key& key) { return is_given(key); });
    for (const BucketTables::Problem& problem : tables.problems) {
      report(at(problem.position), problem.what, problem.detail);
    }
    loaded_.config.directories = std::move(tables.directories);
    loaded_.tables_hold_secret = tables.hold_secret;
    const bool may_write = std::ranges::any_of(loaded_.config.directories, [](const auto& one) {
      return one.config->write.mode != WriteMode::kOff;
    });
    if (!may_write) return;
    set_default("mount", "file_mode", "0644");
    set_default("mount", "directory_mode", "0755");
  }

  void check_required() {
    for (const Key& key : schema()) {
      if (key.standard || is_given(key)) continue;
      if (has_bucket_tables_ && key.section == kBucketTable) continue;  // each table has its own
      report(
          name_, key.full_name(),
          fmt::format("missing; write it under [{}], or set {}", key.section, key.variable_name()));
    }
    check_endpoints();
  }

  // One of two keys is required. One that was refused has had its own error.
  void check_endpoints() {
    const Key* const url = find_key("endpoint", "url");
    const Key* const urls = find_key("endpoint", "urls");
    const MountConfig::Endpoint& endpoint = loaded_.config.endpoint;
    if (!is_given(*url) && !is_given(*urls)) {
      if (has_bucket_tables_) return;  // each table was checked
      report(name_, url->full_name(),
             "missing; write it or urls, a list, under [endpoint], or set S3RDMAFS_ENDPOINT_URL");
    } else if (!endpoint.url.empty() && !endpoint.urls.empty()) {
      relate("endpoint", "urls",
             "is set together with endpoint.url; put all servers here and remove url");
    } else if (endpoint.url.empty() && endpoint.urls.empty() && errors_.empty()) {
      report(name_, url->full_name(), "is empty, and so is endpoint.urls; one of them is required");
    }
  }

  // The message names the source of the key that is easier to change.
  void check_relations() {
    for (const Conflict& conflict : conflicts_in(loaded_.config)) {
      relate(conflict.section, conflict.name, conflict.detail);
    }
    warn_of_a_single_attempt();
  }

  // A valid setting, but seldom an intended one.
  void warn_of_a_single_attempt() {
    const MountConfig& config = loaded_.config;
    if (config.rdma.mode == RdmaMode::kOff ||
        2 * config.rdma.transfer_timeout <= config.retry.deadline)
      return;
    const std::string& source = loaded_.sources[find_key("rdma", "transfer_timeout")];
    loaded_.warnings.push_back(fmt::format(
        "{}: rdma.transfer_timeout is longer than half of retry.deadline: a read whose transfer "
        "hangs has no time for a second attempt",
        source == "default" ? std::string(name_) : source));
  }

  void relate(std::string_view section, std::string_view name, std::string_view detail) {
    const Key* const key = find_key(section, name);
    const std::string& source = loaded_.sources[key];
    report(source == "default" ? std::string(name_) : source, key->full_name(), detail);
  }

  std::string_view name_;
  const Environment& environment_;
  LoadedConfig loaded_;
  std::vector<const Key*> given_;  // set by more than a default, rightly or wrongly
  bool has_bucket_tables_ = false;
  std::vector<std::string> errors_;
};

// A secret that others on the machine may read is not a secret any more.
void warn_if_readable_by_others(const std::filesystem::path& file, mode_t mode,
                                LoadedConfig& loaded) {
  const bool holds_secret =
      loaded.tables_hold_secret || std::ranges::any_of(loaded.sources, [&](const auto& entry) {
        return entry.first->is_secret && entry.second.starts_with(file.string() + ":");
      });
  const std::string warning = open_secret_warning(file, mode);
  if (holds_secret && !warning.empty()) loaded.warnings.push_back(warning);
}

}  // namespace

Result<LoadedConfig> load_mount_config_text(std::string_view text, std::string_view name,
                                            const Environment& environment,
                                            std::span<const Override> overrides) {
  return Loader(name, environment).load(text, overrides);
}

Result<LoadedConfig> load_mount_config(const std::filesystem::path& file,
                                       const Environment& environment,
                                       std::span<const Override> overrides) {
  Result<SmallFile> contents = read_small_file(file);
  if (!contents) return std::unexpected(contents.error());
  Result<LoadedConfig> loaded =
      load_mount_config_text(contents->text, file.string(), environment, overrides);
  if (!loaded) return loaded;
  warn_if_readable_by_others(file, contents->mode, *loaded);
  if (environment.is_root) {
    const std::string warning = open_to_change_warning(file, *contents);
    if (!warning.empty()) loaded->warnings.push_back(warning);
  }
  return loaded;
}

std::vector<std::string> all_full_names() {
  std::vector<std::string> names;
  for (const Key& key : schema()) names.push_back(key.full_name());
  return names;
}

}  // namespace s3rdmafs::config
