// SPDX-License-Identifier: Apache-2.0
// The late-write test over the dc fabric and devices that hand their keys out again, as mlx5 does.
//
// The control is the same run with memory registered at its own address, where a renewed region has
// the key and the address that it had before: quarantine alone does not help there.
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "fakes/rdma/identity_addresses.h"
#include "fakes/rdma/recording_verbs.h"
#include "fault/late_write_run.h"
#include "rdma/mlx5/dc_fabric.h"
#include "rdma/mlx5/dc_token.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::fault {
namespace {

/// A server with a DC initiator on each rail's network. Borrows the devices.
class DcServer final : public target::TransferService {
 public:
  explicit DcServer(fakes::RecordingVerbs& verbs) : verbs_(verbs) {}

  Result<std::uint64_t> window_size(std::string_view token) override {
    const auto read = rdma::mlx5::DcToken::parse(token, rdma::mlx5::DcTokenForm::k81);
    if (!read) return std::unexpected(read.error());
    return read->window_bytes;
  }
  Result<void> write_part(std::string_view token, std::uint64_t window_offset, int fd,
                          std::uint64_t file_offset, std::uint64_t length) override {
    const auto read = rdma::mlx5::DcToken::parse(token, rdma::mlx5::DcTokenForm::k81);
    if (!read) return std::unexpected(read.error());
    std::vector<std::byte> bytes(length);
    if (::pread(fd, bytes.data(), length, static_cast<off_t>(file_offset)) !=
        static_cast<ssize_t>(length)) {
      return fail(ErrorCode::kSystem, "the object is too short");
    }
    const std::string device = "mlx5_" + std::to_string(read->target.gid.back());
    if (verbs_.write(device, read->rkey, read->window_address + window_offset, bytes)) return {};
    return fail(ErrorCode::kInvalidArgument, "remote access error");
  }
  Result<void> read_window(std::string_view, int, std::uint64_t, std::uint64_t) override {
    return fail(ErrorCode::kUnsupported, "GETs only");
  }

 private:
  fakes::RecordingVerbs& verbs_;
};

class DcLateWriteTest : public testing::Test {
 protected:
  // A line for each slab that leaves quarantine would be ten thousand.
  DcLateWriteTest() { spdlog::set_level(spdlog::level::warn); }

  std::unique_ptr<rdma::Fabric> fabric(rdma::verbs::AddressSpace& addresses) {
    return rdma::mlx5::make_dc_fabric({.rails = {{.device = "mlx5_0", .port = 1, .gid_index = 0},
                                                 {.device = "mlx5_1", .port = 1, .gid_index = 0}},
                                       .dc_key = 1},
                                      clock_, metrics_, addresses)
        .value();
  }

  fakes::RecordingVerbs verbs_{{{.name = "mlx5_0", .ports = {fakes::port_with_address(0)}},
                                {.name = "mlx5_1", .ports = {fakes::port_with_address(1)}}}};
  const SystemClock clock_;
  metrics::Registry metrics_;
  DcServer server_{verbs_};
};

TEST_F(DcLateWriteTest, TenThousandLateWritesCorruptNothing) {
  const auto fabric_of_dc = fabric(rdma::verbs::process_addresses());
  LateWriteRun run(*fabric_of_dc, server_);
  run.run();
  run.print("dc");
  expect_no_corruption(run);
}

TEST_F(DcLateWriteTest, WithMemoryAtItsOwnAddressTheSameRunSeesCorruption) {
  fakes::IdentityAddresses identity;
  const auto fabric_of_dc = fabric(identity);
  LateWriteRun run(*fabric_of_dc, server_);
  run.run();
  run.print("dc, own addresses");
  EXPECT_GT(run.tally.wrong_reads, 0U);
}

}  // namespace
}  // namespace s3rdmafs::fault
