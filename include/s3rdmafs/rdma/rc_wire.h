// SPDX-License-Identifier: Apache-2.0
// The values of the rc dialect's headers, in both directions. See s3rdmafs-protocol(7), RC
// SESSIONS.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s3rdmafs::rdma::rc {

inline constexpr std::string_view kConnectPath = "/.s3rdma-rc/connect";
inline constexpr std::string_view kDisconnectPath = "/.s3rdma-rc/disconnect";
inline constexpr std::string_view kTokenHeader = "x-amz-rdma-token";
inline constexpr std::string_view kPsnHeader = "x-amz-rdma-psn";
inline constexpr std::string_view kSessionHeader = "x-amz-rdma-session";
inline constexpr std::string_view kReplyHeader = "x-amz-rdma-reply";

/// Packet sequence numbers are 1..kPsnMax here: 0 is refused, and so is 0xffffff by some.
inline constexpr std::uint32_t kPsnMax = 0xfffffe;

/// One side's queue pair, as 88 hex digits describe it.
struct Endpoint {
  std::uint32_t queue_pair_number = 0;
  std::array<std::uint8_t, 16> gid{};  ///< network order
  std::uint8_t port = 1;

  bool operator==(const Endpoint&) const = default;
};

/// The rest after a ":" is ignored. Nothing if malformed or not of a reliable connection.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);
/// 88 lower-case digits; memory and LID are zero.
[[nodiscard]] std::string format_endpoint(const Endpoint& endpoint);

/// The server's answer, "200:" and its endpoint.
[[nodiscard]] std::optional<Endpoint> parse_reply(std::string_view text);
[[nodiscard]] std::string format_reply(const Endpoint& endpoint);

/// A first packet sequence number: 1 to 6 hex digits, not zero.
[[nodiscard]] std::optional<std::uint32_t> parse_psn(std::string_view text);
[[nodiscard]] std::string format_psn(std::uint32_t psn);

/// A session's id: 32 hex digits, lower case as servers send it.
[[nodiscard]] bool is_session_id(std::string_view text);

/// The token of an object request: "rc:" session ":" address ":" size ":" rkey.
struct ObjectToken {
  std::string session_id;
  std::uint64_t address = 0;  ///< of the window's first byte
  std::uint64_t size_bytes = 0;
  std::uint32_t rkey = 0;

  bool operator==(const ObjectToken&) const = default;
};
/// As lenient with widths as the dialect's first server, as strict with everything else.
[[nodiscard]] std::optional<ObjectToken> parse_object_token(std::string_view text);
/// 70 characters, zero padded (more from 4 GiB on).
[[nodiscard]] std::string format_object_token(const ObjectToken& token);

}  // namespace s3rdmafs::rdma::rc
