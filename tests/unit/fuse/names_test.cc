// SPDX-License-Identifier: Apache-2.0
// Operations on names: lookup, forget, directories, attributes, and what is refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "fake_mount.h"

namespace s3rdmafs::fuse {
namespace {

constexpr vfs::Ino kUnknownIno = 0x1234567;
const std::string kLongName(256, 'n');

std::vector<std::string> list(FakeMount& mount, bool plus, std::uint32_t size_bytes = 4096) {
  const std::uint64_t handle = mount.call(request::opendir(kRoot)).as<fuse_open_out>().fh;
  std::vector<std::string> names;
  for (std::uint64_t offset = 0;;) {
    const FuseReply reply = mount.call(request::readdir(kRoot, handle, offset, size_bytes, plus));
    EXPECT_EQ(reply.error, 0);
    const auto some = fakes::names_in(reply.body, plus);
    if (some.empty()) break;
    for (const auto& listed : some) names.push_back(listed.name);
    offset = some.back().next_offset;
  }
  EXPECT_EQ(mount.call(request::releasedir(kRoot, handle)).error, 0);
  return names;
}

TEST(FuseNames, ALookupGivesTheMountsOwnerAndModesAndOneReference) {
  FakeMount mount;
  mount.store.put("file", "12345");
  mount.store.put("directory/file", "1");
  const auto file = mount.call(request::lookup(kRoot, "file")).as<fuse_entry_out>();
  EXPECT_EQ(file.attr.mode, S_IFREG | 0640U);
  EXPECT_EQ(file.attr.uid, 7U);
  EXPECT_EQ(file.attr.gid, 8U);
  EXPECT_EQ(file.attr.size, 5U);
  EXPECT_EQ(mount.kernel.lookups(file.nodeid), 1U);
  const auto directory = mount.call(request::lookup(kRoot, "directory")).as<fuse_entry_out>();
  EXPECT_EQ(directory.attr.mode, S_IFDIR | 0750U);
}

TEST(FuseNames, ANameThatIsNotThereMayBeKeptAsSuch) {
  FakeMount mount;
  const FuseReply reply = mount.call(request::lookup(kRoot, "absent"));
  EXPECT_EQ(reply.error, 0);
  EXPECT_EQ(reply.as<fuse_entry_out>().nodeid, 0U);
  EXPECT_EQ(reply.as<fuse_entry_out>().entry_valid, 5U);
}

TEST(FuseNames, ALookupThatFailsSaysWhy) {
  FakeMount mount;
  mount.store.put("file", "1");
  EXPECT_EQ(mount.call(request::lookup(kRoot, kLongName)).error, ENAMETOOLONG);
  EXPECT_EQ(mount.call(request::lookup(mount.ino_of("file"), "below")).error, ENOTDIR);
  mount.store.fail_if([](const FakeObjectStore::Call&) {
    return s3::GetFailure{.error = {ErrorCode::kAccessDenied, "refused by the test"}};
  });
  EXPECT_EQ(mount.call(request::lookup(kRoot, "other")).error, EACCES);
}

TEST(FuseNames, ForgettingTheLastReferenceFreesTheInodeOneByOneAndInBatches) {
  FakeMount mount;
  mount.store.put("a", "1");
  mount.store.put("b", "1");
  const vfs::Ino a = mount.ino_of("a");
  EXPECT_EQ(mount.ino_of("a"), a);
  EXPECT_EQ(mount.kernel.lookups(a), 2U);
  mount.ino_of("b");
  EXPECT_EQ(mount.gauge("vfs_inodes"), 3);
  mount.kernel.send(request::forget(a, 1));
  mount.kernel.send(request::forget(a, 1));
  EXPECT_TRUE(fakes::eventually([&] { return mount.gauge("vfs_inodes") == 2; }));
  EXPECT_EQ(mount.call(request::getattr(a)).error, ENOENT);
  mount.ino_of("a");
  mount.kernel.forget_all();
  EXPECT_TRUE(fakes::eventually([&] { return mount.gauge("vfs_inodes") == 1; }));
}

TEST(FuseNames, AForgetMayComeWhileAFileOfTheInodeIsStillOpen) {
  FakeMount mount;
  mount.store.put("a", "bytes");
  const vfs::Ino ino = mount.ino_of("a");
  const std::uint64_t handle = mount.open(ino);
  mount.kernel.forget_all();
  EXPECT_EQ(mount.call(request::read(ino, handle, 0, 100)).body, "bytes");
  EXPECT_EQ(mount.call(request::release(ino, handle)).error, 0);
  EXPECT_EQ(mount.gauge("vfs_open_files"), 0);
}

TEST(FuseNames, AttributesOfAVersionMayBeKeptAndThoseOfAFileBeingWrittenMayNot) {
  FakeMount mount;
  mount.store.put("a", "12345");
  EXPECT_EQ(mount.call(request::getattr(mount.ino_of("a"))).as<fuse_attr_out>().attr_valid, 86400U);
  const FuseReply created = mount.call(request::create(kRoot, "new", O_WRONLY));
  EXPECT_EQ(created.as<fuse_entry_out>().attr_valid, 1U) << "until the first write";
  EXPECT_EQ(created.as<fuse_entry_out>().entry_valid, 0U);
  const auto node = created.as<fuse_entry_out>().nodeid;
  EXPECT_EQ(mount.call(request::getattr(node)).as<fuse_attr_out>().attr_valid, 0U);
  EXPECT_EQ(mount.call(request::getattr(kUnknownIno)).error, ENOENT);
}

// The kernel does not hear of a commit, which changes the time of the directory.
TEST(FuseNames, AttributesOfADirectoryMayBeKeptShortlyAndNotWhileAFileInItIsWritten) {
  FakeMount mount;
  mount.store.put("d/a", "1");
  mount.store.put("e/a", "1");
  const vfs::Ino directory = mount.ino_of("d");
  const auto kept = [&mount](vfs::Ino ino) {
    return mount.call(request::getattr(ino)).as<fuse_attr_out>().attr_valid;
  };
  const auto found = [&mount] {
    return mount.call(request::lookup(kRoot, "d")).as<fuse_entry_out>();
  };
  EXPECT_EQ(kept(directory), 1U);
  EXPECT_EQ(found().attr_valid, 1U);
  const FuseReply created = mount.call(request::create(directory, "new", O_WRONLY));
  ASSERT_EQ(created.error, 0);
  const auto handle = created.as<fuse_open_out>(sizeof(fuse_entry_out)).fh;
  EXPECT_EQ(kept(directory), 0U);
  EXPECT_EQ(found().attr_valid, 0U);
  EXPECT_EQ(found().entry_valid, 30U) << "its name stays";
  EXPECT_EQ(kept(mount.ino_of("e")), 1U) << "the control: another directory";
  EXPECT_EQ(kept(kRoot), 1U) << "its names stay";
  const vfs::Ino file = created.as<fuse_entry_out>().nodeid;
  EXPECT_EQ(mount.call(request::flush(file, handle)).error, 0);
  EXPECT_EQ(kept(directory), 0U) << "it may be written and stored again";
  EXPECT_EQ(mount.call(request::release(file, handle)).error, 0);
  EXPECT_TRUE(fakes::eventually([&] { return kept(directory) == 1; }));
  FakeMount read_only({.is_writable = false});
  EXPECT_EQ(read_only.call(request::getattr(kRoot)).as<fuse_attr_out>().attr_valid, 86400U);
}

TEST(FuseNames, AListingHasEveryNameHoweverSmallTheBuffer) {
  FakeMount mount;
  for (const char* key : {"a", "b", "c/d", "e"}) mount.store.put(key, "1");
  const std::vector<std::string> expected = {".", "..", "a", "b", "c", "e"};
  EXPECT_EQ(list(mount, /*plus=*/false), expected);
  EXPECT_EQ(list(mount, /*plus=*/false, 2 * 32), expected);
  EXPECT_EQ(list(mount, /*plus=*/true), expected);
  EXPECT_EQ(list(mount, /*plus=*/true, 2 * 160), expected);
}

TEST(FuseNames, AListingWithInodesGivesReferencesOnlyToWhatItHoldsAndAPlainOneNone) {
  FakeMount mount({.is_writable = false});
  for (const char* key : {"a", "b", "c"}) mount.store.put(key, "1");
  list(mount, /*plus=*/false);
  EXPECT_EQ(mount.gauge("vfs_inodes"), 1);
  list(mount, /*plus=*/true, 3 * 160);
  EXPECT_EQ(mount.gauge("vfs_inodes"), 4);
  EXPECT_EQ(mount.kernel.lookups(mount.ino_of("a")), 2U) << "one of the listing, one of the lookup";
  mount.kernel.forget_all();
  EXPECT_TRUE(fakes::eventually([&] { return mount.gauge("vfs_inodes") == 1; }));
}

// readdir(3) skips an entry whose d_ino is 0.
TEST(FuseNames, AListingWithInodesShowsAFileThatIsBeingOverwritten) {
  FakeMount mount;
  mount.store.put("a", "1");
  const vfs::Ino version = mount.ino_of("a");
  ASSERT_EQ(mount.call(request::open(version, O_WRONLY | O_TRUNC)).error, ESTALE);
  const std::uint64_t handle = mount.call(request::opendir(kRoot)).as<fuse_open_out>().fh;
  const FuseReply reply = mount.call(request::readdir(kRoot, handle, 2, 4096, /*plus=*/true));
  const auto listed = fakes::names_in(reply.body, /*plus=*/true);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed.front().name, "a");
  EXPECT_EQ(listed.front().node, 0U) << "the control: its name stands for no version";
  EXPECT_NE(reply.as<fuse_dirent>(sizeof(fuse_entry_out)).ino, 0U);
}

TEST(FuseNames, ALookupOrListingThatTheKernelDoesNotTakeKeepsNoReference) {
  FakeMount mount({.is_writable = false});
  mount.store.put("a", "1");
  EXPECT_TRUE(mount.kernel.await_refusal(mount.kernel.send_given_up(request::lookup(kRoot, "a"))));
  const std::uint64_t handle = mount.call(request::opendir(kRoot)).as<fuse_open_out>().fh;
  EXPECT_TRUE(mount.kernel.await_refusal(
      mount.kernel.send_given_up(request::readdir(kRoot, handle, 0, 4096, /*plus=*/true))));
  EXPECT_TRUE(fakes::eventually([&] { return mount.gauge("vfs_inodes") == 1; }));
}

TEST(FuseNames, ADirectoryThatCannotBeListedSaysWhy) {
  FakeMount mount;
  mount.store.put("file", "1");
  EXPECT_EQ(mount.call(request::opendir(mount.ino_of("file"))).error, ENOTDIR);
  const std::uint64_t handle = mount.call(request::opendir(kRoot)).as<fuse_open_out>().fh;
  mount.store.fail_next(Operation::kList, 1, ErrorCode::kServerError);
  EXPECT_EQ(mount.call(request::readdir(kRoot, handle, 0, 4096, false)).error, EIO);
  EXPECT_EQ(mount.call(request::readdir(kRoot, handle, 0, 4096, false)).error, 0) << "the control";
}

TEST(FuseNames, DirectoriesAreMadeAndRemoved) {
  FakeMount mount;
  const FuseReply made = mount.call(request::mkdir(kRoot, "d"));
  EXPECT_EQ(made.as<fuse_entry_out>().attr.mode, S_IFDIR | 0750U);
  EXPECT_TRUE(mount.store.object("d/"));
  EXPECT_EQ(mount.call(request::mkdir(kRoot, "d")).error, EEXIST);
  EXPECT_EQ(mount.call(request::mkdir(kRoot, kLongName)).error, ENAMETOOLONG);
  mount.store.put("d/file", "1");
  EXPECT_EQ(mount.call(request::rmdir(kRoot, "d")).error, ENOTEMPTY);
  EXPECT_EQ(mount.call(request::unlink(made.as<fuse_entry_out>().nodeid, "file")).error, 0);
  EXPECT_EQ(mount.call(request::rmdir(kRoot, "d")).error, 0);
  EXPECT_FALSE(mount.store.object("d/"));
}

TEST(FuseNames, FilesAreRemovedOrTheReasonIsSaid) {
  FakeMount mount;
  mount.store.put("a", "1");
  mount.store.fail_next(Operation::kRemove, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(mount.call(request::unlink(kRoot, "a")).error, EACCES);
  EXPECT_EQ(mount.call(request::unlink(kRoot, "a")).error, 0);
  EXPECT_FALSE(mount.store.object("a"));
}

TEST(FuseNames, LinksAndDevicesAreNotPermitted) {
  FakeMount mount;
  FakeMount read_only({.is_writable = false});
  for (const FuseRequest& refused :
       {request::link(kRoot, kRoot, "a"), request::symlink(kRoot, "a", "b"),
        request::mknod(kRoot, "a", S_IFIFO), request::mknod(kRoot, "a", S_IFBLK)}) {
    EXPECT_EQ(mount.call(refused).error, EPERM) << refused.opcode;
    EXPECT_EQ(read_only.call(refused).error, EROFS) << refused.opcode;
  }
}

TEST(FuseNames, MknodMakesAnEmptyFileOnce) {
  FakeMount mount;
  EXPECT_EQ(mount.call(request::mknod(kRoot, "a", S_IFREG | 0600)).error, 0);
  EXPECT_EQ(mount.store.object("a"), "");
  EXPECT_EQ(mount.call(request::mknod(kRoot, "a", S_IFREG | 0600)).error, EEXIST);
  EXPECT_EQ(mount.call(request::mknod(kRoot, kLongName, S_IFREG)).error, ENAMETOOLONG);
}

TEST(FuseNames, FilesAreRenamedByTheFlagsOfRenameat2) {
  FakeMount mount;
  mount.store.put("a", "a");
  mount.store.put("b", "b");
  mount.ino_of("a");  // as the kernel does
  EXPECT_EQ(mount.call(request::rename(kRoot, "a", "b", RENAME_NOREPLACE)).error, EEXIST);
  EXPECT_EQ(mount.call(request::rename(kRoot, "a", "b", RENAME_EXCHANGE)).error, EINVAL);
  EXPECT_EQ(mount.call(request::rename(kRoot, "a", "c", RENAME_WHITEOUT)).error, EINVAL);
  EXPECT_EQ(mount.call(request::rename(kRoot, "a", kLongName)).error, ENAMETOOLONG);
  EXPECT_EQ(mount.store.object("b"), "b");
  EXPECT_EQ(mount.call(request::rename(kRoot, "a", "b")).error, 0);
  EXPECT_EQ(mount.store.object("b"), "a");
  EXPECT_EQ(mount.call(request::rename(kRoot, "a", "c")).error, ENOENT);
  FakeMount read_only({.is_writable = false});
  EXPECT_EQ(read_only.call(request::rename(kRoot, "a", "b")).error, EROFS);
}

TEST(FuseNames, AReadOnlyMountChangesNothing) {
  FakeMount mount({.is_writable = false});
  mount.store.put("a", "1");
  const vfs::Ino ino = mount.ino_of("a");
  for (const FuseRequest& change :
       {request::mkdir(kRoot, "d"), request::unlink(kRoot, "a"), request::rmdir(kRoot, "a"),
        request::create(kRoot, "b", O_WRONLY), request::open(ino, O_WRONLY),
        request::open(ino, O_RDONLY | O_TRUNC), request::setattr(ino, FATTR_MODE),
        request::setattr(ino, FATTR_SIZE)}) {
    EXPECT_EQ(mount.call(change).error, EROFS) << change.opcode;
  }
  EXPECT_EQ(mount.store.object("a"), "1");
}

TEST(FuseNames, AccessIsRefusedToWriteOnAReadOnlyMountAndToUnknownInodes) {
  FakeMount mount;
  FakeMount read_only({.is_writable = false});
  EXPECT_EQ(mount.call(request::access(kRoot, W_OK)).error, 0);
  EXPECT_EQ(read_only.call(request::access(kRoot, W_OK)).error, EROFS);
  EXPECT_EQ(read_only.call(request::access(kRoot, R_OK | X_OK)).error, 0);
  EXPECT_EQ(mount.call(request::access(kUnknownIno, R_OK)).error, ENOENT);
}

TEST(FuseNames, TheFileSystemIsNeverOfSizeZeroAndFullWhereItIsReadOnly) {
  FakeMount mount;
  FakeMount read_only({.is_writable = false});
  const auto writable = mount.call(request::statfs()).as<fuse_statfs_out>().st;
  EXPECT_GT(writable.blocks, 0U);
  EXPECT_EQ(writable.bavail, writable.blocks);
  EXPECT_EQ(writable.namelen, 255U);
  const auto full = read_only.call(request::statfs()).as<fuse_statfs_out>().st;
  EXPECT_GT(full.blocks, 0U);
  EXPECT_EQ(full.bavail, 0U);
  EXPECT_EQ(mount.store.calls().size(), 0U) << "df never waits for the network";
}

}  // namespace
}  // namespace s3rdmafs::fuse
