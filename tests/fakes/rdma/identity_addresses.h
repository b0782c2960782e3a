// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rdma/verbs/address_space.h"

namespace s3rdmafs::fakes {

/// Registers memory at its own address, as ibv_reg_mr(3) does: the planted bug that tests of the
/// fence must see.
class IdentityAddresses final : public rdma::verbs::AddressSpace {
 public:
  [[nodiscard]] std::uint64_t take(std::span<const std::byte> bytes) override {
    return reinterpret_cast<std::uintptr_t>(bytes.data());
  }
};

}  // namespace s3rdmafs::fakes
