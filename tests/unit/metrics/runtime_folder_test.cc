// SPDX-License-Identifier: Apache-2.0
#include "metrics/runtime_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"

namespace s3rdmafs::metrics {
namespace {

class RuntimeFolderTest : public testing::Test {
 protected:
  RuntimeFolderTest() {
    places_.temporary = folder_.path() / "tmp";
    places_.home = folder_.path() / "home";
    std::filesystem::create_directory(places_.temporary);
    std::filesystem::create_directory(places_.home);
    in_temporary_ = places_.temporary + "/s3rdmafs-" + std::to_string(places_.user);
    at_home_ = places_.home + "/.s3rdmafs";
  }

  // The user of the test owns the folders, so the tests change the user's number instead.
  static constexpr uid_t kOther = 12345;
  const fakes::TemporaryFolder folder_;
  RuntimePlaces places_{
      .user = ::geteuid() == 0 ? kOther : ::geteuid(), .runtime = {}, .home = {}, .temporary = {}};
  std::string in_temporary_;
  std::string at_home_;

  void make_users(const std::string& folder) const {
    std::filesystem::create_directory(folder);
    ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
    if (::geteuid() != places_.user) {
      ASSERT_EQ(::chown(folder.c_str(), places_.user, places_.user), 0);
    }
  }
};

TEST_F(RuntimeFolderTest, IsWhereTheSystemSaysItIs) {
  EXPECT_EQ(runtime_folder({.user = 0, .runtime = "/x", .home = "/root"}), "/run/s3rdmafs");
  EXPECT_EQ(runtime_folder({.user = kOther, .runtime = "/x", .home = "/h"}), "/x/s3rdmafs");
}

TEST_F(RuntimeFolderTest, IsInTmpWhereNothingElseIsKnown) {
  EXPECT_EQ(runtime_folder(places_), in_temporary_) << "it is not there yet";
  make_users(in_temporary_);
  EXPECT_EQ(runtime_folder(places_), in_temporary_);
  make_users(at_home_);
  EXPECT_EQ(runtime_folder(places_), in_temporary_) << "the user's own stays in use";
}

TEST_F(RuntimeFolderTest, IsAtHomeWhereAnotherUserMadeTheOneInTmp) {
  make_users(in_temporary_);
  ++places_.user;
  const std::string wanted = places_.temporary + "/s3rdmafs-" + std::to_string(places_.user);
  std::filesystem::rename(in_temporary_, wanted);
  EXPECT_EQ(runtime_folder(places_), at_home_);
  places_.home.clear();
  EXPECT_EQ(runtime_folder(places_), wanted) << "which is then refused, with a message";
}

TEST_F(RuntimeFolderTest, IsAtHomeWhereTheOneInTmpIsALinkOrOpenToOthers) {
  make_users(in_temporary_);
  ASSERT_EQ(::chmod(in_temporary_.c_str(), 0777), 0);
  EXPECT_EQ(runtime_folder(places_), at_home_);
  std::filesystem::remove(in_temporary_);
  std::filesystem::create_directory_symlink(places_.home, in_temporary_);
  EXPECT_EQ(runtime_folder(places_), at_home_);
}

TEST_F(RuntimeFolderTest, StaysAtHomeWhenTheOtherUsersFolderIsGone) {
  make_users(at_home_);
  EXPECT_EQ(runtime_folder(places_), at_home_);
}

}  // namespace
}  // namespace s3rdmafs::metrics
