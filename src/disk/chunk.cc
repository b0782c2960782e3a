// SPDX-License-Identifier: Apache-2.0
#include "disk/chunk.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <openssl/sha.h>

namespace s3rdmafs::disk {

ObjectId object_id(std::string_view scope, std::string_view key, std::string_view etag) {
  std::string text;
  text.reserve(scope.size() + key.size() + etag.size() + 2);
  text.append(scope).append(1, '\0').append(key).append(1, '\0').append(etag);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  ObjectId id{};
  std::memcpy(id.data(), digest.data(), sizeof(id));
  return id;
}

std::vector<ChunkPart> chunk_parts(const ObjectId& object, std::uint64_t offset_bytes,
                                   std::uint64_t length_bytes) {
  std::vector<ChunkPart> parts;
  const std::uint64_t end = offset_bytes + length_bytes;
  for (std::uint64_t at = offset_bytes; at < end;) {
    const std::uint64_t number = at / kChunkBytes;
    const std::uint64_t begin = number * kChunkBytes;
    const std::uint64_t part_end = std::min(end, begin + kChunkBytes);
    parts.push_back({.chunk = {.object = object, .number = static_cast<std::uint32_t>(number)},
                     .range = {.begin = static_cast<std::uint32_t>(at - begin),
                               .end = static_cast<std::uint32_t>(part_end - begin)},
                     .offset_bytes = at - offset_bytes});
    at = part_end;
  }
  return parts;
}

}  // namespace s3rdmafs::disk
