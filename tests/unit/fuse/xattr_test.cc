// SPDX-License-Identifier: Apache-2.0
// Extended attributes, as the kernel asks for them.
#include <sys/xattr.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "fake_mount.h"

namespace s3rdmafs::fuse {
namespace {

class FuseXattr : public testing::Test {
 protected:
  FuseXattr() { store_.put("file", "12345"); }

  FuseReply get(const std::string& name, std::uint32_t room_bytes = 100) {
    return mount_.call(request::getxattr(mount_.ino_of("file"), name, room_bytes));
  }
  int set(const std::string& name, std::string_view value, std::uint32_t flags = 0) {
    return mount_.call(request::setxattr(mount_.ino_of("file"), name, value, flags)).error;
  }

  FakeMount mount_{{.is_staged = true, .posix = vfs::PosixMetadata::kWrite}};
  fakes::FakeObjectStore& store_ = mount_.store;
};

TEST_F(FuseXattr, AValueIsSetReadAndRemoved) {
  const std::string value("a\0b", 3);
  EXPECT_EQ(set("user.one", value), 0);
  EXPECT_EQ(get("user.one").body, value);
  EXPECT_EQ(mount_.call(request::removexattr(mount_.ino_of("file"), "user.one")).error, 0);
  EXPECT_EQ(get("user.one").error, ENODATA);
  EXPECT_EQ(mount_.call(request::removexattr(mount_.ino_of("file"), "user.one")).error, ENODATA);
}

TEST_F(FuseXattr, ASizeIsToldAndTooLittleRoomRefused) {
  EXPECT_EQ(set("user.one", "12345"), 0);
  EXPECT_EQ(get("user.one", 0).as<fuse_getxattr_out>().size, 5U);
  EXPECT_EQ(get("user.one", 4).error, ERANGE);
  EXPECT_EQ(get("user.one", 5).body, "12345");
}

TEST_F(FuseXattr, TheNamesAreListedOneAfterAnother) {
  EXPECT_EQ(set("user.b", ""), 0);
  EXPECT_EQ(set("user.a", "x"), 0);
  const vfs::Ino ino = mount_.ino_of("file");
  const std::string names("user.a\0user.b\0", 14);
  EXPECT_EQ(mount_.call(request::listxattr(ino, 0)).as<fuse_getxattr_out>().size, names.size());
  EXPECT_EQ(mount_.call(request::listxattr(ino, 13)).error, ERANGE);
  EXPECT_EQ(mount_.call(request::listxattr(ino, 14)).body, names);
  EXPECT_EQ(get("user.b").body, "");
}

TEST_F(FuseXattr, FlagsSayWhetherItMayBeThere) {
  EXPECT_EQ(set("user.one", "1", XATTR_REPLACE), ENODATA);
  EXPECT_EQ(set("user.one", "1", XATTR_CREATE), 0);
  EXPECT_EQ(set("user.one", "2", XATTR_CREATE), EEXIST);
  EXPECT_EQ(set("user.one", "3", XATTR_REPLACE), 0);
  EXPECT_EQ(get("user.one").body, "3");
}

TEST_F(FuseXattr, OtherNamespacesAreRefusedWithoutARequest) {
  const vfs::Ino ino = mount_.ino_of("file");
  store_.forget_calls();
  for (const std::string name : {"security.selinux", "system.posix_acl_access", "trusted.x"}) {
    EXPECT_EQ(mount_.call(request::getxattr(ino, name, 100)).error, EOPNOTSUPP) << name;
    EXPECT_EQ(mount_.call(request::setxattr(ino, name, "x")).error, EOPNOTSUPP) << name;
  }
  EXPECT_EQ(mount_.call(request::setxattr(ino, "s3.etag", "x")).error, EPERM);
  EXPECT_TRUE(store_.calls().empty());
  EXPECT_EQ(mount_.call(request::getxattr(ino, "s3.etag", 100)).error, 0) << "the control";
  EXPECT_FALSE(store_.calls().empty());
}

TEST_F(FuseXattr, WhereTheyCannotBeKeptTheyAreRefused) {
  EXPECT_EQ(mount_.call(request::mkdir(kRoot, "folder")).error, 0);
  EXPECT_EQ(mount_.call(request::setxattr(mount_.ino_of("folder"), "user.a", "x")).error,
            EOPNOTSUPP);
  FakeMount off({.is_staged = true});
  off.store.put("file", "x");
  EXPECT_EQ(off.call(request::setxattr(off.ino_of("file"), "user.a", "x")).error, EOPNOTSUPP);
  FakeMount readonly({.is_writable = false, .posix = vfs::PosixMetadata::kRead});
  readonly.store.put("file", "x");
  EXPECT_EQ(readonly.call(request::setxattr(readonly.ino_of("file"), "user.a", "x")).error, EROFS);
}

}  // namespace
}  // namespace s3rdmafs::fuse
