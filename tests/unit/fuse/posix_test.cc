// SPDX-License-Identifier: Apache-2.0
// Attributes, symbolic links and what the kernel keeps of them, with metadata.posix.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "fake_mount.h"

namespace s3rdmafs::fuse {
namespace {

class FusePosix : public testing::Test {
 protected:
  fuse_attr attributes(const std::string& name) {
    return mount_.call(request::lookup(kRoot, name)).as<fuse_entry_out>().attr;
  }

  FakeMount mount_{{.is_staged = true, .posix = vfs::PosixMetadata::kWrite}};
  fakes::FakeObjectStore& store_ = mount_.store;
};

TEST_F(FusePosix, AttributesAreThoseOfTheUserMetadataOrElseOfTheMount) {
  store_.put("file", "12345",
             {{"mode", "33152"}, {"uid", "3"}, {"gid", "4"}, {"mtime", "-1.5"}, {"atime", "9"}});
  store_.put("plain", "1");
  const fuse_attr file = attributes("file");
  EXPECT_EQ(file.mode, S_IFREG | 0600U);
  EXPECT_EQ(file.uid, 3U);
  EXPECT_EQ(file.gid, 4U);
  EXPECT_EQ(static_cast<std::int64_t>(file.mtime), -2);
  EXPECT_EQ(file.mtimensec, 500'000'000U);
  EXPECT_EQ(file.atime, 9U);
  const fuse_attr plain = attributes("plain");
  EXPECT_EQ(plain.mode, S_IFREG | 0640U);
  EXPECT_EQ(plain.uid, 7U);
}

TEST_F(FusePosix, AttributesAreKeptAsLongAsTheName) {
  store_.put("file", "12345", {{"mode", "33152"}});
  const auto entry = mount_.call(request::lookup(kRoot, "file")).as<fuse_entry_out>();
  EXPECT_EQ(entry.attr_valid, 30U);
  EXPECT_EQ(mount_.call(request::getattr(entry.nodeid)).as<fuse_attr_out>().attr_valid, 1U);
  FakeMount off({.is_staged = true});
  off.store.put("file", "12345");
  const vfs::Ino ino = off.ino_of("file");
  EXPECT_EQ(off.call(request::getattr(ino)).as<fuse_attr_out>().attr_valid, 86'400U);
}

TEST_F(FusePosix, SetattrKeepsModeOwnerAndTimes) {
  store_.put("file", "12345");
  const vfs::Ino ino = mount_.ino_of("file");
  fuse_setattr_in in{};
  in.valid = FATTR_MODE | FATTR_UID | FATTR_GID | FATTR_MTIME | FATTR_ATIME | FATTR_ATIME_NOW;
  in.mode = S_IFREG | 04755;
  in.uid = 11;
  in.gid = 12;
  in.mtime = 1'000;
  in.mtimensec = 7;
  const FuseReply reply = mount_.call(request::set_attributes(ino, in));
  ASSERT_EQ(reply.error, 0);
  const auto shown = reply.as<fuse_attr_out>().attr;
  EXPECT_EQ(shown.mode, S_IFREG | 04755U);
  EXPECT_EQ(shown.uid, 11U);
  EXPECT_EQ(shown.gid, 12U);
  EXPECT_GT(shown.atime, 1'000U) << "now";
  EXPECT_EQ(shown.mtime, 1'000U);
  EXPECT_EQ(shown.mtimensec, 7U);
  EXPECT_EQ(shown.ino, ino);
  const s3::UserMetadata stored = store_.metadata("file");
  EXPECT_EQ(stored.front(), (std::pair<std::string, std::string>{"mode", "35309"}));
  EXPECT_EQ(mount_.ino_of("file"), ino);
}

TEST_F(FusePosix, ATruncationTakesItsTimesByItselfAndTheModeBesides) {
  store_.put("file", "12345");
  fuse_setattr_in in{};
  in.valid = FATTR_SIZE | FATTR_MTIME | FATTR_MTIME_NOW | FATTR_MODE;
  in.size = 2;
  in.mode = S_IFREG | 0600;
  const FuseReply reply = mount_.call(request::set_attributes(mount_.ino_of("file"), in));
  ASSERT_EQ(reply.error, 0);
  EXPECT_EQ(reply.as<fuse_attr_out>().attr.size, 2U);
  EXPECT_EQ(reply.as<fuse_attr_out>().attr.mode, S_IFREG | 0600U);
  EXPECT_EQ(store_.object("file"), "12");
}

TEST_F(FusePosix, ANewFileHasItsModeAndTheProcesssOwner) {
  const FuseReply created = mount_.call(request::create(kRoot, "new", O_WRONLY));
  ASSERT_EQ(created.error, 0);
  EXPECT_EQ(created.as<fuse_entry_out>().attr.mode, S_IFREG | 0644U);
  EXPECT_EQ(created.as<fuse_entry_out>().attr.uid, ::geteuid()) << "not 7, the mount's owner";
  EXPECT_EQ(created.as<fuse_entry_out>().attr.gid, ::getegid());
  const auto handle = created.as<fuse_open_out>(sizeof(fuse_entry_out)).fh;
  EXPECT_EQ(mount_.call(request::release(created.as<fuse_entry_out>().nodeid, handle)).error, 0);
  EXPECT_TRUE(fakes::eventually([&] { return store_.object("new").has_value(); }));
  EXPECT_EQ(store_.metadata("new").front(), (std::pair<std::string, std::string>{"mode", "33188"}));
  EXPECT_EQ(mount_.call(request::mknod(kRoot, "node", S_IFREG | 0600)).error, 0);
  EXPECT_EQ(attributes("node").mode, S_IFREG | 0600U);
}

TEST_F(FusePosix, LinksAreMadeAndRead) {
  const FuseReply made = mount_.call(request::symlink(kRoot, "link", "to/there"));
  ASSERT_EQ(made.error, 0);
  EXPECT_EQ(made.as<fuse_entry_out>().attr.mode, S_IFLNK | 0777U);
  EXPECT_EQ(mount_.call(request::readlink(made.as<fuse_entry_out>().nodeid)).body, "to/there");
  EXPECT_EQ(mount_.call(request::symlink(kRoot, "link", "x")).error, EEXIST);
  EXPECT_EQ(mount_.call(request::symlink(kRoot, std::string(256, 'n'), "x")).error, ENAMETOOLONG);
  store_.put("file", "x");
  EXPECT_EQ(mount_.call(request::readlink(mount_.ino_of("file"))).error, EINVAL);
}

TEST_F(FusePosix, WhereMetadataIsOffLinksAreNotPermittedAndChangesForgotten) {
  FakeMount off({.is_staged = true});
  EXPECT_EQ(off.call(request::symlink(kRoot, "link", "x")).error, EPERM);
  off.store.put("file", "x", {{"mode", "33152"}});
  const vfs::Ino ino = off.ino_of("file");
  EXPECT_EQ(off.call(request::readlink(ino)).error, EINVAL);
  const FuseReply reply = off.call(request::setattr(ino, FATTR_MODE | FATTR_UID));
  EXPECT_EQ(reply.error, 0);
  EXPECT_EQ(reply.as<fuse_attr_out>().attr.mode, S_IFREG | 0640U);
  EXPECT_EQ(off.store.count(Operation::kCopy), 0U);
}

TEST_F(FusePosix, AListingSaysWhatIsALinkAndAPlainOneThatItDoesNotKnow) {
  store_.put("file", "12345", {{"mode", "33152"}});
  store_.put("link", "target", {{"mode", "41471"}});
  const std::uint64_t handle = mount_.call(request::opendir(kRoot)).as<fuse_open_out>().fh;
  const FuseReply plus = mount_.call(request::readdir(kRoot, handle, 2, 4096, /*plus=*/true));
  const auto listed = fakes::names_in(plus.body, /*plus=*/true);
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_NE(listed[1].node, 0U);
  EXPECT_EQ(plus.as<fuse_dirent>(sizeof(fuse_entry_out)).type, S_IFREG >> 12U);
  const std::size_t second =
      FUSE_REC_ALIGN(sizeof(fuse_entry_out) + FUSE_NAME_OFFSET + std::string("file").size());
  EXPECT_EQ(plus.as<fuse_entry_out>(second).attr.mode, S_IFLNK | 0777U);
  EXPECT_EQ(plus.as<fuse_dirent>(second + sizeof(fuse_entry_out)).type, S_IFLNK >> 12U);
  const FuseReply plain = mount_.call(request::readdir(kRoot, handle, 2, 4096, /*plus=*/false));
  EXPECT_EQ(plain.as<fuse_dirent>().type, 0U) << "DT_UNKNOWN";
}

}  // namespace
}  // namespace s3rdmafs::fuse
