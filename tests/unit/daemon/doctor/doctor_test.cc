// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/report/report.h"
#include "disk/cache_folder.h"
#include "fakes/temporary_folder.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon::doctor {
namespace {

using testing::HasSubstr;

Check scripted(std::string_view name, std::string_view needs, Level level) {
  return {name, needs, [level](Context&) { return Finding{level, "seen", {}}; }};
}

Report run(Level first) {
  const Checks checks{scripted("one", "", first), scripted("two", "one", Level::kPass),
                      scripted("three", "two", Level::kPass)};
  Context context;
  return run_checks(checks, context);
}

TEST(DoctorReport, SkipsChecksThatNeedAFailedOneAndNamesIt) {
  const Report report = run(Level::kFail);
  EXPECT_EQ(report.at(1).finding.level, Level::kSkipped);
  EXPECT_EQ(report.at(2).finding.level, Level::kSkipped);
  EXPECT_THAT(report.at(2).finding.seen, HasSubstr("\"one\""));
  EXPECT_EQ(exit_status(report), kExitFail);
}

// The control: a degraded check keeps nothing from being looked at.
TEST(DoctorReport, GoesOnAfterADegradedCheck) {
  const Report report = run(Level::kDegraded);
  EXPECT_EQ(report.at(2).finding.level, Level::kPass);
  EXPECT_EQ(exit_status(report), kExitDegraded);
  EXPECT_EQ(exit_status(run(Level::kNote)), kExitPass);
}

TEST(DoctorReport, EscapesInvalidCharactersOfJson) {
  EXPECT_EQ(to_json({{"n", {Level::kFail, "a\"b\\\n", "do"}}}), R"({
    "checks" : [
        {
            "advice" : "do",
            "level" : "fail",
            "name" : "n",
            "seen" : "a\"b\\\n"
        }
    ],
    "exit_status" : 2,
    "verdict" : "fail"
}
)");
}

TEST(DoctorChecks, RefuseAClockThatS3Refuses) {
  EXPECT_EQ(judge_clock(std::chrono::seconds(5)).level, Level::kPass);
  EXPECT_EQ(judge_clock(std::chrono::minutes(-14)).level, Level::kNote);
  EXPECT_EQ(judge_clock(std::chrono::minutes(-16)).level, Level::kFail);
  EXPECT_EQ(judge_clock(std::chrono::minutes(16)).level, Level::kFail);
}

TEST(DoctorChecks, FailForTooLittleLockedMemoryOnlyWhereItIsRequired) {
  EXPECT_EQ(judge_locked_memory(10, false, 20, true).level, Level::kFail);
  EXPECT_EQ(judge_locked_memory(10, false, 20, false).level, Level::kDegraded);
  EXPECT_EQ(judge_locked_memory(10, true, 20, true).level, Level::kPass);
  EXPECT_EQ(judge_locked_memory(20, false, 20, true).level, Level::kPass);
}

TEST(DoctorChecks, NameAPortThatIsDownOrHasNoGid) {
  rdma::verbs::PortInfo port{.link_layer = rdma::verbs::LinkLayer::kEthernet,
                             .is_active = false,
                             .state = "PORT_DOWN",
                             .gids = {}};
  const auto judge = [&port] {
    return judge_devices({{.name = "rxe0", .node_guid = {}, .ports = {port}}});
  };
  EXPECT_THAT(judge().seen, HasSubstr("rxe0 port 1 is down"));
  port.is_active = true;
  EXPECT_THAT(judge().seen, HasSubstr("rxe0 port 1 has no GID"));
  EXPECT_EQ(judge().level, Level::kDegraded);
  port.gids.push_back({});
  EXPECT_EQ(judge().level, Level::kPass);
}

TEST(DoctorChecks, NameADeviceThatCannotBeOpened) {
  const Finding finding = judge_devices({{.name = "mlx5_1",
                                          .node_guid = {},
                                          .ports = {},
                                          .hindrance = "cannot be opened: Permission denied"}});
  EXPECT_THAT(finding.seen, HasSubstr("mlx5_1 cannot be opened: Permission denied"));
  EXPECT_EQ(finding.level, Level::kDegraded);
}

TEST(DoctorChecks, KnowWhichFeaturesAKernelLacks) {
  EXPECT_EQ(judge_kernel("4.19.0").level, Level::kFail);
  EXPECT_EQ(judge_kernel("6.1.0-13-amd64").level, Level::kNote);
  EXPECT_EQ(judge_kernel("6.18.2").level, Level::kPass);
}

TEST(DoctorDiskCache, SaysWhetherTheFolderCanBeUsed) {
  const fakes::TemporaryFolder temporary;
  const auto judge = [](const std::string& path, std::uint64_t reserve_bytes) {
    return judge_disk_cache({.path = path, .size_bytes = kGiB, .reserve_bytes = reserve_bytes});
  };
  const std::string good = temporary.path();
  EXPECT_EQ(judge("", 0).level, Level::kPass);
  EXPECT_EQ(judge(good, 0).level, Level::kPass);
  EXPECT_EQ(judge(good + "/new", 0).level, Level::kPass);
  EXPECT_FALSE(std::filesystem::exists(good + "/new"));
  EXPECT_EQ(judge(good + "/no/such", 0).level, Level::kFail);
  EXPECT_EQ(judge(good, 1024 * kTiB).level, Level::kDegraded);

  std::filesystem::permissions(good, std::filesystem::perms::all);
  EXPECT_EQ(judge(good, 0).level, Level::kFail);
}

TEST(DoctorDiskCache, AFolderInUseByAMountIsNotAFault) {
  const fakes::TemporaryFolder temporary;
  const auto held = disk::CacheFolder::take(temporary.path(), SystemClock());
  ASSERT_TRUE(held);
  EXPECT_EQ(
      judge_disk_cache({.path = temporary.path(), .size_bytes = kGiB, .reserve_bytes = 0}).level,
      Level::kNote);
}

}  // namespace
}  // namespace s3rdmafs::daemon::doctor
