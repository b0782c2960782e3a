// SPDX-License-Identifier: Apache-2.0
// Mounts that fail before anything is mounted. tests/mount has those that succeed.
#include "daemon/mount/mounted_bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "fakes/s3/scripted_http_server.h"
#include "fakes/temporary_folder.h"
#include "fuse/session.h"

namespace s3rdmafs::daemon {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class MountedBucketTest : public testing::Test {
 protected:
  /// @param more  further sections of the mount file
  MountPlan plan(const std::string& more = "") {
    const std::string text = "[bucket]\nname = \"data\"\n[endpoint]\nurl = \"" + server_.url() +
                             "\"\n[credentials]\nanonymous = true\n"
                             "[cache]\nsize = \"64MiB\"\nlock = \"off\"\n"
                             "[retry]\nattempts_max = 1\n" +
                             more;
    auto loaded = config::load_mount_config_text(text, "mount.toml", {});
    EXPECT_TRUE(loaded) << loaded.error().detail;
    return {
        .config = loaded->config,
        .credentials = {.origin = "anonymous", .source = config::Credentials{.anonymous = true}},
        .source = "mount.toml",
        .mount_point = folder_.path(),
        .kernel_options = {},
        .load_again = [loaded] { return loaded; }};
  }
  /// The error of a mount that is expected to fail.
  static Error failure_of(const MountPlan& plan) {
    auto mounted = MountedBucket::create(plan);
    EXPECT_FALSE(mounted);
    return mounted ? Error{} : mounted.error();
  }

  /// Without it every mount fails for want of it.
  const bool has_fuse_ = fuse::check_fuse_device().has_value();
  const fakes::TemporaryFolder folder_;
  fakes::ScriptedHttpServer server_;
};

TEST_F(MountedBucketTest, ABucketThatDoesNotExistFailsTheMount) {
  server_.then(fakes::error_answer(404, "NoSuchBucket"));
  const Error error = failure_of(plan("[rdma]\nmode = \"off\"\n"));
  if (!has_fuse_) return;
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.detail, HasSubstr("data"));
}

TEST_F(MountedBucketTest, WithoutTheFabricThatIsRequiredNoServerIsAsked) {
  const Error error =
      failure_of(plan("[rdma]\nmode = \"require\"\nfabric = \"shm\"\n"
                      "shm_socket = \"@s3rdmafs-no-such-server\"\n"));
  EXPECT_THAT(server_.seen(), SizeIs(0));
  if (!has_fuse_) return;
  EXPECT_THAT(error.detail, HasSubstr("rdma.mode = \"prefer\""));
}

TEST_F(MountedBucketTest, ADiskFolderThatCannotBeMadeFailsTheMountAfterTheBucketAnswered) {
  server_.then({.status = 200,
                .body = "<ListBucketResult><Name>data</Name><IsTruncated>false</IsTruncated>"
                        "</ListBucketResult>"});
  const Error error =
      failure_of(plan("[rdma]\nmode = \"off\"\n[disk]\npath = \"/no/such/folder/cache\"\n"));
  if (!has_fuse_) return;
  EXPECT_THAT(error.detail, HasSubstr("/no/such/folder"));
  EXPECT_THAT(server_.seen(), SizeIs(1));
}

}  // namespace
}  // namespace s3rdmafs::daemon
