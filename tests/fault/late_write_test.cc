// SPDX-License-Identifier: Apache-2.0
// The late-write test (s3rdmafs-protocol(7)): servers that write after they were given up.
//
// The real cache reads over the real shm fabric while a third of its GETs are never answered and
// their tokens are used later, at any time: while the memory rests in quarantine, while it is being
// taken back, and after other bytes have come to live in it. Reads are compared when they come and
// again when they are let go, so a byte that changes under a reader shows.
//
// The control is the same run over a fabric whose renewals do nothing. It must see corruption.
#include <unistd.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "fakes/rdma/lying_fabric.h"
#include "fault/late_write_run.h"
#include "rdma/shm/shm_fabric.h"
#include "s3rdmafs/base/log.h"
#include "target/rdma/shm/shm_service.h"

namespace s3rdmafs::fault {
namespace {

class LateWriteTest : public testing::Test {
 protected:
  // A line for each slab that leaves quarantine would be ten thousand.
  LateWriteTest() { spdlog::set_level(spdlog::level::warn); }

  const std::string socket_name_ = "@s3rdmafs-late-" + std::to_string(::getpid());
  const std::unique_ptr<target::TransferService> service_ =
      target::make_shm_service(socket_name_).value();
  const std::unique_ptr<rdma::Fabric> fabric_ = rdma::shm::make_shm_fabric(socket_name_);
};

TEST_F(LateWriteTest, TenThousandLateWritesCorruptNothing) {
  LateWriteRun run(*fabric_, *service_);
  run.run();
  run.print("quarantine on");
  expect_no_corruption(run);
}

TEST_F(LateWriteTest, WithoutQuarantineTheSameRunSeesCorruption) {
  fakes::LyingFabric lying_fabric(*fabric_);
  LateWriteRun run(lying_fabric, *service_);
  run.run();
  run.print("quarantine off");
  EXPECT_GT(run.tally.wrong_reads, 0U);
}

}  // namespace
}  // namespace s3rdmafs::fault
