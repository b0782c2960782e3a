// SPDX-License-Identifier: Apache-2.0
// The messages between a program that reads past FUSE and the daemon of its mount, over a UNIX
// socket of type SOCK_SEQPACKET. Both are on one machine: integers are in its byte order. Each
// request is one Request, each answer one Reply; an answer to kOpen or kGet comes before the next
// request on that connection. Neither side believes a number of the other.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace s3rdmafs::attach {

inline constexpr std::uint32_t kWireVersion = 1;

/// The extended attribute of every file of a mount whose value is the path of the mount's socket.
inline constexpr const char* kSocketAttribute = "s3.attach_socket";

enum class Kind : std::uint32_t {
  /// Carries a descriptor of the file, opened for reading through the mount (SCM_RIGHTS): the proof
  /// that the program may read it. The answer has a ticket for the other requests, on any
  /// connection of the same process.
  kOpen = 1,
  /// Asks for the part that has `offset_bytes`. The answer carries a descriptor for reading alone.
  /// `length_bytes` from there on are probably wanted soon; 0: this part alone.
  kGet = 2,
  /// [offset_bytes, offset_bytes + length_bytes) is probably wanted soon. Has no answer.
  kPrefetch = 3,
  /// The program has neither a descriptor nor a mapping of the part that begins at `offset_bytes`
  /// any more. Has no answer.
  kRelease = 4,
  /// The ticket is used no more; parts that were not released stay. Has no answer.
  kClose = 5,
};

enum class Status : std::uint32_t {
  kOk = 0,
  kBadRequest = 1,  ///< no such kind or version, an offset past the end, a descriptor too few
  kNotOfMount =
      2,          ///< the descriptor is not of a regular file of the mount, or not open for reading
  kWritable = 3,  ///< the bucket may be written through this mount
  kNoTicket = 4,  ///< unknown, or of another process
  kTooMany = 5,   ///< the process has all the parts it may have: release some
  kNoRoom = 6,    ///< the cache has no memory for the part now
  kFailed = 7,    ///< the server did not give it; a read through the mount tells the reason
};

/// Cannot be guessed: 128 random bits.
using Ticket = std::array<std::uint64_t, 2>;

struct Request {
  std::uint32_t version = kWireVersion;
  Kind kind{};
  Ticket ticket{};
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;
};

struct Reply {
  std::uint32_t version = kWireVersion;
  Status status{};
  Ticket ticket{};                 ///< kOpen
  std::uint64_t object_bytes = 0;  ///< kOpen: the size of the file
  std::uint64_t part_bytes = 0;    ///< kOpen: parts begin at its multiples; the last may be shorter
  std::uint64_t parts_max = 0;     ///< kOpen: how many parts the process may have, of all files
  std::uint64_t offset_bytes = 0;  ///< kGet: where in the file the descriptor's first byte is
  std::uint64_t length_bytes = 0;  ///< kGet: the length of the part
};

static_assert(std::is_trivially_copyable_v<Request> && sizeof(Request) == 40);
static_assert(std::is_trivially_copyable_v<Reply> && sizeof(Reply) == 64);

}  // namespace s3rdmafs::attach
