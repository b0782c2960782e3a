// SPDX-License-Identifier: Apache-2.0
#include "vfs/directories/directories.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace s3rdmafs::vfs {
namespace {

// Of the directories that are read in order; 20 MB.
constexpr std::size_t kOrderedFilesMax = 131'072;
// Of the parents whose directories are listed in order; about 6 MB.
constexpr std::size_t kOrderedDirectoriesMax = 65'536;
// As long as the answer to a guess is worth waiting for.
constexpr std::chrono::milliseconds kAheadTimeMax{10'000};

}  // namespace

Directories::Directories(s3::ObjectStore& store, const Clock& clock,
                         std::shared_ptr<NameCache> names, metrics::Registry& metrics,
                         Options options)
    : store_(store),
      clock_(clock),
      options_(std::move(options)),
      names_(std::move(names)),
      order_(std::make_shared<DirectoryOrder>(kOrderedFilesMax)),
      siblings_(std::make_shared<SiblingOrder>(kOrderedDirectoriesMax)),
      budget_(std::make_shared<SnapshotBudget>(
          options_.listing_bytes_max,
          metrics.gauge("vfs_listings_bytes", "Memory that listings of open directories take."))),
      hidden_keys_(metrics.counter("vfs_hidden_keys_total",
                                   "Names in listings that cannot be shown as paths.")),
      listed_ahead_(metrics.counter("vfs_listings_ahead_total",
                                    "Directories listed because their siblings were.")),
      preload_(names_->newest_kept(),
               [this](const std::string& prefix) {
                 return std::make_shared<ListingPages>(store_, clock_, servers_, prefix);
               }),
      snapshots_(options_.ttl) {}

DirectorySnapshot::Context Directories::snapshot_context() const {
  return {.store = store_,
          .clock = clock_,
          .hidden_keys = hidden_keys_,
          .names = names_,
          .order = order_,
          .siblings = siblings_,
          .budget = budget_,
          .servers = servers_};
}

std::shared_ptr<DirectorySnapshot> Directories::open(const std::string& prefix) {
  auto snapshot = snapshots_.get(snapshot_context(), prefix, options_.root_prefix);
  ahead_.drop(prefix);  // the handle keeps it from now on
  if (options_.ttl == std::chrono::milliseconds(0)) return snapshot;  // none is shared
  for (const std::string& next : siblings_->on_open(prefix)) list_ahead(next);
  return snapshot;
}

void Directories::list_ahead(const std::string& prefix) {
  // The other half is for directories that are open.
  if (!budget_->has_room_for_guesses()) return;
  auto snapshot = snapshots_.get(snapshot_context(), prefix, options_.root_prefix);
  // One that has begun belongs to the handles that read it.
  // A read that comes to wait for it has a deadline of its own, which is not earlier.
  const auto time = std::min(kAheadTimeMax, options_.call_time);
  if (!snapshot->begin(clock_.now() + time)) return;
  ahead_.keep(std::move(snapshot));
  listed_ahead_.add();
}

void Directories::forget(const std::string& prefix) {
  snapshots_.forget(prefix);
  ahead_.drop(prefix);
}

std::shared_ptr<DirectorySnapshot> Directories::reopen(const std::string& prefix) {
  return snapshots_.renew(snapshot_context(), prefix, options_.root_prefix);
}

void Directories::on_lookup(const std::string& key, bool was_asked, Deadline deadline) {
  lookups_.on_lookup(key);
  if (options_.ttl == std::chrono::milliseconds(0)) return;  // no name is kept
  if (!was_asked) return preload_.on_known();
  if (auto step = preload_.on_asked(key)) get_page(std::move(*step), deadline - clock_.now());
}

std::vector<s3::ObjectInfo> Directories::on_open(const s3::ObjectInfo& object, Deadline deadline) {
  auto next = order_->on_open(object);  // first: a listing counts the open before it
  const bool keeps_names = options_.ttl != std::chrono::milliseconds(0);
  if (keeps_names && order_->wants_listing(object)) {
    if (auto step = preload_.on_large(object.key)) {
      get_page(std::move(*step), deadline - clock_.now());
    }
  }
  return next;
}

// Calls itself for each page that has come before it is asked for: those that were paid for
// together, so kSideBySide times at most. The names of a page are gone by then.
void Directories::get_page(DirectoryPreload::Step step, std::chrono::steady_clock::duration time) {
  ListingPages& pages = *step.pages;
  const std::string token = step.token;
  const std::size_t ahead_max = step.paid_after;
  auto done = [self = shared_from_this(), step = std::move(step),
               time](Result<ListingPages::Page> page) {
    if (!page) return self->preload_.on_failure(step);
    if (auto next = self->on_page(step, *std::move(page))) self->get_page(*std::move(next), time);
  };
  pages.get(token, ahead_max, clock_.now() + time, std::move(done));
}

std::optional<DirectoryPreload::Step> Directories::on_page(const DirectoryPreload::Step& step,
                                                           ListingPages::Page page) {
  auto listed = preload_.on_page(step, std::move(page.page), page.seen_at);
  if (!listed.names.empty()) {
    names_->insert(listed.names);
    order_->on_listed(step.prefix, listed.position, listed.names);
  }
  return std::move(listed.next);
}

}  // namespace s3rdmafs::vfs
