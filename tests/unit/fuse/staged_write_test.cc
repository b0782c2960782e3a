// SPDX-License-Identifier: Apache-2.0
// The edge of staged files: modes of opens, truncation, fallocate, flush.
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "fake_mount.h"

namespace s3rdmafs::fuse {
namespace {

class FuseStagedWrite : public testing::Test {
 protected:
  std::string read(vfs::Ino ino, std::uint64_t handle) {
    return mount_.call(request::read(ino, handle, 0, 100)).body;
  }
  int write(vfs::Ino ino, std::uint64_t handle, std::uint64_t offset, std::string_view bytes) {
    return mount_.call(request::write(ino, handle, offset, bytes)).error;
  }
  int flush(vfs::Ino ino, std::uint64_t handle) {
    FuseRequest how = request::flush(ino, handle);
    how.pid = static_cast<std::uint32_t>(::getpid());
    return mount_.call(how).error;
  }
  int fallocate(vfs::Ino ino, std::uint64_t handle, int mode, std::uint64_t at,
                std::uint64_t length) {
    return mount_.call(request::fallocate(ino, handle, mode, at, length)).error;
  }

  FakeMount mount_{{.is_staged = true}};
  fakes::FakeObjectStore& store_ = mount_.store;
};

TEST_F(FuseStagedWrite, AFileIsReadAndWrittenThroughThePageCache) {
  store_.put("file", "0123456789");
  const vfs::Ino ino = mount_.ino_of("file");
  const FuseReply opened = mount_.call(request::open(ino, O_RDWR));
  ASSERT_EQ(opened.error, 0);
  const auto flags = opened.as<fuse_open_out>().open_flags;
  EXPECT_EQ(flags & FOPEN_DIRECT_IO, 0U);
  EXPECT_NE(flags & FOPEN_KEEP_CACHE, 0U);
  const std::uint64_t handle = opened.as<fuse_open_out>().fh;
  EXPECT_EQ(write(ino, handle, 2, "ab"), 0);
  EXPECT_EQ(read(ino, handle), "01ab456789");
  EXPECT_EQ(flush(ino, handle), 0);
  EXPECT_EQ(store_.object("file"), "01ab456789");
  EXPECT_EQ(mount_.call(request::release(ino, handle)).error, 0);
}

TEST_F(FuseStagedWrite, AWriteThatIsToBeSynchronousIsStoredAtOnce) {
  store_.put("file", "0123");
  const vfs::Ino ino = mount_.ino_of("file");
  const std::uint64_t handle = mount_.open(ino, O_RDWR | O_SYNC);
  EXPECT_EQ(write(ino, handle, 0, "ab"), 0);
  EXPECT_EQ(store_.object("file"), "ab23");
  EXPECT_EQ(mount_.call(request::release(ino, handle)).error, 0);
}

TEST_F(FuseStagedWrite, ANewFileChangesItsDirectoryWhenItIsCreatedAndNotWhenItIsStored) {
  const auto root = [this] { return mount_.call(request::getattr(kRoot)).as<fuse_attr_out>(); };
  const auto time_of_root = [&] { return std::pair(root().attr.mtime, root().attr.mtimensec); };
  const auto before = time_of_root();
  const FuseReply created = mount_.call(request::create(kRoot, "new", O_WRONLY));
  ASSERT_EQ(created.error, 0);
  const auto after = time_of_root();
  EXPECT_GT(after, before);
  EXPECT_EQ(root().attr_valid, 1U);
  const vfs::Ino ino = created.as<fuse_entry_out>().nodeid;
  const std::uint64_t handle = created.as<fuse_open_out>(sizeof(fuse_entry_out)).fh;
  EXPECT_EQ(write(ino, handle, 0, "ab"), 0);
  EXPECT_EQ(flush(ino, handle), 0);
  EXPECT_EQ(store_.object("new"), "ab");
  EXPECT_EQ(time_of_root(), after);
  EXPECT_EQ(mount_.call(request::release(ino, handle)).error, 0);
  EXPECT_EQ(mount_.call(request::unlink(kRoot, "new")).error, 0);
  EXPECT_GT(time_of_root(), after) << "the control";
}

TEST_F(FuseStagedWrite, FallocateExtendsAndMakesHolesAndRefusesToReserve) {
  store_.put("file", "0123456789");
  const vfs::Ino ino = mount_.ino_of("file");
  const std::uint64_t handle = mount_.open(ino, O_RDWR);
  EXPECT_EQ(fallocate(ino, handle, 0, 0, 12), 0);
  EXPECT_EQ(fallocate(ino, handle, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1, 2), 0);
  EXPECT_EQ(fallocate(ino, handle, FALLOC_FL_KEEP_SIZE, 0, 100), EOPNOTSUPP);
  EXPECT_EQ(read(ino, handle), std::string("0\0\0003456789\0\0", 12));
  EXPECT_EQ(flush(ino, handle), 0);
  EXPECT_EQ(store_.object("file"), std::string("0\0\0003456789\0\0", 12));
  EXPECT_EQ(mount_.call(request::release(ino, handle)).error, 0);
}

TEST_F(FuseStagedWrite, ANewFileIsWrittenByTheKernelAndStoredByItsClose) {
  const FuseReply created =
      mount_.call(request::create(vfs::kRootIno, "new", O_WRONLY | O_CREAT | O_EXCL));
  ASSERT_EQ(created.error, 0);
  const auto opened = created.as<fuse_open_out>(sizeof(fuse_entry_out));
  EXPECT_NE(opened.open_flags & FOPEN_PASSTHROUGH, 0U);
  EXPECT_EQ(mount_.kernel.backing_ids(), 1U);
  const vfs::Ino ino = created.as<fuse_entry_out>().nodeid;
  EXPECT_EQ(flush(ino, opened.fh), 0);
  EXPECT_EQ(store_.object("new"), "");
  EXPECT_EQ(mount_.call(request::release(ino, opened.fh)).error, 0);
  EXPECT_EQ(mount_.kernel.backing_ids(), 0U);
}

TEST_F(FuseStagedWrite, OnlyAHandleThatWritesAloneMakesTheKernelWriteTheFile) {
  for (const int flags : {O_RDWR, O_WRONLY | O_SYNC, O_WRONLY | O_DSYNC, O_RDONLY}) {
    const std::string name = std::to_string(flags);
    const FuseReply created = mount_.call(request::create(vfs::kRootIno, name, flags | O_CREAT));
    ASSERT_EQ(created.error, 0);
    const auto opened = created.as<fuse_open_out>(sizeof(fuse_entry_out));
    EXPECT_EQ(opened.open_flags & FOPEN_PASSTHROUGH, 0U) << flags;
    EXPECT_EQ(mount_.call(request::release(created.as<fuse_entry_out>().nodeid, opened.fh)).error,
              0);
  }
}

TEST_F(FuseStagedWrite, AFileIsWrittenByTheKernelWhereTheOpenEmptiesIt) {
  store_.put("file", "0123456789");
  const vfs::Ino ino = mount_.ino_of("file");
  const FuseReply kept = mount_.call(request::open(ino, O_WRONLY));
  EXPECT_EQ(kept.as<fuse_open_out>().open_flags & FOPEN_PASSTHROUGH, 0U) << "the control";
  EXPECT_EQ(mount_.call(request::release(ino, kept.as<fuse_open_out>().fh)).error, 0);
  const FuseReply emptied = mount_.call(request::open(ino, O_WRONLY | O_TRUNC));
  ASSERT_EQ(emptied.error, 0);
  EXPECT_NE(emptied.as<fuse_open_out>().open_flags & FOPEN_PASSTHROUGH, 0U);
  const FuseReply second = mount_.call(request::open(ino, O_WRONLY | O_DSYNC));
  const auto flags = second.as<fuse_open_out>().open_flags;
  EXPECT_NE(flags & FOPEN_PASSTHROUGH, 0U);
  EXPECT_NE(flags & FOPEN_DIRECT_IO, 0U) << "its writes come to the daemon";
  EXPECT_EQ(write(ino, second.as<fuse_open_out>().fh, 0, "ab"), 0);
  EXPECT_EQ(store_.object("file"), "ab");
  EXPECT_EQ(mount_.call(request::release(ino, second.as<fuse_open_out>().fh)).error, 0);
  EXPECT_EQ(mount_.call(request::release(ino, emptied.as<fuse_open_out>().fh)).error, 0);
  EXPECT_EQ(mount_.kernel.backing_ids(), 0U);
}

}  // namespace
}  // namespace s3rdmafs::fuse
