// SPDX-License-Identifier: Apache-2.0
// Which files a program opens next, guessed from the order of a listing.
//
// Large files. A loader takes the shards of a set in order, by names that it has from an index: no
// listing tells of the next. A listing costs one request, and the file some milliseconds of the
// network at least, so the first open of a large file asks for one.
//
// Cost. An open of a file in a directory that was listed: one lock, a hash lookup and a binary
// search. A listed file takes about 150 bytes.
#include "vfs/directories/directory_order.h"

#include <algorithm>

#include "vfs/directories/pages/sort_added.h"
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {

void DirectoryOrder::on_listed(const std::string& prefix, std::size_t position,
                               std::span<const ListedName> names) {
  const MutexLock lock(mutex_);
  Directory& directory = directories_[prefix];
  if (position == 0) {
    files_ -= directory.files.size();
    directory = {};
  } else if (position != directory.listed) {
    return;  // another reader's listing, or one that was forgotten
  }
  directory.listed += names.size();
  directory.last_use = ++uses_;
  const std::size_t sorted = directory.files.size();
  for (const ListedName& listed : names) {
    if (listed.node.is_directory || directory.files.size() == files_max_) continue;
    directory.files.push_back(listed.node.object);
    ++files_;
  }
  sort_added(directory.files, sorted, &s3::ObjectInfo::key);
  catch_up(prefix, directory);
  make_room(directory);
}

void DirectoryOrder::catch_up(const std::string& prefix, Directory& directory) {
  const auto opened = unlisted_.find(prefix);
  if (opened == unlisted_.end()) return;
  const auto place =
      std::ranges::lower_bound(directory.files, opened->second, {}, &s3::ObjectInfo::key);
  if (place == directory.files.end() || place->key != opened->second) return;
  directory.run = directory.steps = 1;
  directory.next = static_cast<std::size_t>(place - directory.files.begin()) + 1;
  directory.fetched_to = directory.next;
  unlisted_.erase(opened);
}

bool DirectoryOrder::wants_listing(const s3::ObjectInfo& object) {
  if (!is_large(object)) return false;
  const std::string prefix = prefix_of(object.key);
  const MutexLock lock(mutex_);
  if (directories_.contains(prefix)) return false;
  if (unlisted_.size() >= kUnlistedMax) unlisted_.clear();
  return unlisted_.insert_or_assign(prefix, object.key).second;
}

void DirectoryOrder::make_room(const Directory& but) {
  while (files_ > files_max_ && directories_.size() > 1) {
    auto oldest = directories_.end();
    for (auto at = directories_.begin(); at != directories_.end(); ++at) {
      if (&at->second == &but) continue;
      if (oldest == directories_.end() || at->second.last_use < oldest->second.last_use) {
        oldest = at;
      }
    }
    files_ -= oldest->second.files.size();
    directories_.erase(oldest);
  }
}

/// The directory of a listed file, and its place there; null: it was not listed.
DirectoryOrder::Directory* DirectoryOrder::find(const std::string& key, std::size_t& index) {
  const auto found = directories_.find(prefix_of(key));
  if (found == directories_.end()) return nullptr;
  Directory& directory = found->second;
  const auto place = std::ranges::lower_bound(directory.files, key, {}, &s3::ObjectInfo::key);
  if (place == directory.files.end() || place->key != key) return nullptr;
  index = static_cast<std::size_t>(place - directory.files.begin());
  directory.last_use = ++uses_;
  return &directory;
}

// One lookup alone may be all that a program wants; from the second in order on the guesses double.
std::vector<s3::ObjectInfo> DirectoryOrder::on_stat(const std::string& key) {
  const MutexLock lock(mutex_);
  std::size_t index = 0;
  Directory* const directory = find(key, index);
  if (directory == nullptr) return {};
  const bool is_in_order =
      index + kSlack >= directory->next_stat && index <= directory->next_stat + kSlack;
  directory->stat_run = is_in_order ? directory->stat_run + 1 : 1;
  const std::size_t first = std::max(index + 1, is_in_order ? directory->next_stat : 0);
  const std::size_t window =
      directory->stat_run < 2
          ? 0
          : std::min(kStatsMax, kSlack << std::min<std::size_t>(directory->stat_run - 2, 4));
  const std::size_t end = std::min(first + window, directory->files.size());
  directory->next_stat = std::max(first, end);
  if (first >= end) return {};
  return {directory->files.begin() + static_cast<std::ptrdiff_t>(first),
          directory->files.begin() + static_cast<std::ptrdiff_t>(end)};
}

bool DirectoryOrder::has_room_for_large(const Directory& directory) {
  if (directory.fetched_to - directory.next >= kLargeFilesMax) return false;
  std::uint64_t bytes = 0;
  for (std::size_t i = directory.next; i < directory.fetched_to; ++i) {
    bytes += directory.files[i].size_bytes;
  }
  return bytes < kLargeBytesMax;
}

std::vector<s3::ObjectInfo> DirectoryOrder::on_open(const s3::ObjectInfo& object) {
  std::vector<s3::ObjectInfo> wanted;
  const MutexLock lock(mutex_);
  std::size_t index = 0;
  Directory* const found = find(object.key, index);
  if (found == nullptr) return wanted;
  Directory& directory = *found;
  const std::vector<s3::ObjectInfo>& files = directory.files;

  const bool is_in_order = index + kSlack >= directory.next && index <= directory.next + kSlack;
  const bool is_forward = index >= directory.next;
  directory.run = is_in_order ? directory.run + 1 : 1;
  directory.steps = is_in_order ? directory.steps + (is_forward ? 1 : 0) : 1;
  directory.next = is_in_order ? std::max(directory.next, index + 1) : index + 1;
  directory.fetched_to =
      is_in_order ? std::max(directory.fetched_to, directory.next) : directory.next;
  const bool has_order =
      is_large(object) ? directory.steps >= kLargeStepsMin : directory.run >= kRunMin;
  if (!has_order) return wanted;

  const std::size_t window = std::min(kFilesMax, 2 * directory.run);
  if (directory.fetched_to - directory.next >= window / 2) return wanted;
  const std::size_t end = std::min(directory.next + window, files.size());
  std::uint64_t bytes = 0;
  while (directory.fetched_to < end && bytes < kBytesMax) {
    const s3::ObjectInfo& file = files[directory.fetched_to];
    if (is_large(file) && !has_room_for_large(directory)) break;
    ++directory.fetched_to;
    if (file.size_bytes == 0) continue;
    if (!is_large(file)) bytes += file.size_bytes;
    wanted.push_back(file);
  }
  return wanted;
}

}  // namespace s3rdmafs::vfs
