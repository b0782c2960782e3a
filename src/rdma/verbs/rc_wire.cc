// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/rdma/rc_wire.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::rc {
namespace {

constexpr std::size_t kEndpointBytes = 44;
constexpr std::uint8_t kReliableConnection = 1;
constexpr std::size_t kSessionIdDigits = 32;
constexpr std::string_view kAccepted = "200:";

// The whole of 1 to `digits_max` hex digits, either case, no prefix.
template <class T>
std::optional<T> parse_hex(std::string_view text, std::size_t digits_max) {
  T value = 0;
  if (text.empty() || text.size() > digits_max) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes what stands before the next ":" (or all) off the front of `text`.
std::string_view take_field(std::string_view& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view field = text.substr(0, colon);
  text.remove_prefix(std::min(colon + 1, text.size()));
  return field;
}

}  // namespace

// Byte 0 transport, 1-4 queue pair (little-endian), 5-20 GID, 41 port; the rest is memory and LID,
// which this dialect leaves zero.
std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const std::string_view digits = take_field(text);
  if (digits.size() != 2 * kEndpointBytes) return std::nullopt;
  std::array<std::uint8_t, kEndpointBytes> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = parse_hex<std::uint8_t>(digits.substr(2 * i, 2), 2);
    if (!byte) return std::nullopt;
    bytes[i] = *byte;
  }
  if (bytes[0] != kReliableConnection) return std::nullopt;
  Endpoint endpoint;
  for (unsigned i = 0; i < 4; ++i) {
    endpoint.queue_pair_number |= std::uint32_t{bytes[1 + i]} << 8 * i;
  }
  std::copy_n(bytes.begin() + 5, endpoint.gid.size(), endpoint.gid.begin());
  endpoint.port = bytes[41];
  return endpoint;
}

std::string format_endpoint(const Endpoint& endpoint) {
  std::array<std::uint8_t, kEndpointBytes> bytes{kReliableConnection};
  for (unsigned i = 0; i < 4; ++i) {
    bytes[1 + i] = static_cast<std::uint8_t>(endpoint.queue_pair_number >> 8 * i);
  }
  std::copy(endpoint.gid.begin(), endpoint.gid.end(), bytes.begin() + 5);
  bytes[41] = endpoint.port;
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<Endpoint> parse_reply(std::string_view text) {
  if (!text.starts_with(kAccepted)) return std::nullopt;
  text.remove_prefix(kAccepted.size());
  if (text.size() != 2 * kEndpointBytes) return std::nullopt;
  return parse_endpoint(text);
}

std::string format_reply(const Endpoint& endpoint) {
  return std::string(kAccepted) + format_endpoint(endpoint);
}

std::optional<std::uint32_t> parse_psn(std::string_view text) {
  const auto psn = parse_hex<std::uint32_t>(text, 6);
  return psn && *psn != 0 ? psn : std::nullopt;
}

std::string format_psn(std::uint32_t psn) { return fmt::format("{:06x}", psn); }

bool is_session_id(std::string_view text) {
  return text.size() == kSessionIdDigits &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::optional<ObjectToken> parse_object_token(std::string_view text) {
  if (take_field(text) != "rc") return std::nullopt;
  const std::string_view session_id = take_field(text);
  const auto address = parse_hex<std::uint64_t>(take_field(text), 16);
  const auto size = parse_hex<std::uint64_t>(take_field(text), 16);
  const auto rkey = parse_hex<std::uint32_t>(text, 8);
  if (session_id.size() != kSessionIdDigits || !address || !size || !rkey) return std::nullopt;
  if (*size > std::numeric_limits<std::uint64_t>::max() - *address) return std::nullopt;
  return ObjectToken{.session_id = std::string(session_id),
                     .address = *address,
                     .size_bytes = *size,
                     .rkey = *rkey};
}

std::string format_object_token(const ObjectToken& token) {
  return fmt::format("rc:{}:{:016x}:{:08x}:{:08x}", token.session_id, token.address,
                     token.size_bytes, token.rkey);
}

}  // namespace s3rdmafs::rdma::rc
