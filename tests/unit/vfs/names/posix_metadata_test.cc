// SPDX-License-Identifier: Apache-2.0
#include "vfs/metadata/posix_metadata.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace s3rdmafs::vfs {
namespace {

using namespace std::chrono_literals;
using Time = PosixAttributes::Time;

PosixAttributes of(const std::string& name, const std::string& value) {
  return posix_attributes({{name, value}});
}

TEST(PosixMetadata, OfS3fsIsRead) {
  const PosixAttributes file = posix_attributes({{"mode", "33188"},
                                                 {"uid", "1000"},
                                                 {"gid", "0"},
                                                 {"mtime", "1700000000"},
                                                 {"ctime", "1700000001.5"},
                                                 {"atime", "1700000002.000000009"},
                                                 {"other", "x"}});
  EXPECT_EQ(file.mode, 0644U);
  EXPECT_FALSE(file.is_symlink);
  EXPECT_EQ(file.uid, 1000U);
  EXPECT_EQ(file.gid, 0U);
  EXPECT_EQ(file.modified, Time(1'700'000'000s));
  EXPECT_EQ(file.changed, Time(1'700'000'001s + 500ms));
  EXPECT_EQ(file.accessed, Time(1'700'000'002s + 9ns));
  const PosixAttributes link = of("mode", "41471");
  EXPECT_TRUE(link.is_symlink);
  EXPECT_EQ(link.mode, 0777U);
}

TEST(PosixMetadata, MayHaveAnOctalMode) {
  EXPECT_EQ(of("mode", "0100640").mode, 0640U);
  EXPECT_EQ(of("mode", "100640").mode, 0640U) << "as rclone has it";
  EXPECT_TRUE(of("mode", "120777").is_symlink);
  EXPECT_EQ(of("mode", "0644").mode, 0644U);
  EXPECT_EQ(of("mode", "644").mode, 0644U) << "no mode with a type is as short";
  EXPECT_EQ(of("mode", "1755").mode, 01755U);
  EXPECT_FALSE(of("mode", "489").mode) << "it is not decimal either";
  EXPECT_EQ(of("mode", "32768").mode, 0U) << "the control: decimal with a type alone";
}

TEST(PosixMetadata, ThatCannotBeIsIgnored) {
  for (const char* mode : {"", "-1", "abc", "33188x", " 33188", "16877", "4480",
                           "99999999999999999999", "0x81a4", "200000", "08"}) {
    EXPECT_FALSE(of("mode", mode).mode) << mode;
    EXPECT_FALSE(of("mode", mode).is_symlink) << mode;
  }
  for (const char* uid : {"", "-1", "4294967295", "4294967296", "root", "1.0"}) {
    EXPECT_FALSE(of("uid", uid).uid) << uid;
    EXPECT_FALSE(of("gid", uid).gid) << uid;
  }
  EXPECT_EQ(of("uid", "4294967294").uid, 4294967294U) << "the control";
  for (const char* time : {"", ".", "-", "now", "1e9", "9000000001", "99999999999999999999", "1.x",
                           "1.2.3", "--1", "+1"}) {
    EXPECT_FALSE(of("mtime", time).modified) << time;
    EXPECT_FALSE(of("ctime", time).changed) << time;
    EXPECT_FALSE(of("atime", time).accessed) << time;
  }
}

TEST(PosixMetadata, HasTimesBefore1970AndWithLongFractions) {
  EXPECT_EQ(of("mtime", "-1.5").modified, Time(-1500ms));
  EXPECT_EQ(of("mtime", "1.0000000019999").modified, Time(1s + 1ns));
  EXPECT_EQ(of("mtime", "1.").modified, Time(1s));
}

TEST(PosixMetadata, ThatIsSetLeavesTheRestAsItIs) {
  s3::UserMetadata metadata = {{"mode", "33188"}, {"other", "x"}, {"mtime", "5"}};
  set_posix_attributes(metadata, {.mode = 0600, .uid = 3, .modified = Time(-1500ms)});
  EXPECT_EQ(metadata,
            (s3::UserMetadata{
                {"mode", "33152"}, {"other", "x"}, {"mtime", "-1.500000000"}, {"uid", "3"}}));
  EXPECT_EQ(without_posix_times(metadata),
            (s3::UserMetadata{{"mode", "33152"}, {"other", "x"}, {"uid", "3"}}));
}

TEST(PosixMetadata, KeepsALinkALink) {
  s3::UserMetadata metadata = new_posix_metadata({.is_symlink = true, .mode = 0777}, Time(7s));
  EXPECT_EQ(metadata, (s3::UserMetadata{{"mode", "41471"}, {"mtime", "7"}, {"ctime", "7"}}));
  set_posix_attributes(metadata, {.mode = 0700});
  EXPECT_TRUE(posix_attributes(metadata).is_symlink);
  EXPECT_EQ(posix_attributes(metadata).mode, 0700U);
}

}  // namespace
}  // namespace s3rdmafs::vfs
