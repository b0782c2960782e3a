// SPDX-License-Identifier: Apache-2.0
// The shm fabric on the wire: S3 over RDMA between two processes of one host, without a NIC.
//
// The client connects to the server's UNIX socket (SOCK_SEQPACKET) and hands over the file
// descriptors of its cache, one message per memory region. The server maps them and becomes what a
// NIC would be: an S3 request whose x-amz-rdma-token names a window makes it copy the object's
// bytes straight into that window (GET) or out of it (PUT). Sessions, not connections of HTTP, own
// regions: when the socket closes, every region of it is gone.
//
//   client                                   server
//   kHello                              ->
//                                       <-   kWelcome (session id)
//   kRegister + fd (SCM_RIGHTS)         ->
//                                       <-   kRegistered (region key), or kRefused
//   kDeregister (region key)            ->
//                                       <-   kDeregistered: no transfer touches the region any more
//
// Every message is one Message struct, host byte order (both ends are this host). Answers come in
// the order of the requests. Tokens are text:
//
//   shm:<session id, 32 hex>:<region key, 16 hex>:<offset in region, 16 hex>:<size, 8 hex>
//
// lower-case, zero padded, 79 characters. A token opens only memory of its own session, only while
// its region is registered, only inside the region, only in the direction of its access. The
// session id is 128 random bits: without it no memory can be named.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s3rdmafs::rdma::shm {

inline constexpr std::uint32_t kWireVersion = 1;

enum class MessageType : std::uint32_t {
  kHello = 1,
  kWelcome,
  kRegister,
  kRegistered,
  kDeregister,
  kDeregistered,
  kRefused,
};

/// kRegister's access; mirrors rdma::Access.
enum class WireAccess : std::uint32_t { kRemoteWrite = 1, kRemoteRead = 2 };

/// Every message in both directions; fields a type does not use are zero.
struct Message {
  MessageType type;
  std::uint32_t version;       ///< kHello, kWelcome: kWireVersion
  WireAccess access;           ///< kRegister
  std::int32_t error;          ///< kRefused: errno
  std::uint64_t region_key;    ///< kRegistered, kDeregister, kDeregistered
  std::uint64_t offset_bytes;  ///< kRegister: where the region begins in the file; page-aligned
  std::uint64_t length_bytes;  ///< kRegister
  std::array<std::uint8_t, 16> session_id;  ///< kWelcome
};
static_assert(sizeof(Message) == 56, "the layout is the protocol");

using SessionId = std::array<std::uint8_t, 16>;

/// The fields of one token.
struct Token {
  SessionId session_id{};
  std::uint64_t region_key = 0;
  std::uint64_t offset_bytes = 0;
  std::uint32_t size_bytes = 0;

  [[nodiscard]] std::string to_string() const;
};

/// Nothing for anything but the exact form above.
[[nodiscard]] std::optional<Token> parse_token(std::string_view text);

/// Where a server that listens on TCP `port` of this host waits for shm clients, unless told
/// otherwise: an abstract UNIX socket name, written with "@" in front.
[[nodiscard]] std::string default_socket_name(std::uint16_t port);

}  // namespace s3rdmafs::rdma::shm
