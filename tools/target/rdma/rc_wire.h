// SPDX-License-Identifier: Apache-2.0
// What the rc dialect writes into headers. Source: rc-dialects.md sections 1 and 2.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s3rdmafs::target {

/// One side's queue pair, as the 88 hex digits say it.
struct RcEndpoint {
  std::uint32_t queue_pair_number = 0;
  std::array<std::uint8_t, 16> gid{};  ///< network order
  std::uint8_t port = 1;
};

/// A client's endpoint; what stands behind a ":" is ignored. Nothing if malformed or not of a
/// reliable connection.
[[nodiscard]] std::optional<RcEndpoint> parse_rc_endpoint(std::string_view text);
/// 88 lower-case digits; memory and LID are zero.
[[nodiscard]] std::string format_rc_endpoint(const RcEndpoint& endpoint);

/// A first packet sequence number: 1 to 6 hex digits, not zero.
[[nodiscard]] std::optional<std::uint32_t> parse_rc_psn(std::string_view text);
[[nodiscard]] std::string format_rc_psn(std::uint32_t psn);

/// "rc:" session ":" address ":" size ":" rkey, the last three in hex.
struct RcToken {
  std::string session_id;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::uint32_t rkey = 0;
};
[[nodiscard]] std::optional<RcToken> parse_rc_token(std::string_view text);

}  // namespace s3rdmafs::target
