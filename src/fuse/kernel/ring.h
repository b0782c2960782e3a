// SPDX-License-Identifier: Apache-2.0
// FUSE over io_uring: requests and replies pass through rings in shared memory, one for each
// processor, instead of read(2) and write(2) on /dev/fuse.
#pragma once

#include <cstdint>
#include <string>

namespace s3rdmafs::fuse {

/// Why requests cannot come over io_uring here, and what to do about it.
struct UringBlocker {
  std::string reason;  ///< empty: they can
  std::string advice;
};

/// Checks this build, the kernel and this process's rights. Changes nothing: an administrator
/// decides whether a machine has it switched on.
[[nodiscard]] UringBlocker find_uring_blocker();

/// The verdict on plain data.
/// @param parameter  the first line of enable_uring of the kernel's module fuse; empty: none
/// @param io_uring_errno  the errno of io_uring_setup(2); 0: it succeeds
[[nodiscard]] UringBlocker judge_ring(bool in_this_build, const std::string& parameter,
                                      int io_uring_errno);

/// The largest request over a ring, in bytes: each of its entries has a buffer of that size. Larger
/// requests gain nothing, since the bytes are copied twice anyway.
inline constexpr unsigned kRingRequestBytesMax = 1U << 20;

/// Requests that one processor's ring can have under way at once, as the memory of all rings
/// allows. That memory is outside the cache's budget. A read that waits for the network keeps its
/// entry.
[[nodiscard]] unsigned ring_depth(unsigned processors);
/// The same for this machine.
[[nodiscard]] unsigned ring_depth();

}  // namespace s3rdmafs::fuse
