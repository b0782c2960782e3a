// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>

#include "config/credentials/credentials.h"
#include "config/load.h"
#include "config/text_checks.h"
#include "daemon/cli/verbs.h"
#include "daemon/mount/store_options.h"
#include "manifest/inventory.h"
#include "manifest/key_listing.h"
#include "manifest/manifest.h"
#include "manifest/sorter.h"
#include "manifest/writer.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::daemon {
namespace {

using ListingSeconds = std::chrono::duration<double>;

std::string time_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  char text[64];
  if (::gmtime_r(&seconds, &parts) == nullptr) return "an unknown time";
  const std::size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

// On a terminal one line that is redrawn, elsewhere a line now and then; on standard error.
class ListingDisplay {
 public:
  void show(const manifest::ListingProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_terminal_ && now < next_line_) return;
    next_line_ = now + std::chrono::seconds(5);
    std::fprintf(stderr, is_terminal_ ? "\r%s" : "%s\n", text(progress).c_str());
    has_line_ = is_terminal_;
  }
  void end() const {
    if (has_line_) std::fputc('\n', stderr);
  }
  [[nodiscard]] std::string text(const manifest::ListingProgress& progress) const {
    const ListingSeconds passed = std::chrono::steady_clock::now() - begin_;
    return fmt::format("{} keys listed by {} requests in {:.1f} s, {:.0f} keys/s", progress.keys,
                       progress.requests, passed.count(),
                       static_cast<double>(progress.keys) / std::max(passed.count(), 0.001));
  }

 private:
  const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point next_line_ = begin_;
  bool has_line_ = false;
};

Result<void> add_listed(const config::MountConfig& config, const manifest::Origin& origin,
                        unsigned jobs, manifest::Sorter& sorter) {
  const auto found = config::choose_credentials(config, config::Environment::of_this_process());
  if (!found) return std::unexpected(found.error());
  const SystemClock clock;
  metrics::Registry metrics;
  const auto credentials = open_keys(*found, config, clock, metrics);
  if (!credentials) return std::unexpected(credentials.error());
  s3::HttpObjectStore store(store_options(config), **credentials, clock, metrics);
  ListingDisplay display;
  const auto listed = manifest::list_keys(
      store, clock,
      {.prefix = origin.prefix, .jobs = jobs, .request_timeout = config.retry.deadline},
      [&sorter](std::vector<s3::ObjectInfo> objects) -> Result<void> {
        for (s3::ObjectInfo& object : objects) {
          if (auto added = sorter.add({.object = std::move(object)}); !added) return added;
        }
        return {};
      },
      [&display](const auto& progress) { display.show(progress); });
  store.shut_down();
  display.end();
  if (!listed) return std::unexpected(listed.error());
  std::fprintf(stderr, "%s\n", display.text(*listed).c_str());
  return {};
}

Result<manifest::Origin> origin_of(const ManifestCommand& command,
                                   const config::MountConfig& config) {
  manifest::Origin origin{.endpoints = config.endpoint.all_urls(),
                          .bucket = config.bucket.name,
                          .prefix = config.bucket.prefix};
  if (!command.prefix) return origin;
  auto prefix = config::check_prefix(*command.prefix);
  if (!prefix) return fail_with_context("PREFIX", prefix.error());
  origin.prefix = std::move(*prefix);
  return origin;
}

// The output is begun first, since a listing may take long and a folder may be read-only.
Result<void> write_manifest(const ManifestCommand& command, const config::MountConfig& config) {
  const auto origin = origin_of(command, config);
  if (!origin) return std::unexpected(origin.error());
  auto writer = manifest::Writer::create(command.manifest);
  if (!writer) return std::unexpected(writer.error());
  const std::filesystem::path folder = std::filesystem::path(command.manifest).parent_path();
  manifest::Sorter sorter(folder.empty() ? "." : folder.string());
  const Result<void> added = command.inventory.empty()
                                 ? add_listed(config, *origin, command.jobs, sorter)
                                 : manifest::InventoryReader(origin->bucket, origin->prefix)
                                       .read(command.inventory, [&sorter](manifest::Entry entry) {
                                         return sorter.add(std::move(entry));
                                       });
  if (!added) return added;
  if (auto sorted = sorter.write_to(*writer); !sorted) return sorted;
  const auto finished = writer->finish(*origin, std::chrono::system_clock::now());
  if (!finished) return std::unexpected(finished.error());
  std::printf("%s: %llu objects, %llu bytes\n", printable(command.manifest).c_str(),
              static_cast<unsigned long long>(writer->objects()),
              static_cast<unsigned long long>(writer->object_bytes()));
  return {};
}

