// SPDX-License-Identifier: Apache-2.0
#include "manifest/header.h"

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "manifest/little_endian.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::manifest {
namespace {

constexpr std::string_view kMagic = "S3RMANIF";
constexpr std::uint32_t kVersion = 1;

constexpr std::size_t kMagicAt = 8;
constexpr std::size_t kVersionAt = 16;
constexpr std::size_t kBlockBytesAt = 20;
constexpr std::size_t kObjectsAt = 24;
constexpr std::size_t kBlocksAt = 32;
constexpr std::size_t kObjectBytesAt = 40;
constexpr std::size_t kMadeAt = 48;
constexpr std::size_t kBlocksChecksumAt = 56;
constexpr std::size_t kTextsAt = 64;  // bucket, prefix, endpoints; the last ends with an empty text

using MadeAt = std::chrono::system_clock::time_point;

class HeaderTexts {
 public:
  explicit HeaderTexts(std::span<std::byte> room) : room_(room) {}

  bool put(std::string_view text) {
    if (text.size() > 0xFFFF || room_.size() < 2 + text.size()) return false;
    store(room_, static_cast<std::uint16_t>(text.size()));
    std::memcpy(room_.data() + 2, text.data(), text.size());
    room_ = room_.subspan(2 + text.size());
    return true;
  }

 private:
  std::span<std::byte> room_;
};

// Nothing where a text does not end before the header does.
std::optional<std::string> take_header_text(std::span<const std::byte>& left) {
  if (left.size() < 2) return std::nullopt;
  const std::size_t bytes = load<std::uint16_t>(left);
  if (left.size() - 2 < bytes) return std::nullopt;
  std::string text(reinterpret_cast<const char*>(left.data()) + 2, bytes);
  left = left.subspan(2 + bytes);
  return text;
}

std::optional<Origin> take_origin(std::span<const std::byte> left) {
  auto bucket = take_header_text(left);
  auto prefix = take_header_text(left);
  if (!bucket || !prefix) return std::nullopt;
  Origin origin{.endpoints = {}, .bucket = std::move(*bucket), .prefix = std::move(*prefix)};
  for (auto endpoint = take_header_text(left); endpoint; endpoint = take_header_text(left)) {
    if (endpoint->empty()) return origin;
    origin.endpoints.push_back(std::move(*endpoint));
  }
  return std::nullopt;
}

}  // namespace

Result<void> encode_header(const Header& header, BlockBytes& into) {
  const std::span<std::byte> bytes(into);
  into.fill(std::byte{0});
  std::memcpy(into.data() + kMagicAt, kMagic.data(), kMagic.size());
  store(bytes.subspan(kVersionAt), kVersion);
  store(bytes.subspan(kBlockBytesAt), static_cast<std::uint32_t>(kBlockBytes));
  store(bytes.subspan(kObjectsAt), header.objects);
  store(bytes.subspan(kBlocksAt), header.blocks);
  store(bytes.subspan(kObjectBytesAt), header.object_bytes);
  const auto made =
      std::chrono::duration_cast<std::chrono::nanoseconds>(header.made_at.time_since_epoch());
  store(bytes.subspan(kMadeAt), static_cast<std::uint64_t>(made.count()));
  store(bytes.subspan(kBlocksChecksumAt), header.checksum);

  const Origin& origin = header.origin;
  HeaderTexts texts(bytes.subspan(kTextsAt));
  bool fits = texts.put(origin.bucket) && texts.put(origin.prefix);
  for (const std::string& endpoint : origin.endpoints) fits = fits && texts.put(endpoint);
  fits = fits && texts.put("");
  if (!fits) {
    return fail(ErrorCode::kInvalidArgument,
                "bucket, prefix and endpoints are too long for a manifest");
  }
  store(bytes, checksum_of(bytes));
  return {};
}

Result<Header> decode_header(const BlockBytes& into) {
  const std::span<const std::byte> bytes(into);
  if (std::memcmp(into.data() + kMagicAt, kMagic.data(), kMagic.size()) != 0) {
    return fail(ErrorCode::kUnsupported, "it is not a manifest");
  }
  const auto version = load<std::uint32_t>(bytes.subspan(kVersionAt));
  if (version != kVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("it has version {} of the format, and this program reads version {}",
                            version, kVersion));
  }
  if (load<std::uint64_t>(bytes) != checksum_of(bytes) ||
      load<std::uint32_t>(bytes.subspan(kBlockBytesAt)) != kBlockBytes) {
    return fail(ErrorCode::kCorrupt, "its header is damaged");
  }
  auto origin = take_origin(bytes.subspan(kTextsAt));
  if (!origin) return fail(ErrorCode::kCorrupt, "its header is damaged");
  const auto made = static_cast<std::int64_t>(load<std::uint64_t>(bytes.subspan(kMadeAt)));
  return Header{.origin = std::move(*origin),
                .objects = load<std::uint64_t>(bytes.subspan(kObjectsAt)),
                .blocks = load<std::uint64_t>(bytes.subspan(kBlocksAt)),
                .object_bytes = load<std::uint64_t>(bytes.subspan(kObjectBytesAt)),
                .made_at = MadeAt(
                    std::chrono::duration_cast<MadeAt::duration>(std::chrono::nanoseconds(made))),
                .checksum = load<std::uint64_t>(bytes.subspan(kBlocksChecksumAt))};
}

}  // namespace s3rdmafs::manifest
