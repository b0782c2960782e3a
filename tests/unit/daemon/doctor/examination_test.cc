// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/examination.h"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/doctor/report/full_report.h"
#include "doctor_site.h"

namespace s3rdmafs::daemon::doctor {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kSecret = "testsecretkey0123456789";

/// "good" answers and has its keys in a file; nothing listens where "dead" should be.
class SeveralBuckets : public testing::Test {
 protected:
  SeveralBuckets() {
    const std::filesystem::path keys = site_.folder.path() / "credentials";
    std::ofstream(keys) << "[default]\naws_access_key_id = TESTACCESSKEY\naws_secret_access_key = "
                        << kSecret << '\n';
    std::filesystem::permissions(
        keys, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    site_.config.erase("bucket");
    site_.config.erase("credentials");
    site_.tables = "[[bucket]]\ndirectory = \"good\"\nname = \"data\"\ncredentials.file = \"" +
                   keys.string() +
                   "\"\n[[bucket]]\ndirectory = \"dead\"\nname = \"data\"\nendpoint.url = "
                   "\"http://127.0.0.1:1\"\ncredentials.anonymous = true\n";
  }

  DoctorSite site_;
};

TEST_F(SeveralBuckets, HaveEntriesOfTheirOwnAfterThoseOfTheMachine) {
  const Report report = examine(site_.context(), quick_bucket_checks());
  EXPECT_EQ(std::ranges::count(report, "mount file", &Entry::name), 1);
  const auto read = std::ranges::find(report, "good: RDMA read", &Entry::name);
  ASSERT_NE(read, report.end());
  EXPECT_EQ(read->finding.level, Level::kPass) << read->finding.seen;
  std::vector<std::string> failed;
  for (const Entry& entry : report) {
    if (entry.finding.level == Level::kFail) failed.push_back(entry.name);
  }
  EXPECT_THAT(failed, Not(testing::IsEmpty()));
  EXPECT_THAT(failed, Each(StartsWith("dead: ")));
  EXPECT_EQ(exit_status(report), kExitFail);
}

TEST_F(SeveralBuckets, HideTheKeysOfEachInTheReportOfAll) {
  Context& context = site_.context();
  Report report = examine(context, quick_bucket_checks());
  report.push_back({.name = "x", .finding = {Level::kNote, std::string(kSecret), {}}});
  EXPECT_THAT(full_report(report, context, "1"), Not(HasSubstr(kSecret)));
  context.secrets.clear();
  EXPECT_THAT(full_report(report, context, "1"), HasSubstr(kSecret)) << "the control";
}

TEST(DoctorReport, ADirectoryCannotForgeALine) {
  const std::string text = to_text({{.name = "x\npass      y: fine", .finding = {}}});
  EXPECT_THAT(text, Not(HasSubstr("\npass      y")));
}

}  // namespace
}  // namespace s3rdmafs::daemon::doctor
