// SPDX-License-Identifier: Apache-2.0
// A table is a copy of the mount's settings with some keys set again: those that one bucket can
// have of its own. So each rule of a key, and each relation between keys, holds in a table too.
#include "config/tables/bucket_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "config/nearest_name.h"
#include "config/relations.h"
#include "config/value.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

// The sections whose keys a table may have, written "endpoint.url" there.
constexpr std::array<std::string_view, 4> kSectionsOfTables{"endpoint", "credentials", "encryption",
                                                            "metadata"};
constexpr std::size_t kDirectoryBytesMax = 255;  // NAME_MAX of Linux

std::string check_directory(const std::string& name) {
  if (name.empty()) return "is empty; it is the name of a directory below the mount point";
  if (name == "." || name == "..") return "is '" + name + "', which no directory can be called";
  if (name.contains('/')) return "has a '/'; it is one name, not a path";
  if (name.contains('\0')) return "has a NUL character";
  if (name.size() > kDirectoryBytesMax) return "is longer than 255 bytes";
  return "";
}

class TableReader {
 public:
  TableReader(const TomlTable& table, const MountConfig& base,
              const std::function<bool(const Key&)>& is_given, BucketTables& result)
      : table_(table), is_given_(is_given), result_(result), config_(base) {
    config_.directories.clear();
  }

  void read(const MountConfig& base) {
    forget_base_of_sets();
    for (const TomlEntry& entry : table_.entries) apply(entry);
    complete();
    check_required();
    if (had_problem_) return;
    check_relations(base);
    result_.directories.push_back(
        {.name = directory_, .config = std::make_shared<const MountConfig>(std::move(config_))});
  }

 private:
  void report(const Position& position, std::string_view name, std::string detail) {
    had_problem_ = true;
    result_.problems.push_back(
        {.position = position,
         .what = fmt::format("[[{}]]{}{}", kBucketTable, name.empty() ? "" : " ", name),
         .detail = std::move(detail)});
  }

  [[nodiscard]] bool says(std::string_view section, std::string_view name = {}) const {
    return std::ranges::any_of(table_.entries, [&](const TomlEntry& entry) {
      return entry.section == section && (name.empty() || entry.name == name);
    });
  }

  // Keys that belong together come from one place.
  void forget_base_of_sets() {
    config_.bucket = {};
    if (says("credentials")) config_.credentials = {};
    if (says("endpoint", "url")) config_.endpoint.urls.clear();
    if (says("endpoint", "urls")) config_.endpoint.url.clear();
  }

  void apply(const TomlEntry& entry) {
    const bool is_own = entry.section == kBucketTable;
    const std::string name = is_own ? entry.name : entry.section + "." + entry.name;
    if (is_own && entry.name == kDirectoryKey) return apply_directory(entry);
    const Key* const key = find_key(entry.section, entry.name);
    if (key == nullptr) return report(entry.name_position, name, "no such key" + hint(entry));
    const bool is_of_a_bucket =
        is_own || std::ranges::find(kSectionsOfTables, entry.section) != kSectionsOfTables.end() ||
        name == "write.mode";
    if (!is_of_a_bucket) {
      return report(entry.name_position, name,
                    "is of the whole mount; write it under [" + entry.section + "]");
    }
    if (!accepts_type(key->rule, entry.type)) {
      return report(entry.value_position, name,
                    fmt::format("found a value of type {}, expected {}", entry.type_name,
                                expectation(key->rule)));
    }
    const Result<void> set = set_value(*key, entry.text, config_);
    if (!set) return report(entry.value_position, name, set.error().detail);
    result_.hold_secret |= key->is_secret;
  }

  void apply_directory(const TomlEntry& entry) {
    if (entry.type != ValueType::kString) {
      return report(
          entry.value_position, kDirectoryKey,
          fmt::format("found a value of type {}, expected text in quotes", entry.type_name));
    }
    if (const std::string problem = check_directory(entry.text); !problem.empty()) {
      return report(entry.value_position, kDirectoryKey, problem);
    }
    directory_ = entry.text;
  }

