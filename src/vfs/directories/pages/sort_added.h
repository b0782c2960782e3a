// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace s3rdmafs::vfs {

/// Sorts a vector of which the first `sorted` elements are in order, and the others were appended
/// by a page of a listing. A listing is nearly in order (directory_listing.cc), so this costs about
/// as many comparisons as elements were appended, however many there were before.
template <class Element, class Key = std::identity>
void sort_added(std::vector<Element>& all, std::size_t sorted, Key key = {}) {
  const auto added = all.begin() + static_cast<std::ptrdiff_t>(sorted);
  if (added == all.end()) return;
  if (!std::ranges::is_sorted(added, all.end(), {}, key)) {
    std::ranges::sort(added, all.end(), {}, key);
  }
  const auto begin =
      std::ranges::upper_bound(all.begin(), added, std::invoke(key, *added), {}, key);
  // Not a merge in place: with libstdc++ 12 clang reports a function that it uses as deprecated.
  if (begin != added) std::ranges::sort(begin, all.end(), {}, key);
}

}  // namespace s3rdmafs::vfs
