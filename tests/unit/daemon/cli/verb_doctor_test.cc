// SPDX-License-Identifier: Apache-2.0
// `doctor` as a user runs it, on whatever machine this is.
#include <sstream>

#include <gmock/gmock.h>

#include "daemon/cli/verbs.h"
#include "daemon/doctor/report/report.h"
#include "run_verb.h"

namespace s3rdmafs::daemon {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class VerbDoctorTest : public VerbTest {};

TEST_F(VerbDoctorTest, WithoutAMountFileItChecksTheMachineAlone) {
  const Outcome checked = run_verb({"doctor"});
  EXPECT_THAT(checked.status, AnyOf(doctor::kExitPass, doctor::kExitDegraded, doctor::kExitFail));
  EXPECT_THAT(checked.out, HasSubstr("kernel: "));
  EXPECT_THAT(checked.out, HasSubstr("verdict: "));
  EXPECT_THAT(checked.out, Not(HasSubstr("mount file: ")));
}

TEST_F(VerbDoctorTest, AMountFileThatIsWrongFailsAndItsReportSaysSo) {
  const std::string report = folder_.path() / "report.json";
  const Outcome checked = run_verb({"doctor", mount_file("[log]\nlevel = \"loud\"\n"), "--json",
                                    "--measure", "--report", report});
  EXPECT_EQ(checked.status, doctor::kExitFail);
  EXPECT_THAT(checked.out, StartsWith("{"));
  std::stringstream written;
  written << std::ifstream(report).rdbuf();
  EXPECT_THAT(written.str(), HasSubstr("log.level"));
}

TEST_F(VerbDoctorTest, AReportThatCannotBeWrittenEndsItBeforeTheChecks) {
  const Outcome refused = run_verb({"doctor", "--report", "/no/such/folder/report.json"});
  EXPECT_EQ(refused.status, kExitDoctorReport);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("/no/such/folder/report.json"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
