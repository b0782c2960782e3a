// SPDX-License-Identifier: Apache-2.0
// FUSE over io_uring: requests come and go through rings in shared memory, one for each processor,
// instead of read(2) and write(2) on /dev/fuse.
#pragma once

#include <cstdint>
#include <string>

namespace s3rdmafs::fuse {

/// Why requests cannot come over rings here, and what to do about it.
struct UringBlocker {
  std::string reason;  ///< empty: nothing is in the way
  std::string advice;
};

/// Looks whether this build, the kernel and this process's rights have it. Changes nothing: to
/// switch it on for a machine is its administrator's decision.
[[nodiscard]] UringBlocker find_ring_hindrance();

/// The verdict on plain data.
/// @param parameter  the first line of enable_uring of the kernel's module fuse; empty: none
/// @param io_uring_errno  what io_uring_setup(2) fails with; 0: it does not
[[nodiscard]] UringBlocker judge_ring(bool in_this_build, const std::string& parameter,
                                      int io_uring_errno);

/// The largest request over a ring: each of its entries has a buffer of that size. Larger ones gain
/// nothing here, since the bytes are copied twice anyway.
inline constexpr unsigned kRingRequestBytesMax = 1U << 20;

/// Requests that one processor's ring can have out at once. As many as the memory of all rings
/// allows, which is outside the budget of the cache: reads that wait for the network keep theirs.
[[nodiscard]] unsigned ring_depth(unsigned processors);
/// The same for this machine.
[[nodiscard]] unsigned ring_depth();

}  // namespace s3rdmafs::fuse
