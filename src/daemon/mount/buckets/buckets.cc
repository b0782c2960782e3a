// SPDX-License-Identifier: Apache-2.0
#include "daemon/mount/buckets/buckets.h"

#include <algorithm>
#include <future>

#include "daemon/mount/store_options.h"
#include "s3/check_bucket.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

/// Its number among the endpoints of the fabric, for each URL.
std::vector<std::size_t> numbers_in(const std::vector<std::string>& all,
                                    const std::vector<std::string>& urls) {
  std::vector<std::size_t> numbers;
  numbers.reserve(urls.size());
  for (const std::string& url : urls) {
    numbers.push_back(static_cast<std::size_t>(std::ranges::find(all, url) - all.begin()));
  }
  return numbers;
}

/// Connections and threads are those of the mount, which its buckets share.
config::MountConfig::Http share_of(const config::MountConfig::Http& http, std::size_t buckets) {
  if (buckets == 1) return http;
  config::MountConfig::Http share = http;
  const auto count = static_cast<unsigned>(buckets);
  share.event_threads = std::max(1U, http.event_threads / count);
  share.connections_max = std::max({share.event_threads, 2U, http.connections_max / count});
  return share;
}

Result<std::unique_ptr<manifest::ManifestStore>> open_manifest(Buckets::One& one,
                                                               const Clock& clock,
                                                               metrics::Registry& metrics) {
  const config::MountConfig& config = one.config;
  if (config.metadata.manifest.empty()) return nullptr;
  auto opened = manifest::Manifest::open(config.metadata.manifest);
  if (!opened) return std::unexpected(opened.error());
  const auto covers = (*opened)->check_covers({.endpoints = config.endpoint.all_urls(),
                                               .bucket = config.bucket.name,
                                               .prefix = config.bucket.prefix});
  if (!covers) return std::unexpected(covers.error());
  log::info("names come from manifest {}: {} objects", config.metadata.manifest,
            (*opened)->header().objects);
  return std::make_unique<manifest::ManifestStore>(std::move(*opened), *one.store, clock, metrics);
}

/// The error, which says of which bucket where there are several.
std::unexpected<Error> fail_of(const Buckets::One& one, Error error) {
  if (one.directory.empty()) return std::unexpected<Error>(std::move(error));
  return fail_with_context("[[bucket]] " + one.directory, std::move(error));
}

}  // namespace

std::vector<std::pair<std::string, config::MountConfig>> settings_of_buckets(
    const config::MountConfig& config) {
  if (config.directories.empty()) return {{"", config}};
  std::vector<std::pair<std::string, config::MountConfig>> all;
  all.reserve(config.directories.size());
  for (const auto& directory : config.directories) {
    all.emplace_back(directory.name + "/", *directory.config);
  }
  return all;
}

Result<std::vector<std::string>> choose_keys(const config::Environment& environment,
                                             MountPlan& plan) {
  std::vector<std::string> warnings;
  for (const auto& [directory, settings] : settings_of_buckets(plan.config)) {
    auto found = config::choose_credentials(settings, environment);
    if (!found) return std::unexpected(std::move(found.error()));
    if (!found->warning.empty()) warnings.push_back(found->warning);
    if (directory.empty()) {
      plan.credentials = std::move(*found);
    } else {
      plan.directory_credentials.push_back(std::move(*found));
    }
  }
  return warnings;
}

config::MountConfig without_rdma(config::MountConfig config) {
  config.rdma.mode = config::RdmaMode::kOff;
  for (auto& directory : config.directories) {
    config::MountConfig changed = *directory.config;
    changed.rdma.mode = config::RdmaMode::kOff;
    directory.config = std::make_shared<const config::MountConfig>(std::move(changed));
  }
  return config;
}

config::MountConfig with_all_endpoints(const config::MountConfig& config) {
  if (config.directories.empty()) return config;
  config::MountConfig all = config;
  all.endpoint.url.clear();
  all.endpoint.urls.clear();
  for (const auto& directory : config.directories) {
    for (const std::string& url : directory.config->endpoint.all_urls()) {
      const auto found = std::ranges::find(all.endpoint.urls, url);
      if (found == all.endpoint.urls.end()) all.endpoint.urls.push_back(url);
    }
  }
  return all;
}

