// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace s3rdmafs {

/// The kinds of a random run's commands: each comes up as often as its group's weight says.
template <typename Kind>
rc::Gen<Kind> kinds_by_weight(
    std::initializer_list<std::pair<std::size_t, std::vector<Kind>>> groups) {
  std::vector<Kind> all;
  for (const auto& [weight, kinds] : groups) {
    for (std::size_t i = 0; i < weight; ++i) all.insert(all.end(), kinds.begin(), kinds.end());
  }
  return rc::gen::elementOf(std::move(all));
}

}  // namespace s3rdmafs
