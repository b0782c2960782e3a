// SPDX-License-Identifier: Apache-2.0
#include "target/s3/control.h"

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::target {
namespace {

constexpr const char* kMetricsPath = "/.s3rdma-target/metrics";
constexpr const char* kFaultsPath = "/.s3rdma-target/faults";

// More faults than there are kinds are a mistake.
constexpr std::size_t kFaultsTextMax = 64 * kKiB;

class MetricsExchange final : public Exchange {
 public:
  explicit MetricsExchange(const Traffic& traffic) : traffic_(traffic) {}
  [[nodiscard]] bool is_decided() const override { return true; }
  void receive(std::span<const std::byte>) override {}
  Response finish() override {
    Response response;
    response.set("Content-Type", "text/plain; version=0.0.4");
    response.body = traffic_.prometheus_text();
    return response;
  }

 private:
  const Traffic& traffic_;
};

class FaultsExchange final : public Exchange {
 public:
  explicit FaultsExchange(Faults& faults) : faults_(faults) {}
  [[nodiscard]] bool is_decided() const override { return lines_.size() > kFaultsTextMax; }
  void receive(std::span<const std::byte> bytes) override {
    if (!is_decided()) lines_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  Response finish() override {
    if (is_decided()) return {.status = 400, .headers = {}, .body = "too long\n"};
    if (auto replaced = faults_.replace_by_text(lines_); !replaced) {
      return {.status = 400, .headers = {}, .body = replaced.error().detail + "\n"};
    }
    return {.status = 204, .headers = {}, .body = {}};
  }

 private:
  Faults& faults_;
  std::string lines_;
};

class RefusedExchange final : public Exchange {
 public:
  [[nodiscard]] bool is_decided() const override { return true; }
  void receive(std::span<const std::byte>) override {}
  Response finish() override {
    return {.status = 403, .headers = {}, .body = "not for pages in a browser\n"};
  }
};

}  // namespace

std::unique_ptr<Exchange> begin_control(const Services& services, const Request& request) {
  if (!request.from_loopback) return nullptr;
  if (request.method == "GET" && request.encoded_path == kMetricsPath) {
    return std::make_unique<MetricsExchange>(services.traffic);
  }
  if (request.method == "POST" && request.encoded_path == kFaultsPath &&
      services.has_fault_control && services.faults != nullptr) {
    // A page of any site may send a POST to this host from a browser on it, and the browser then
    // names the page's site. There are no pages here, so each is a foreign one.
    if (request.header("origin")) return std::make_unique<RefusedExchange>();
    return std::make_unique<FaultsExchange>(*services.faults);
  }
  return nullptr;
}

}  // namespace s3rdmafs::target
