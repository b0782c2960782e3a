// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "cache/read_cache.h"

namespace s3rdmafs::cache {

/// A run of an object's bytes that has a file of its own: the whole object, or a part of a larger
/// one. Plain value.
struct ObjectPart {
  ObjectVersion version;
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;  ///< at least 1, and within the object

  [[nodiscard]] static ObjectPart whole_of(ObjectVersion version) {
    const std::uint64_t size_bytes = version.size_bytes;
    return {.version = std::move(version), .length_bytes = size_bytes};
  }
  [[nodiscard]] bool is_whole() const { return length_bytes == version.size_bytes; }
};

/// A text that is equal for equal parts only: no generation begins with "@".
[[nodiscard]] inline std::string index_key(const ObjectPart& part) {
  std::string text = index_key(part.version);
  if (part.is_whole()) return text;
  text += '\0';
  return text + '@' + std::to_string(part.offset_bytes) + '+' + std::to_string(part.length_bytes);
}

}  // namespace s3rdmafs::cache
