// SPDX-License-Identifier: Apache-2.0
#include "rdma/endpoint_fabrics.h"

#include <algorithm>
#include <utility>

namespace s3rdmafs::rdma {
namespace {

class EndpointRegions final : public MemoryRegion {
 public:
  explicit EndpointRegions(std::vector<std::unique_ptr<MemoryRegion>> regions)
      : regions_(std::move(regions)) {}

  [[nodiscard]] std::span<std::byte> bytes() const noexcept override {
    return regions_.front()->bytes();
  }
  void token(std::size_t offset, std::size_t length, Deadline deadline, Done<Token> done) override {
    regions_.front()->token(offset, length, deadline, std::move(done));
  }
  [[nodiscard]] MemoryRegion& for_endpoint(std::size_t endpoint) noexcept override {
    return *regions_[endpoint];
  }
  // Every one, also after one that failed: what can be fenced now need not be fenced again.
  [[nodiscard]] Result<void> fence() override {
    Result<void> result;
    for (const auto& region : regions_) {
      if (auto fenced = region->fence(); !fenced) result = std::move(fenced);
    }
    return result;
  }

 private:
  const std::vector<std::unique_ptr<MemoryRegion>> regions_;
};

class EndpointFabrics final : public Fabric {
 public:
  explicit EndpointFabrics(std::vector<std::unique_ptr<Fabric>> fabrics)
      : fabrics_(std::move(fabrics)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return fabrics_.front()->name(); }
  [[nodiscard]] bool is_up() const noexcept override {
    return std::ranges::any_of(fabrics_, [](const auto& fabric) { return fabric->is_up(); });
  }
  [[nodiscard]] Result<std::unique_ptr<MemoryRegion>> register_memory(const Backing& backing,
                                                                      Access access) override {
    std::vector<std::unique_ptr<MemoryRegion>> regions;
    for (const auto& fabric : fabrics_) {
      auto region = fabric->register_memory(backing, access);
      if (!region) return region;
      regions.push_back(*std::move(region));
    }
    return std::make_unique<EndpointRegions>(std::move(regions));
  }
  void shut_down() override {
    for (const auto& fabric : fabrics_) fabric->shut_down();
  }

 private:
  const std::vector<std::unique_ptr<Fabric>> fabrics_;
};

}  // namespace

std::unique_ptr<Fabric> make_endpoint_fabrics(std::vector<std::unique_ptr<Fabric>> fabrics) {
  return std::make_unique<EndpointFabrics>(std::move(fabrics));
}

}  // namespace s3rdmafs::rdma
