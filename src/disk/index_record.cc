// SPDX-License-Identifier: Apache-2.0
#include "disk/index_record.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::disk {
namespace {

static_assert(std::endian::native == std::endian::little,
              "records are written as they lie in memory");

// The last character is the format's version: records of another one are not read.
constexpr std::uint64_t kMagic = 0x31444B5344335253;  // "SR3DSKD1"

struct Head {
  std::uint64_t magic;
  std::uint64_t checksum;  // of all that follows, the units' checksums included
  ObjectId object;
  std::uint32_t chunk_number;
  std::uint32_t begin;
  std::uint32_t end;
  std::uint32_t reserved;
  std::uint64_t position;
};
static_assert(sizeof(Head) == 56 && std::has_unique_object_representations_v<Head>);

constexpr std::size_t kCheckedFrom = offsetof(Head, object);

}  // namespace

std::size_t encoded_bytes(std::uint64_t range_length_bytes) noexcept {
  return sizeof(Head) + unit_count(range_length_bytes) * sizeof(std::uint64_t);
}

std::vector<std::byte> encode(const IndexRecord& record) {
  Head head{.magic = kMagic,
            .checksum = 0,
            .object = record.chunk.object,
            .chunk_number = record.chunk.number,
            .begin = record.range.begin,
            .end = record.range.end,
            .reserved = 0,
            .position = record.position_bytes};
  std::vector<std::byte> bytes(encoded_bytes(record.range.length()));
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::memcpy(bytes.data() + sizeof(head), record.checksums.data(), bytes.size() - sizeof(head));
  head.checksum = crc64nvme(0, std::span(bytes).subspan(kCheckedFrom));
  std::memcpy(bytes.data(), &head, sizeof(head));
  return bytes;
}

std::optional<IndexRecord> decode_next(std::span<const std::byte>& bytes) {
  Head head{};
  if (bytes.size() < sizeof(head)) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof(head));
  if (head.magic != kMagic || head.begin >= head.end || head.end > kChunkBytes ||
      head.begin % kUnitBytes != 0 || head.position % kDiskBlockBytes != 0) {
    return std::nullopt;
  }
  const std::size_t size = encoded_bytes(head.end - head.begin);
  if (bytes.size() < size) return std::nullopt;
  if (crc64nvme(0, bytes.first(size).subspan(kCheckedFrom)) != head.checksum) return std::nullopt;
  IndexRecord record{.chunk = {.object = head.object, .number = head.chunk_number},
                     .range = {.begin = head.begin, .end = head.end},
                     .position_bytes = head.position,
                     .checksums = std::vector<std::uint64_t>(unit_count(head.end - head.begin))};
  std::memcpy(record.checksums.data(), bytes.data() + sizeof(head), size - sizeof(head));
  bytes = bytes.subspan(size);
  return record;
}

std::vector<std::uint64_t> unit_checksums(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> checksums;
  checksums.reserve(unit_count(bytes.size()));
  while (!bytes.empty()) {
    const auto unit = bytes.first(std::min<std::size_t>(bytes.size(), kUnitBytes));
    checksums.push_back(crc64nvme(0, unit));
    bytes = bytes.subspan(unit.size());
  }
  return checksums;
}

}  // namespace s3rdmafs::disk
