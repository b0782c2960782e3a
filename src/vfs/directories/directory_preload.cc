// SPDX-License-Identifier: Apache-2.0
// When a directory is listed because its names are looked up one by one.
//
// Why one page at a time, for sixteen lookups each. It is not known beforehand whether a program
// wants three names of a directory or all of them, nor whether the directory has a thousand or a
// billion keys. So the first page is fetched when the lookups have cost sixteen times as much, and
// each further page when the pages before left another sixteen names unknown. A directory of 20,000
// files is listed after 320 names at most, and a wrong guess costs little.
//
// The end of a listing begins the next: names expire by their ttl, and are looked up again.
//
// Cost. A lookup that needed no request: a count.
#include "vfs/directories/directory_preload.h"

#include <utility>

#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {

std::optional<s3::ListRequest> DirectoryPreload::on_asked(const std::string& key) {
  std::string prefix = prefix_of(key);
  const MutexLock lock(mutex_);
  if (directories_.size() >= kDirectoriesMax && !directories_.contains(prefix)) {
    directories_.clear();
  }
  Directory& directory = directories_.try_emplace(prefix, prefix).first->second;
  if (directory.is_given_up || directory.is_listing) return std::nullopt;
  if (++directory.asked < kNamesAPage) return std::nullopt;
  const std::uint64_t helped = known_.load(std::memory_order_relaxed) / kNamesAPage;
  if (pages_ >= kPagesOnTrust + helped) return std::nullopt;
  ++pages_;
  directory.asked = 0;
  directory.is_listing = true;
  return s3::ListRequest{.prefix = std::move(prefix),
                         .delimiter = "/",
                         .continuation_token = directory.cursor.token()};
}

DirectoryPreload::Listed DirectoryPreload::on_page(const s3::ListRequest& asked, s3::ListPage page,
                                                   SeenAt seen_at) {
  const MutexLock lock(mutex_);
  const auto found = directories_.find(asked.prefix);
  if (found == directories_.end()) return {};
  Directory& directory = found->second;
  // Forgotten and begun again since: this page does not continue the new listing.
  if (!directory.is_listing || directory.cursor.token() != asked.continuation_token) return {};
  if (!directory.cursor.pass(page)) {
    directories_.erase(found);
    return {};
  }
  Listed listed{.position = directory.listed,
                .names = directory.listing.add(std::move(page), seen_at)};
  directory.is_listing = false;
  directory.listed += listed.names.size();
  if (directory.cursor.is_at_end()) {
    directories_.erase(found);
  } else if (directory.listed > names_max_) {
    directory.is_given_up = true;
  }
  return listed;
}

void DirectoryPreload::on_failure(const s3::ListRequest& asked) {
  const MutexLock lock(mutex_);
  directories_.erase(asked.prefix);
}

}  // namespace s3rdmafs::vfs
