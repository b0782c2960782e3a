// SPDX-License-Identifier: Apache-2.0
#include "rdma/null_fabric.h"

namespace s3rdmafs::rdma {
namespace {

class NullRegion final : public MemoryRegion {
 public:
  explicit NullRegion(std::span<std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] std::span<std::byte> bytes() const noexcept override { return bytes_; }
  void token(std::size_t, std::size_t, Deadline, Done<Token> done) override {
    done(fail(ErrorCode::kUnsupported, "this mount has no RDMA fabric"));
  }
  [[nodiscard]] Result<void> fence() override { return {}; }

 private:
  std::span<std::byte> bytes_;
};

class NullFabric final : public Fabric {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "none"; }
  [[nodiscard]] bool is_up() const noexcept override { return false; }
  [[nodiscard]] Result<std::unique_ptr<MemoryRegion>> register_memory(const Backing& backing,
                                                                      Access) override {
    return std::make_unique<NullRegion>(backing.bytes);
  }
};

}  // namespace

std::unique_ptr<Fabric> make_null_fabric() { return std::make_unique<NullFabric>(); }

}  // namespace s3rdmafs::rdma
