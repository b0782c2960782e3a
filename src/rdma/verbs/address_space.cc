// SPDX-License-Identifier: Apache-2.0
//
// Why addresses of our own. The mlx5 driver keeps the keys of deregistered memory on a stack, and
// the next registration of like shape takes the top one unchanged. Memory that is registered again
// at its own address then has the same address, key and rights, and a token that should be dead
// writes into it. With an address that is never used again, such a token points outside every
// registration.
#include "rdma/verbs/address_space.h"

#include <sys/random.h>

#include <chrono>

namespace s3rdmafs::rdma::verbs {
namespace {

constexpr std::uint64_t kRoundUp = FreshAddresses::kAlignment - 1;

std::uint64_t random_start() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
    // Early in the life of a machine: the time differs from one mount to the next as well.
    random = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count())
             << 21;
  }
  constexpr std::uint64_t kRoom = FreshAddresses::kEnd - FreshAddresses::kLowest;
  return FreshAddresses::kLowest +
         random % kRoom / FreshAddresses::kAlignment * FreshAddresses::kAlignment;
}

}  // namespace

std::uint64_t FreshAddresses::take(std::span<const std::byte> bytes) {
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment;
  const std::uint64_t length = (offset + bytes.size() + kRoundUp) & ~kRoundUp;
  const MutexLock lock(mutex_);
  if (length > kEnd - next_) next_ = kLowest;
  const std::uint64_t begin = next_;
  next_ += length;
  return begin + offset;
}

AddressSpace& process_addresses() {
  static FreshAddresses addresses(random_start());
  return addresses;
}

}  // namespace s3rdmafs::rdma::verbs
