// SPDX-License-Identifier: Apache-2.0
#include "csi/node/node_state.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "csi/node/private_files.h"
#include "fakes/temporary_folder.h"
#include "fakes/value_of.h"

namespace s3rdmafs::csi {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NodeStateTest : public ::testing::Test {
 protected:
  NodeState open() {
    return fakes::value_of(
        NodeState::open(folder_.path() / "run", folder_.path() / "keep", clock_));
  }

  const SystemClock clock_;
  const fakes::TemporaryFolder folder_;
};

const Reference kUser{.volume = "../v", .target = "/pods/a\n", .digest = "d", .read_only = true};

TEST_F(NodeStateTest, KeepsRecordsForTheNextDriver) {
  std::string mount;
  {
    const NodeState state = open();
    mount = state.mount_name("settings");
    ASSERT_TRUE(state.make_mount(mount));
    ASSERT_TRUE(state.add(mount, kUser));
    ASSERT_TRUE(state.save({.volume = "v",
                            .path = "/s",
                            .mode = AccessMode::kMultiNodeReaderOnly,
                            .mount_flags = {"ro"},
                            .secrets = {{"k", "s\"\n"}}}));
  }
  const NodeState state = open();
  EXPECT_EQ(state.mount_name("settings"), mount) << "the key of names is kept too";
  const auto found = state.find(kUser.volume, kUser.target);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, mount);
  EXPECT_TRUE(found->second.read_only);
  const auto staged = fakes::value_of(state.staged("v"));
  ASSERT_TRUE(staged);
  EXPECT_EQ(staged->secrets.at("k"), "s\"\n");
  EXPECT_EQ(staged->mode, AccessMode::kMultiNodeReaderOnly);
  EXPECT_FALSE(fakes::value_of(state.staged("w")));
}

TEST_F(NodeStateTest, IsOneDriversAlone) {
  const NodeState state = open();
  const auto second = NodeState::open(folder_.path() / "run", folder_.path() / "other", clock_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
}

TEST_F(NodeStateTest, PutsNoNameFromOutsideIntoAPath) {
  const NodeState state = open();
  const std::string mount = state.mount_name("x");
  ASSERT_TRUE(state.make_mount(mount));
  ASSERT_TRUE(state.add(mount, kUser));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    const std::string name = entry.path().filename();
    EXPECT_EQ(name.find_first_of(".\n/"), name == "mount.toml" ? 5U : std::string::npos) << name;
  }
}

TEST_F(NodeStateTest, CountsARecordThatCannotBeReadAsAUser) {
  const NodeState state = open();
  const std::string mount = state.mount_name("x");
  ASSERT_TRUE(state.make_mount(mount));
  EXPECT_THAT(state.references(mount), IsEmpty());
  std::ofstream(state.places(mount).folder + "/users/0123") << "not a record";
  EXPECT_EQ(state.references(mount).size(), 1U);
}

TEST_F(NodeStateTest, ForgetsAMountButNoJournalWithSomethingInIt) {
  const NodeState state = open();
  const std::string mount = state.mount_name("x");
  ASSERT_TRUE(state.make_mount(mount));
  EXPECT_THAT(state.mounts(), ElementsAre(mount));
  const std::string journal = state.places(mount).journal;
  ASSERT_TRUE(make_folder(journal));
  std::ofstream(journal + "/lock") << "1";
  std::ofstream(journal + "/renames") << "1";
  ASSERT_TRUE(state.forget_mount(mount));
  EXPECT_THAT(state.mounts(), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(journal));
  std::filesystem::remove(journal + "/renames");
  ASSERT_TRUE(state.make_mount(mount));
  ASSERT_TRUE(state.forget_mount(mount));
  EXPECT_FALSE(std::filesystem::exists(journal));
}

TEST(PrivateFiles, AreReplacedWholeAndForTheirOwnerAlone) {
  const fakes::TemporaryFolder folder;
  const std::string path = folder.path() / "file";
  ASSERT_TRUE(replace_file(path, "first"));
  ASSERT_TRUE(replace_file(path, "second"));
  EXPECT_EQ(fakes::value_of(read_private_file(path)), "second");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("file"));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

TEST(PrivateFiles, DigestIsThatOfTheStandards) {
  // FIPS 180-4's example, and RFC 4231's second case.
  EXPECT_EQ(hex_digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_digest("what do ya want for nothing?", "Jefe"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace s3rdmafs::csi
