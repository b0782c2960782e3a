// SPDX-License-Identifier: Apache-2.0
#include "target/s3/range.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

// A number too large for 64 bits is a number all the same, past the end of every object.
std::optional<std::uint64_t> parse_position(std::string_view text) {
  std::uint64_t position = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::numeric_limits<std::uint64_t>::max();
  return error == std::errc() ? std::optional(position) : std::nullopt;
}

std::unexpected<S3Error> outside(std::uint64_t size_bytes) {
  auto error = refuse(kInvalidRange);
  error.error().headers = {{"Content-Range", fmt::format("bytes */{}", size_bytes)}};
  return error;
}

}  // namespace

std::string ByteRange::content_range(std::uint64_t size_bytes) const {
  return fmt::format("bytes {}-{}/{}", offset_bytes, offset_bytes + length_bytes - 1, size_bytes);
}

S3Result<std::optional<ByteRange>> parse_range(std::string_view header, std::uint64_t size_bytes) {
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit)) return std::nullopt;
  header.remove_prefix(kUnit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto last = parse_position(header.substr(dash + 1));
  if (dash == 0) {
    if (!last) return std::nullopt;
    if (*last == 0 || size_bytes == 0) return outside(size_bytes);
    const std::uint64_t length = std::min(*last, size_bytes);
    return ByteRange{.offset_bytes = size_bytes - length, .length_bytes = length};
  }
  const auto first = parse_position(header.substr(0, dash));
  const bool is_open = dash + 1 == header.size();
  if (!first || (!last && !is_open) || (last && *last < *first)) return std::nullopt;
  if (*first >= size_bytes) return outside(size_bytes);
  const std::uint64_t last_byte = std::min(last.value_or(size_bytes - 1), size_bytes - 1);
  return ByteRange{.offset_bytes = *first, .length_bytes = last_byte - *first + 1};
}

}  // namespace s3rdmafs::target
