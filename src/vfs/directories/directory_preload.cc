// SPDX-License-Identifier: Apache-2.0
// When a directory is listed because its names are looked up one by one.
//
// Why sixteen lookups for each page. It is not known beforehand whether a program wants three names
// of a directory or all of them, nor whether the directory has a thousand or a billion keys. So a
// page is fetched when lookups have cost sixteen times as much, and a wrong guess costs little. A
// directory of 20,000 files is listed after some 420 names.
//
// Lookups that come while a page is under way pay for the next ones as well: many readers ask for
// hundreds of names in that time. From the third page on eight are under way side by side and paid
// for together, so that the listing overtakes the readers. None is fetched that is not paid for: it
// would stay in memory and age until more lookups come.
//
// The end of a listing begins the next: names expire by their ttl, and are looked up again.
//
// Cost. A lookup that needed no request: a count.
#include "vfs/directories/directory_preload.h"

#include <utility>

#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {

std::optional<DirectoryPreload::Step> DirectoryPreload::on_asked(const std::string& key) {
  return pay_names(key, 1);
}

std::optional<DirectoryPreload::Step> DirectoryPreload::on_large(const std::string& key) {
  return pay_names(key, kNamesAPage);
}

std::optional<DirectoryPreload::Step> DirectoryPreload::pay_names(const std::string& key,
                                                                  std::size_t names) {
  std::string prefix = prefix_of(key);
  const MutexLock lock(mutex_);
  if (directories_.size() >= kDirectoriesMax && !directories_.contains(prefix)) {
    directories_.clear();
  }
  const auto at = directories_.try_emplace(prefix, prefix).first;
  at->second.asked += names;
  return begin_page(at);
}

std::optional<DirectoryPreload::Step> DirectoryPreload::begin_page(const ByPrefix::iterator& at) {
  auto& [prefix, directory] = *at;
  if (directory.is_given_up || directory.is_listing) return std::nullopt;
  if (directory.paid == 0 && !pay(directory)) return std::nullopt;
  --directory.paid;
  ++directory.pages;
  directory.is_listing = true;
  if (!directory.source) directory.source = make_pages_(prefix);
  return Step{.prefix = prefix,
              .token = directory.cursor.token(),
              .pages = directory.source,
              .paid_after = directory.paid};
}

bool DirectoryPreload::pay(Directory& directory) {
  const std::size_t pages = directory.pages < kPagesAlone ? 1 : ListingPages::kSideBySide;
  if (directory.asked < pages * kNamesAPage) return false;
  const std::uint64_t helped = known_.load(std::memory_order_relaxed) / kNamesAPage;
  if (pages_ + pages > kPagesOnTrust + helped) return false;
  pages_ += pages;
  directory.asked -= pages * kNamesAPage;
  directory.paid = pages;
  return true;
}

DirectoryPreload::Listed DirectoryPreload::on_page(const Step& step, s3::ListPage page,
                                                   SeenAt seen_at) {
  const MutexLock lock(mutex_);
  const auto found = directories_.find(step.prefix);
  if (found == directories_.end()) return {};
  Directory& directory = found->second;
  // Forgotten and begun again since: this page does not continue the new listing.
  if (!directory.is_listing || directory.cursor.token() != step.token ||
      directory.source != step.pages) {
    return {};
  }
  if (!directory.cursor.pass(page)) {
    directories_.erase(found);
    return {};
  }
  Listed listed{.position = directory.listed,
                .names = directory.listing.add(std::move(page), seen_at),
                .next = std::nullopt};
  directory.is_listing = false;
  directory.listed += listed.names.size();
  if (directory.cursor.is_at_end()) {
    directories_.erase(found);
  } else if (directory.listed > names_max_) {
    directory.is_given_up = true;
    directory.source.reset();
  } else {
    listed.next = begin_page(found);
  }
  return listed;
}

void DirectoryPreload::on_failure(const Step& step) {
  const MutexLock lock(mutex_);
  const auto found = directories_.find(step.prefix);
  if (found != directories_.end() && found->second.source == step.pages) directories_.erase(found);
}

}  // namespace s3rdmafs::vfs
