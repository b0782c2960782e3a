// SPDX-License-Identifier: Apache-2.0
#include "config/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace s3rdmafs::config {
namespace {

// Levenshtein's distance, one row at a time.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view wrong, std::span<const std::string> known) {
  // Longer than any name: no name is near, and the distance would cost.
  if (wrong.size() > 64) return "";
  const std::string* nearest = nullptr;
  std::size_t nearest_distance = 0;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(wrong, name);
    // Two edits are one pair of swapped letters, but in "uid" they are two thirds of the name.
    const std::size_t distance_max =
        name.size() < 4 ? 1 : std::max<std::size_t>(2, name.size() / 3);
    if (distance > distance_max) continue;
    if (nearest == nullptr || distance < nearest_distance) {
      nearest = &name;
      nearest_distance = distance;
    }
  }
  return nearest == nullptr ? "" : "; did you mean " + *nearest + "?";
}

}  // namespace s3rdmafs::config