  static std::string hint(const TomlEntry& entry) {
    std::vector<std::string> known;
    for (const Key& key : schema()) {
      if (key.section == entry.section) known.emplace_back(key.name);
    }
    if (entry.section == kBucketTable) known.emplace_back(kDirectoryKey);
    return did_you_mean(entry.name, known);
  }

  // As Loader::complete_defaults() for the mount's own settings.
  void complete() {
    const auto set_default = [this](std::string_view name, std::string_view text) {
      const Key& key = *find_key("metadata", name);
      if (!says("metadata", name) && !is_given_(key)) std::ignore = set_value(key, text, config_);
    };
    if (config_.write.mode != WriteMode::kOff) set_default("open", "always");
    if (config_.metadata.open == OpenCheck::kAlways) set_default("negative_ttl", "0s");
  }

  void check_required() {
    if (!says(kBucketTable, kDirectoryKey)) report(table_.position, "", "has no key directory");
    if (!says(kBucketTable, "name")) report(table_.position, "", "has no key name");
    const MountConfig::Endpoint& endpoint = config_.endpoint;
    if (endpoint.url.empty() && endpoint.urls.empty()) {
      report(table_.position, "",
             "has no endpoint; write endpoint.url there, or url under [endpoint] for all buckets");
    } else if (!endpoint.url.empty() && !endpoint.urls.empty()) {
      report(table_.position, "endpoint.urls", "is set together with url; put all servers there");
    }
  }

  // Those of the mount's own settings are reported there.
  void check_relations(const MountConfig& base) {
    const std::vector<Conflict> known = conflicts_in(base);
    for (const Conflict& conflict : conflicts_in(config_)) {
      const bool is_known = std::ranges::any_of(known, [&](const Conflict& other) {
        return other.section == conflict.section && other.name == conflict.name;
      });
      if (is_known) continue;
      report(table_.position, fmt::format("{}.{}", conflict.section, conflict.name),
             conflict.detail);
    }
  }

  const TomlTable& table_;
  const std::function<bool(const Key&)>& is_given_;
  BucketTables& result_;
  MountConfig config_;
  std::string directory_;
  bool had_problem_ = false;
};

void check_directories_differ(std::span<const TomlTable> tables, BucketTables& result) {
  std::map<std::string, unsigned> lines;
  for (const TomlTable& table : tables) {
    for (const TomlEntry& entry : table.entries) {
      if (entry.section != kBucketTable || entry.name != kDirectoryKey) continue;
      const auto [at, is_new] = lines.emplace(entry.text, entry.value_position.line);
      if (is_new) continue;
      result.problems.push_back(
          {.position = entry.value_position,
           .what = fmt::format("[[{}]] {}", kBucketTable, kDirectoryKey),
           .detail = fmt::format("'{}' is that of line {} too; each bucket has one of its own",
                                 entry.text, at->second)});
    }
  }
}

}  // namespace

BucketTables read_bucket_tables(std::span<const TomlTable> tables, const MountConfig& base,
                                const std::function<bool(const Key&)>& is_given) {
  BucketTables result;
  std::vector<TomlTable> buckets;
  std::ranges::copy_if(tables, std::back_inserter(buckets),
                       [](const TomlTable& table) { return table.name == kBucketTable; });
  if (buckets.size() > kBucketTablesMax) {
    result.problems.push_back({.position = buckets.at(kBucketTablesMax).position,
                               .what = fmt::format("[[{}]]", kBucketTable),
                               .detail = fmt::format("found {} tables, expected at most {}",
                                                     buckets.size(), kBucketTablesMax)});
    return result;
  }
  for (const TomlTable& table : buckets) {
    TableReader(table, base, is_given, result).read(base);
  }
  check_directories_differ(buckets, result);
  return result;
}

}  // namespace s3rdmafs::config
