// SPDX-License-Identifier: Apache-2.0
// What the program prints, where, and its exit status.
#include "daemon/cli/program.h"

#include <gmock/gmock.h>

#include "run_verb.h"

namespace s3rdmafs::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Program, PrintsHelpAndVersionOnStandardOutput) {
  const Outcome help = run_verb({"--help"});
  EXPECT_EQ(help.status, kExitSuccess);
  EXPECT_THAT(help.out, HasSubstr("umount"));
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(run_verb({"--version"}).out,
              AllOf(StartsWith("s3rdmafs "), HasSubstr(" (commit "),
                    HasSubstr("\nfabrics: shm, rc"), HasSubstr("libcurl/")));
}

TEST(Program, AUsageErrorGoesToStandardErrorAndExitsWithOne) {
  const Outcome wrong = run_verb({"mont"});
  EXPECT_EQ(wrong.status, kExitUsage);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(wrong.err,
            "s3rdmafs: unknown command 'mont'; did you mean mount?\nTry: s3rdmafs --help\n");
}

TEST(Program, AUsageErrorOfDoctorHasAStatusOfItsOwn) {
  EXPECT_EQ(run_verb({"doctor", "--nonsense"}).status, kExitDoctorUsage);
}

TEST(Program, EscapesControlCharactersOfArguments) {
  EXPECT_THAT(run_verb({"x\x1b[2J"}).err, HasSubstr("'x\\x1b[2J'"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
