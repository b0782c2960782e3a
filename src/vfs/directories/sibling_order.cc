// SPDX-License-Identifier: Apache-2.0
// Which directories a program lists next, guessed from the order in which it lists siblings.
//
// Cost. An open of a directory: one lock, a hash lookup and a binary search. A directory that was
// listed takes the length of its prefix and 32 bytes.
#include "vfs/directories/sibling_order.h"

#include <algorithm>
#include <iterator>

#include "vfs/directories/pages/sort_added.h"
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {

void SiblingOrder::on_listed(const std::string& prefix, std::size_t position,
                             std::span<const ListedName> names) {
  const auto is_directory = [](const ListedName& listed) { return listed.node.is_directory; };
  const MutexLock lock(mutex_);
  const auto known = parents_.find(prefix);
  // A directory without directories is not worth an entry.
  if (known == parents_.end() && std::ranges::none_of(names, is_directory)) return;
  Parent& parent = known == parents_.end() ? parents_[prefix] : known->second;
  if (known == parents_.end()) {
    parent.listed = position;
  } else if (position == 0) {
    directories_ -= parent.prefixes.size();
    parent = {};
  } else if (position != parent.listed) {
    return;  // another reader's listing
  }
  parent.listed += names.size();
  parent.last_use = ++uses_;
  const std::size_t sorted = parent.prefixes.size();
  for (const ListedName& listed : names) {
    if (!is_directory(listed) || parent.prefixes.size() == directories_max_) continue;
    parent.prefixes.push_back(listed.node.object.key);
    ++directories_;
  }
  sort_added(parent.prefixes, sorted);
  make_room(parent);
}

void SiblingOrder::make_room(const Parent& but) {
  while (directories_ > directories_max_ && parents_.size() > 1) {
    auto oldest = parents_.end();
    for (auto at = parents_.begin(); at != parents_.end(); ++at) {
      if (&at->second == &but) continue;
      if (oldest == parents_.end() || at->second.last_use < oldest->second.last_use) oldest = at;
    }
    directories_ -= oldest->second.prefixes.size();
    parents_.erase(oldest);
  }
}

std::size_t SiblingOrder::window_of(const Parent& parent, std::size_t index) {
  if (parent.run < kRunMin) return index == 0 ? kAheadOfFirst : 0;
  return std::min({kAheadMax, 4 * parent.run, std::max(kAheadOfShort, parent.run / 2)});
}

std::vector<std::string> SiblingOrder::on_open(const std::string& prefix) {
  if (prefix.empty()) return {};
  const std::string above = prefix_of(std::string_view(prefix).substr(0, prefix.size() - 1));
  const MutexLock lock(mutex_);
  const auto found = parents_.find(above);
  if (found == parents_.end()) return {};
  Parent& parent = found->second;
  const auto place = std::ranges::lower_bound(parent.prefixes, prefix);
  if (place == parent.prefixes.end() || *place != prefix) return {};
  parent.last_use = ++uses_;

  const auto index = static_cast<std::size_t>(place - parent.prefixes.begin());
  const bool is_in_order = index + kSlack >= parent.next && index <= parent.next + kSlack;
  parent.run = is_in_order ? parent.run + 1 : 1;
  parent.next = is_in_order ? std::max(parent.next, index + 1) : index + 1;
  parent.ahead_to = is_in_order ? std::max(parent.ahead_to, parent.next) : parent.next;
  const std::size_t window = window_of(parent, index);
  if (window == 0) return {};

  const std::size_t begin = parent.ahead_to;
  if (begin - parent.next > window / 2) return {};
  parent.ahead_to = std::max(begin, std::min(parent.next + window, parent.prefixes.size()));
  const auto at = [&parent](std::size_t i) {
    return parent.prefixes.begin() + static_cast<std::ptrdiff_t>(i);
  };
  return {at(begin), at(parent.ahead_to)};
}

}  // namespace s3rdmafs::vfs
