// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/report/report.h"
#include "doctor_s3.h"
#include "fakes/rdma/lying_fabric.h"
#include "fakes/rdma/recording_verbs.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::daemon::doctor {

/// The faults of a machine; none by default.
struct MachineFaults {
  std::string kernel = "6.18.0";
  bool has_fuse = true;
  bool has_huge_pages = true;
  std::uint64_t locked_memory_limit_bytes = std::numeric_limits<std::uint64_t>::max();
  bool has_fence = true;  ///< else keys and addresses are the same after one
};

/// A machine with these faults. Its RDMA devices are those of RecordingVerbs.
class FakeMachine final : public Machine {
 public:
  /// Borrows all.
  FakeMachine(const MachineFaults& faults, DoctorS3& server) : faults_(faults), server_(server) {}

  std::string kernel_release() const override { return faults_.kernel; }
  Result<void> open_fuse_device() const override {
    if (faults_.has_fuse) return {};
    return fail_with_advice(ErrorCode::kUnsupported, "/dev/fuse is not there", "modprobe fuse");
  }
  fuse::UringBlocker uring_blocker() const override { return {}; }
  Result<memory::MemoryFile> make_memory_file(std::uint64_t size_bytes) const override {
    auto file = memory::make_memory_file(size_bytes);
    if (file) file->huge_pages = faults_.has_huge_pages;
    return file;
  }
  std::uint64_t locked_memory_limit_bytes() const override {
    return faults_.locked_memory_limit_bytes;
  }
  bool has_capability(unsigned) const override { return false; }
  std::vector<std::string> addresses() const override { return {"127.0.0.1"}; }
  Result<std::unique_ptr<rdma::Fabric>> open_fabric(const config::MountConfig& config,
                                                    const Clock& clock,
                                                    metrics::Registry& metrics) const override {
    auto real = Machine::open_fabric(config, clock, metrics);
    if (!real || faults_.has_fence) return real;
    return std::make_unique<Unfenced>(std::move(*real));
  }
  void pause(std::chrono::milliseconds) const override { server_.catch_up(); }

 private:
  /// Owns what LyingFabric borrows.
  class Unfenced final : public rdma::Fabric {
   public:
    explicit Unfenced(std::unique_ptr<rdma::Fabric> real)
        : real_(std::move(real)), lying_(*real_) {}
    std::string_view name() const noexcept override { return lying_.name(); }
    bool is_up() const noexcept override { return lying_.is_up(); }
    Result<std::unique_ptr<rdma::MemoryRegion>> register_memory(const rdma::Backing& backing,
                                                                rdma::Access access) override {
      return lying_.register_memory(backing, access);
    }
    void shut_down() override { lying_.shut_down(); }

   private:
    std::unique_ptr<rdma::Fabric> real_;
    fakes::LyingFabric lying_;
  };

  const MachineFaults& faults_;
  DoctorS3& server_;
};

/// The IPv4 address as a RoCE port has it.
inline fakes::FakePort port_with_address(std::array<std::uint8_t, 4> ip) {
  return {
      .gids = {{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ip[0], ip[1], ip[2], ip[3]}}}};
}

/// A machine with two rails over dc, a server and a mount file, all without faults until a test
/// plants one.
class DoctorSite {
 public:
  explicit DoctorSite(fakes::FakePort second_rail = port_with_address({127, 0, 0, 3}))
      : verbs({{.name = "mlx5_0", .ports = {port_with_address({127, 0, 0, 2})}},
               {.name = "mlx5_1", .ports = {std::move(second_rail)}}}),
        server(verbs) {
    config["bucket"]["name"] = "\"data\"";
    config["endpoint"]["url"] = "\"" + server.url() + "\"";
    config["credentials"]["access_key_id"] = "\"TESTACCESSKEY\"";
    config["credentials"]["secret_access_key"] = "\"testsecretkey0123456789\"";
    config["cache"]["size"] = "\"128MiB\"";
    config["rdma"]["mode"] = "\"require\"";
    config["rdma"]["fabric"] = "\"dc\"";
    config["rdma"]["rails"] = "\"mlx5_0,mlx5_1\"";
    config["write"]["mode"] = "\"sequential\"";
  }

  /// Writes the mount file, and makes the context.
  Context& context() {
    const std::filesystem::path file = folder.path() / "mount.toml";
    {
      std::ofstream text(file);
      for (const auto& [section, keys] : config) {
        text << '[' << section << "]\n";
        for (const auto& [key, value] : keys) text << key << " = " << value << '\n';
      }
      text << tables;
    }
    std::filesystem::permissions(
        file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    context_ = std::make_unique<Context>();
    context_->file = file;
    context_->environment.variables.clear();
    context_->machine = std::make_unique<FakeMachine>(machine, server);
    context_->test_bytes = 512UL * 1024;
    return *context_;
  }

  /// Removes the test objects.
  void end() { context_.reset(); }

  fakes::RecordingVerbs verbs;
  DoctorS3 server;
  MachineFaults machine;
  std::map<std::string, std::map<std::string, std::string>> config;  ///< values as TOML has them
  std::string tables = {};                                           ///< after the sections
  fakes::TemporaryFolder folder;

 private:
  std::unique_ptr<Context> context_;
};

/// Without the bandwidth, which takes seconds.
inline Checks quick_bucket_checks() {
  Checks checks = bucket_checks();
  checks.pop_back();
  return checks;
}

/// All checks but that.
inline Checks quick_checks() {
  Checks checks = machine_checks(/*has_mount_file=*/true);
  std::ranges::move(quick_bucket_checks(), std::back_inserter(checks));
  return checks;
}

/// The first line that reports a failure or a degradation; empty: none does.
inline std::string first_failing_line(const Report& report) {
  for (const Entry& entry : report) {
    if (entry.finding.level != Level::kFail && entry.finding.level != Level::kDegraded) continue;
    return entry.name + ": " + entry.finding.seen;
  }
  return {};
}

}  // namespace s3rdmafs::daemon::doctor