Result<std::unique_ptr<Buckets>> Buckets::open(const MountPlan& plan, rdma::Fabric& fabric,
                                               const Clock& clock, metrics::Registry& metrics) {
  std::unique_ptr<Buckets> buckets(new Buckets);
  const std::vector<std::string> all_urls = with_all_endpoints(plan.config).endpoint.all_urls();
  auto settings = settings_of_buckets(plan.config);
  const std::size_t count = settings.size();
  for (auto& [directory, config] : settings) {
    const std::size_t number = buckets->all_.size();
    One& one = buckets->all_.emplace_back();
    one.directory = directory;
    one.config = std::move(config);
    const config::CredentialChoice& choice =
        directory.empty() ? plan.credentials : plan.directory_credentials.at(number);
    if (!directory.empty()) {
      const std::string name = directory.substr(0, directory.size() - 1);
      one.numbers =
          std::make_unique<metrics::Registry>(metrics, metrics::label_text("bucket", name));
    }
    metrics::Registry& numbers = one.numbers ? *one.numbers : metrics;
    auto keys = open_keys(choice, one.config, clock, numbers);
    if (!keys) return fail_of(one, std::move(keys.error()));
    one.credentials = std::move(*keys);
    one.config.http = share_of(one.config.http, count);
    s3::HttpObjectStore::Options options = store_options(one.config);
    options.rdma.fabric = fabric.name();
    options.endpoint.fabric_numbers = numbers_in(all_urls, options.endpoint.urls);
    one.store = std::make_unique<s3::HttpObjectStore>(options, *one.credentials, clock, numbers);
    auto names = open_manifest(one, clock, numbers);
    if (!names) return fail_of(one, std::move(names.error()));
    one.names = std::move(*names);
  }
  if (!plan.config.directories.empty()) buckets->join();
  return buckets;
}

void Buckets::join() {
  std::vector<s3::JoinedBucket> shown;
  std::vector<s3::JoinedBucket> stored;
  std::vector<std::string> directories;
  for (const One& one : all_) {
    shown.push_back({.directory = one.directory,
                     .prefix = one.config.bucket.prefix,
                     .store = &one.shown(),
                     .writer = one.store.get()});
    stored.push_back(shown.back());
    stored.back().store = one.store.get();
    directories.push_back(one.directory);
  }
  joined_ = std::make_unique<s3::JoinedStore>(std::move(shown));
  joined_stored_ = std::make_unique<s3::JoinedStore>(std::move(stored));
  root_ = std::make_unique<s3::DirectoryStore>(std::move(directories));
}

bool Buckets::any_writable() const { return std::ranges::any_of(all_, &One::is_writable); }

bool Buckets::any_staged() const { return std::ranges::any_of(all_, &One::is_staged); }

s3::ObjectStore& Buckets::shown() {
  if (joined_) return *joined_;
  return all_.front().shown();
}

s3::ObjectWriter& Buckets::writer() {
  if (joined_) return *joined_;
  return *all_.front().store;
}

s3::ObjectStore& Buckets::stored() {
  if (joined_stored_) return *joined_stored_;
  return *all_.front().store;
}

std::string Buckets::prefix_of(const One& one) {
  return one.directory.empty() ? one.config.bucket.prefix : one.directory;
}

Result<void> Buckets::check_answers(const Clock& clock) {
  std::vector<std::pair<const One*, std::future<Result<void>>>> answers;
  for (const One& one : all_) {
    // With a manifest the server is not asked for names: the first read is the first request.
    if (one.names) continue;
    auto promise = std::make_shared<std::promise<Result<void>>>();
    answers.emplace_back(&one, promise->get_future());
    s3::check_bucket(*one.store, one.config.bucket.prefix, clock.now() + one.config.retry.deadline,
                     [promise](Result<void> answer) { promise->set_value(std::move(answer)); });
  }
  Result<void> first;
  for (auto& [one, answer] : answers) {
    Result<void> result = answer.get();  // of each: the store is not destroyed before
    if (!result && first) first = fail_of(*one, std::move(result.error()));
  }
  return first;
}

void Buckets::set_upload_log(s3::UploadLog& log) {
  if (!joined_) return all_.front().store->set_upload_log(log);
  for (One& one : all_) {
    one.upload_log = std::make_unique<s3::JoinedUploadLog>(
        s3::JoinedBucket{.directory = one.directory, .prefix = one.config.bucket.prefix}, log);
    one.store->set_upload_log(*one.upload_log);
  }
}

// Several endpoints are one store, whatever order the mount file lists them in.
std::string Buckets::identity() const {
  std::string text;
  for (const One& one : all_) {
    const std::string store = std::ranges::min(one.config.endpoint.all_urls());
    text += (text.empty() ? "" : "\n") + (one.directory.empty() ? "" : one.directory + "=") +
            store + "/" + one.config.bucket.name;
    if (!one.directory.empty()) text += "/" + one.config.bucket.prefix;
  }
  return text;
}

}  // namespace s3rdmafs::daemon