/// The settings of the bucket that the command names. Errors: kInvalidArgument.
Result<config::MountConfig> bucket_of(const ManifestCommand& command,
                                      const config::MountConfig& config) {
  if (config.directories.empty() && command.bucket.empty()) return config;
  std::string known;
  for (const auto& directory : config.directories) {
    if (directory.name == command.bucket) return *directory.config;
    known += (known.empty() ? "" : ", ") + directory.name;
  }
  if (config.directories.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "--bucket: " + command.file + " has no tables [[bucket]]; leave the option out");
  }
  return fail(ErrorCode::kInvalidArgument, "a manifest is of one bucket, and " + command.file +
                                               " has several: say --bucket with one of " + known);
}

int write_by_mount_file(const ManifestCommand& command) {
  if (auto set = set_up_log("warn", LogSink::kStandardError); !set) return report(set.error());
  const auto loaded =
      config::load_mount_config(command.file, config::Environment::of_this_process());
  if (!loaded) return report_mistakes(loaded.error());
  const auto bucket = bucket_of(command, loaded->config);
  if (!bucket) return report(bucket.error());
  const auto written = write_manifest(command, *bucket);
  return written ? kExitSuccess : report(written.error());
}

void print_header(const manifest::Header& header) {
  const manifest::Origin& origin = header.origin;
  for (const std::string& endpoint : origin.endpoints) {
    std::printf("endpoint: %s\n", printable(endpoint).c_str());
  }
  std::printf("bucket: %s\nprefix: %s\n", printable(origin.bucket).c_str(),
              printable(origin.prefix).c_str());
  std::printf(
      "objects: %llu\nbytes: %llu\nmade: %s\n", static_cast<unsigned long long>(header.objects),
      static_cast<unsigned long long>(header.object_bytes), time_text(header.made_at).c_str());
}

void print_entry(const manifest::Entry& entry) {
  const s3::ObjectInfo& object = entry.object;
  std::printf("key: %s\nsize: %llu\netag: %s\nmodified: %s\n", printable(object.key).c_str(),
              static_cast<unsigned long long>(object.size_bytes), printable(object.etag).c_str(),
              time_text(object.modified).c_str());
  if (entry.crc64nvme) {
    std::printf("crc64nvme: %016llx\n", static_cast<unsigned long long>(*entry.crc64nvme));
  }
}

int show_manifest(manifest::Manifest& manifest, const std::string& key) {
  if (key.empty()) {
    print_header(manifest.header());
    return kExitSuccess;
  }
  const auto found = manifest.find(key);
  if (!found) return report(found.error());
  if (!*found) {
    return report({ErrorCode::kNotFound, "'" + key + "' is not in manifest " + manifest.name()});
  }
  print_entry(**found);
  return kExitSuccess;
}

}  // namespace

int run_manifest(const ManifestCommand& command) {
  if (command.action == ManifestCommand::Action::kWrite) return write_by_mount_file(command);
  const auto opened = manifest::Manifest::open(command.manifest);
  if (!opened) return report(opened.error());
  if (command.action == ManifestCommand::Action::kShow) return show_manifest(**opened, command.key);
  if (const auto verified = (*opened)->verify(); !verified) return report(verified.error());
  std::printf("%s: %llu objects, nothing is damaged\n", printable(command.manifest).c_str(),
              static_cast<unsigned long long>((*opened)->header().objects));
  return kExitSuccess;
}

}  // namespace s3rdmafs::daemon
