// SPDX-License-Identifier: Apache-2.0
// What `mount` decides before it mounts, and how it reports a mount that cannot be.
#include <gmock/gmock.h>

#include "daemon/cli/verbs.h"
#include "run_verb.h"

namespace s3rdmafs::daemon {
namespace {

using testing::HasSubstr;

class VerbMountTest : public VerbTest {
 protected:
  static Outcome mount_as_mount8(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStderr();
    std::vector<std::string> all{"/sbin/mount.s3rdma"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    Outcome outcome;
    outcome.status = run_program(all);
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
  }
};

TEST_F(VerbMountTest, AFakeMountChecksEverythingAndMountsNothing) {
  EXPECT_EQ(mount_as_mount8({mount_file(), directory(), "-f"}).status, kExitSuccess);
  const Outcome refused =
      mount_as_mount8({mount_file("[log]\nlevel = \"loud\"\n"), directory(), "-f"});
  EXPECT_EQ(refused.status, kExitUsage) << "the control; systemd tries again after any other";
  EXPECT_THAT(refused.err, HasSubstr("log.level"));
}

TEST_F(VerbMountTest, TheMountPointIsTheMountFilesUnlessGiven) {
  const std::string missing = directory() + "/missing";
  const std::string file = mount_file("[mount]\npoint = \"" + missing + "\"\n");
  const Outcome refused = run_verb({"mount", file});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_THAT(refused.err, HasSubstr(missing + " does not exist"));
  EXPECT_EQ(mount_as_mount8({file, directory(), "-f"}).status, kExitSuccess) << "the control";
}

TEST_F(VerbMountTest, WithoutAMountPointItSaysWhereToNameOne) {
  const Outcome refused = run_verb({"mount", mount_file()});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_THAT(refused.err, HasSubstr("mount.point"));
}

TEST_F(VerbMountTest, AMountPointThatIsNotADirectoryIsRefused) {
  const Outcome refused = run_verb({"mount", mount_file(), mount_file()});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_THAT(refused.err, HasSubstr("is not a directory"));
}

TEST_F(VerbMountTest, AMountNamespaceThatDoesNotExistIsNamed) {
  const Outcome refused = mount_as_mount8({mount_file(), directory(), "-N", "/no/such/namespace"});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_THAT(refused.err, HasSubstr("mount namespace /no/such/namespace"));
}

TEST_F(VerbMountTest, AServerThatIsNotThereFailsTheMountInEitherWay) {
  for (const bool in_foreground : {false, true}) {
    std::vector<std::string> arguments{"mount", mount_file(), directory()};
    if (in_foreground) arguments.emplace_back("-f");
    const Outcome failed = run_verb(arguments);
    EXPECT_EQ(failed.status, kExitFailure) << in_foreground;
    EXPECT_THAT(failed.err, HasSubstr("s3rdmafs: ")) << in_foreground;
  }
}

TEST_F(VerbMountTest, ALogFileThatCannotBeMadeFailsTheMount) {
  const Outcome failed =
      run_verb({"mount", mount_file("[log]\nfile = \"/no/such/folder/log\"\n"), directory()});
  EXPECT_EQ(failed.status, kExitFailure);
  EXPECT_THAT(failed.err, HasSubstr("/no/such/folder/log"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
