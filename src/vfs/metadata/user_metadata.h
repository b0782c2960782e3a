// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "s3/object_store.h"

namespace s3rdmafs::vfs {

/// Gives an entry this value; keeps the place of one that is there.
inline void set_entry(s3::UserMetadata& metadata, std::string_view name, std::string value) {
  const auto found = std::ranges::find(metadata, name, &s3::UserMetadata::value_type::first);
  if (found != metadata.end()) {
    found->second = std::move(value);
  } else {
    metadata.emplace_back(name, std::move(value));
  }
}

}  // namespace s3rdmafs::vfs
