// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/response_headers.h"

#include <algorithm>
#include <charconv>

#include <curl/curl.h>

#include "s3/wire/server_text.h"
#include "s3/wire/stored_headers.h"
#include "s3/wire/user_metadata.h"
#include "s3rdmafs/base/ascii.h"

namespace s3rdmafs::s3 {
namespace {

constexpr std::string_view kChecksumPrefix = "x-amz-checksum-";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_same_name(std::string_view name, std::string_view lower) {
  return std::ranges::equal(name, lower, {}, [](char c) { return ascii_lower(c); });
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

void append(std::optional<std::string>& header, std::string_view value) {
  if (header) {
    *header += ", ";
    *header += value;
  } else {
    header = std::string(value);
  }
}

std::string_view without_quotes(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    return etag.substr(1, etag.size() - 2);
  }
  return etag;
}

/// Whether a header's text is kept unchanged; the other known headers are numbers and dates.
bool is_kept(std::string_view name, const RdmaHeaderNames& names) {
  constexpr std::string_view kKept[] = {"etag",
                                        "content-range",
                                        "x-amz-checksum-crc64nvme",
                                        "x-amz-checksum-crc32c",
                                        "x-amz-checksum-type",
                                        "x-amz-version-id",
                                        "x-amz-request-id"};
  return is_same_name(name, names.reply) || is_same_name(name, names.bytes) ||
         std::ranges::any_of(kKept,
                             [&](std::string_view kept) { return is_same_name(name, kept); });
}

}  // namespace

bool is_same_etag(std::string_view one, std::string_view other) {
  return without_quotes(one) == without_quotes(other);
}

std::string quoted_etag(std::string_view etag) {
  if (etag.ends_with('"')) return std::string(etag);  // also a weak one: W/"..."
  return '"' + std::string(etag) + '"';
}

void ResponseHeaders::add_line(std::string_view line, const RdmaHeaderNames& names) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trim(line.substr(colon + 1));
  if (is_same_name(name.substr(0, kMetadataPrefix.size()), kMetadataPrefix)) {
    return add_user_metadata(name.substr(kMetadataPrefix.size()), value);
  }
  if (const std::string lower = ascii_lower(name); is_stored_header(lower)) {
    return add_stored(lower, value);
  }
  if (!is_header_value(value)) {
    if (is_kept(name, names)) unusable = name;
    return;
  }
  if (is_same_name(name, "etag")) {
    etag = value;
  } else if (is_same_name(name, "content-length")) {
    content_length = parse_number(value);
  } else if (is_same_name(name, "content-range")) {
    content_range = value;
  } else if (is_same_name(name, "last-modified")) {
    const std::time_t seconds = curl_getdate(std::string(value).c_str(), nullptr);
    if (seconds != -1) last_modified = nearest_time(seconds);
  } else if (is_same_name(name, "date")) {
    const std::time_t seconds = curl_getdate(std::string(value).c_str(), nullptr);
    if (seconds != -1) date = nearest_time(seconds);
  } else if (is_same_name(name, names.reply)) {
    append(rdma_reply, value);
  } else if (is_same_name(name, names.bytes)) {
    append(rdma_bytes_transferred, value);
  } else if (is_same_name(name, "x-amz-checksum-crc64nvme")) {
    checksum_crc64nvme = value;
  } else if (is_same_name(name, "x-amz-checksum-crc32c")) {
    checksum_crc32c = value;
  } else if (is_same_name(name, "x-amz-checksum-type")) {
    checksum_type = value;
  } else if (is_same_name(name.substr(0, kChecksumPrefix.size()), kChecksumPrefix)) {
    checksum_other = ascii_lower(name.substr(kChecksumPrefix.size())) + ":" + std::string(value);
  } else if (is_same_name(name, "x-amz-version-id")) {
    version_id = value;
  } else if (is_same_name(name, "x-amz-request-id")) {
    request_id = value;
  } else if (is_same_name(name, "retry-after")) {
    // An hour at most: more is past every deadline, and would overflow a sum.
    constexpr std::uint64_t kSecondsMax = 3600;
    const std::optional<std::uint64_t> seconds = parse_number(value);
    if (seconds) retry_after = std::chrono::seconds(std::min(*seconds, kSecondsMax));
  }
}

void ResponseHeaders::add_user_metadata(std::string_view name, std::string_view value) {
  if (name.empty() || has_control_character(value)) return;
  std::string lower = ascii_lower(name);
  std::size_t bytes = lower.size() + value.size();
  for (const auto& [known_name, known_value] : user_metadata) {
    if (known_name == lower) return;
    bytes += known_name.size() + known_value.size();
  }
  if (bytes <= kMetadataBytesMax) user_metadata.emplace_back(std::move(lower), value);
}

void ResponseHeaders::add_stored(std::string_view name, std::string_view value) {
  if (has_control_character(value)) return;
  std::size_t bytes = name.size() + value.size();
  for (const auto& [known_name, known_value] : stored) {
    bytes += known_name.size() + known_value.size();
  }
  if (bytes <= kMetadataBytesMax) take_stored_header(stored, name, value);
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) {
    return std::nullopt;
  }
  const auto first = parse_number(text.substr(0, dash));
  const auto last = parse_number(text.substr(dash + 1, slash - dash - 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return ContentRange{
      .first = *first, .last = *last, .total = parse_number(text.substr(slash + 1))};
}

}  // namespace s3rdmafs::s3
