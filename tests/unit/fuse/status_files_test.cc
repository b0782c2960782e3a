// SPDX-License-Identifier: Apache-2.0
// The folder ".s3rdmafs" of the root, through a whole session.
#include "fuse/status/status_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_mount.h"
#include "fuse/watch/access_log.h"

namespace s3rdmafs::fuse {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(StatusFiles, KeepTheTextOfTheMomentInWhichTheyWereOpened) {
  int count = 0;
  StatusFiles status({{"stats", [&count] { return "count " + std::to_string(++count); }}});
  const StatusFile* const file = status.find(status.find("stats"));
  ASSERT_NE(file, nullptr);
  const std::uint64_t first = status.open(*file);
  const std::uint64_t second = status.open(*file);
  EXPECT_EQ(status.read(first, 0, 100), "count 1");
  EXPECT_EQ(status.read(second, 6, 100), "2");
  EXPECT_EQ(status.read(first, 0, 3), "cou") << "what was asked for, and no more";
  EXPECT_EQ(status.read(first, 7, 100), "");
  status.release(first);
  EXPECT_EQ(status.read(first, 0, 100), "");
  EXPECT_EQ(status.read(second, 0, 100), "count 2");
}

TEST(StatusFiles, KnowTheirOwnNumbersAndNames) {
  const StatusFiles status({{"stats", [] { return std::string(); }}});
  EXPECT_TRUE(StatusFiles::owns(StatusFiles::kFolderIno));
  EXPECT_FALSE(StatusFiles::owns(0));
  EXPECT_FALSE(StatusFiles::owns(vfs::kRootIno));
  EXPECT_FALSE(StatusFiles::owns(vfs::kFirstObjectIno));
  EXPECT_EQ(status.find("config"), 0U);
  EXPECT_EQ(status.find(StatusFiles::kFolderIno), nullptr);
  EXPECT_EQ(status.find(StatusFiles::ino_of(1)), nullptr);
  EXPECT_TRUE(StatusFiles::is_folder(vfs::kRootIno, ".s3rdmafs"));
  EXPECT_FALSE(StatusFiles::is_folder(2, ".s3rdmafs"));
}

class StatusFolderTest : public testing::Test {
 protected:
  fuse_attr attributes_of(vfs::Ino parent, const std::string& name) {
    const FuseReply reply = mount_.call(request::lookup(parent, name));
    EXPECT_EQ(reply.error, 0) << name;
    return reply.as<fuse_entry_out>().attr;
  }

  FakeMount mount_{{.status_files = {{"stats", [] { return std::string("a text\n"); }}}}};
};

TEST_F(StatusFolderTest, IsReadByItsOwnerAlone) {
  const fuse_attr folder = attributes_of(kRoot, ".s3rdmafs");
  EXPECT_EQ(folder.mode, static_cast<std::uint32_t>(S_IFDIR | 0500));
  EXPECT_EQ(folder.uid, 7U);
  EXPECT_EQ(attributes_of(folder.ino, "stats").mode, static_cast<std::uint32_t>(S_IFREG | 0400));
  EXPECT_EQ(mount_.call(request::lookup(folder.ino, "none")).as<fuse_entry_out>().nodeid, 0U);
}

TEST_F(StatusFolderTest, HasFilesThatCanBeReadAndNotChanged) {
  const vfs::Ino folder = mount_.ino_of(".s3rdmafs");
  const vfs::Ino stats = mount_.ino_of("stats", folder);
  const std::uint64_t handle = mount_.open(stats);
  EXPECT_EQ(mount_.call(request::read(stats, handle, 0, 4096)).body, "a text\n");
  EXPECT_EQ(mount_.call(request::read(stats, handle, 2, 4096)).body, "text\n");
  EXPECT_EQ(mount_.call(request::open(stats, O_WRONLY)).error, EACCES);
  EXPECT_EQ(mount_.call(request::release(stats, handle)).error, 0);
  EXPECT_EQ(mount_.call(request::rmdir(kRoot, ".s3rdmafs")).error, EPERM);
  EXPECT_EQ(mount_.call(request::unlink(folder, "stats")).error, EPERM);
  EXPECT_EQ(mount_.call(request::mkdir(folder, "new")).error, EPERM);
  EXPECT_EQ(mount_.call(request::rename(kRoot, "a", ".s3rdmafs")).error, EPERM);
}

TEST(AccessLog, HasALineForEachOpenAndForgetsTheOldest) {
  AccessLog log;
  EXPECT_EQ(log.text(), "");
  log.add({.time = std::chrono::system_clock::from_time_t(0) + std::chrono::milliseconds(5),
           .thread = ::getpid(),
           .uid = 3,
           .flags = O_RDWR,
           .path = "a b\nc"});
  EXPECT_THAT(log.text(), MatchesRegex("1970-01-01T00:00:00\\.005Z [0-9]+ [^ ]+ 3 rw a b.*c\n"));
  for (std::size_t i = 0; i < AccessLog::kAccessesMax; ++i) {
    log.add({.path = std::to_string(i)});
  }
  const std::string text = log.text();
  EXPECT_THAT(text, testing::Not(HasSubstr(" rw "))) << "the oldest one";
  EXPECT_TRUE(text.substr(0, text.find('\n')).ends_with(" r 0"));
  EXPECT_TRUE(text.ends_with(" r " + std::to_string(AccessLog::kAccessesMax - 1) + "\n"));
}

}  // namespace
}  // namespace s3rdmafs::fuse
