// SPDX-License-Identifier: Apache-2.0
// Files that are written: create, open, write, flush, fsync, release, truncate.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "fake_mount.h"

namespace s3rdmafs::fuse {
namespace {

constexpr std::uint32_t kEndedProcess = 1U << 22;  // PID_MAX_LIMIT: no process has it
const auto kOtherProcess = static_cast<std::uint32_t>(::getppid());

class FuseWrite : public testing::Test {
 protected:
  struct File {
    vfs::Ino ino = 0;
    std::uint64_t handle = 0;
    std::uint32_t flags = 0;
  };
  File create(const std::string& name, std::uint32_t pid = static_cast<std::uint32_t>(::getpid())) {
    FuseRequest how = request::create(kRoot, name, O_WRONLY);
    how.pid = pid;
    const FuseReply reply = mount_.call(how);
    EXPECT_EQ(reply.error, 0);
    const auto opened = reply.as<fuse_open_out>(sizeof(fuse_entry_out));
    return {reply.as<fuse_entry_out>().nodeid, opened.fh, opened.open_flags};
  }
  FuseReply write(const File& file, std::uint64_t offset, std::string_view bytes) {
    return mount_.call(request::write(file.ino, file.handle, offset, bytes));
  }
  int flush(const File& file, std::uint32_t pid = static_cast<std::uint32_t>(::getpid())) {
    FuseRequest how = request::flush(file.ino, file.handle);
    how.pid = pid;
    return mount_.call(how).error;
  }

  FakeMount mount_;
  fakes::FakeObjectStore& store_ = mount_.store;
};

TEST_F(FuseWrite, AFileIsStoredWhenTheProcessThatOpenedItClosesIt) {
  const File file = create("file");
  EXPECT_NE(file.flags & FOPEN_DIRECT_IO, 0U);
  EXPECT_EQ(write(file, 0, "some ").as<fuse_write_out>().size, 5U);
  EXPECT_EQ(write(file, 5, "bytes").as<fuse_write_out>().size, 5U);
  EXPECT_FALSE(store_.object("file"));
  EXPECT_EQ(flush(file), 0);
  EXPECT_EQ(store_.object("file"), "some bytes");
  EXPECT_EQ(mount_.call(request::release(file.ino, file.handle)).error, 0);
  EXPECT_EQ(mount_.counter("fuse_written_bytes_total"), 10U);
}

TEST_F(FuseWrite, ACloseByAnotherProcessStoresNothingWhileTheOpenerRuns) {
  const File file = create("file", kOtherProcess);
  write(file, 0, "bytes");
  EXPECT_EQ(flush(file), 0);
  EXPECT_FALSE(store_.object("file"));
  EXPECT_EQ(flush(file, kOtherProcess), 0) << "the control";
  EXPECT_TRUE(store_.object("file"));
}

TEST_F(FuseWrite, ACloseStoresTheFileWhereItsOpenerIsGoneOrTheProcessIsNotKnown) {
  const File orphan = create("orphan", kEndedProcess);
  write(orphan, 0, "bytes");
  EXPECT_EQ(flush(orphan), 0);
  EXPECT_TRUE(store_.object("orphan"));
  const File file = create("file", kOtherProcess);
  write(file, 0, "bytes");
  EXPECT_EQ(flush(file, 0), 0);
  EXPECT_TRUE(store_.object("file"));
}

TEST_F(FuseWrite, AnEmptyFileIsStoredByItsClose) {
  EXPECT_EQ(flush(create("empty")), 0);
  EXPECT_EQ(store_.object("empty"), "");
}

TEST_F(FuseWrite, FsyncStoresTheFileAndAHandleForReadingHasNothingToStore) {
  const File file = create("file");
  write(file, 0, "bytes");
  EXPECT_EQ(mount_.call(request::fsync(file.ino, file.handle)).error, 0);
  EXPECT_EQ(store_.object("file"), "bytes");
  store_.put("other", "1");
  const vfs::Ino ino = mount_.ino_of("other");
  const std::uint64_t reading = mount_.open(ino);
  EXPECT_EQ(mount_.call(request::fsync(ino, reading)).error, 0);
  EXPECT_EQ(mount_.call(request::flush(ino, reading)).error, 0);
}

TEST_F(FuseWrite, AStoreThatFailsIsToldAtTheCloseAndCounted) {
  const File file = create("file");
  write(file, 0, "bytes");
  store_.fail_next(Operation::kPut, 1, ErrorCode::kAccessDenied);
  EXPECT_EQ(flush(file), EACCES);
  EXPECT_EQ(mount_.counter("fuse_errors_total"), 1U);
}

TEST_F(FuseWrite, AWriteOutOfOrderIsRefusedAndCounted) {
  const File file = create("file");
  EXPECT_EQ(write(file, 4096, "bytes").error, EOPNOTSUPP);
  EXPECT_EQ(mount_.counter("fuse_errors_total"), 1U);
}

TEST_F(FuseWrite, ReleaseStoresWhatNoCloseStored) {
  const File file = create("file", kOtherProcess);
  write(file, 0, "bytes");
  EXPECT_EQ(mount_.call(request::release(file.ino, file.handle)).error, 0);
  EXPECT_TRUE(fakes::eventually([this] { return store_.object("file").has_value(); }));
}

TEST_F(FuseWrite, CreatingWhatIsThereFailsAsItIsAskedFor) {
  store_.put("file", "old");
  EXPECT_EQ(mount_.call(request::create(kRoot, "file", O_WRONLY | O_EXCL)).error, EEXIST);
  EXPECT_EQ(mount_.call(request::create(kRoot, "file", O_WRONLY)).error, ESTALE);
  EXPECT_EQ(mount_.call(request::create(kRoot, std::string(256, 'n'), O_WRONLY)).error,
            ENAMETOOLONG);
}

TEST_F(FuseWrite, AVersionIsReplacedByOpeningTheInodeThatItsNameStandsForThen) {
  store_.put("file", "old");
  EXPECT_EQ(mount_.call(request::open(mount_.ino_of("file"), O_WRONLY | O_TRUNC)).error, ESTALE);
  const vfs::Ino ino = mount_.ino_of("file");
  const FuseReply opened = mount_.call(request::open(ino, O_WRONLY | O_TRUNC));
  ASSERT_EQ(opened.error, 0);
  const auto out = opened.as<fuse_open_out>();
  EXPECT_NE(out.open_flags & FOPEN_DIRECT_IO, 0U);
  const File file{ino, out.fh};
  write(file, 0, "newer");
  EXPECT_EQ(flush(file), 0);
  EXPECT_EQ(store_.object("file"), "newer");
}

TEST_F(FuseWrite, AnOpenToWriteThatTheKernelDoesNotTakeLetsTheNextOneWrite) {
  store_.put("file", "old");
  mount_.call(request::open(mount_.ino_of("file"), O_WRONLY | O_TRUNC));
  const FuseRequest open = request::open(mount_.ino_of("file"), O_WRONLY | O_TRUNC);
  EXPECT_TRUE(mount_.kernel.await_refusal(mount_.kernel.send_given_up(open)));
  EXPECT_TRUE(fakes::eventually([this] {
    const vfs::Ino ino = mount_.ino_of("file");
    return mount_.call(request::open(ino, O_WRONLY | O_TRUNC)).error == 0;
  }));
}

TEST_F(FuseWrite, TruncatingChangesSizesThatObjectsCanHave) {
  store_.put("file", "old");
  const vfs::Ino ino = mount_.ino_of("file");
  EXPECT_EQ(mount_.call(request::setattr(ino, FATTR_SIZE, 3)).as<fuse_attr_out>().attr.size, 3U);
  EXPECT_EQ(mount_.call(request::setattr(ino, FATTR_SIZE, 2)).error, EOPNOTSUPP);
}

TEST_F(FuseWrite, ModesAndTimesAreAcceptedAndChangeNothing) {
  store_.put("file", "old");
  const vfs::Ino ino = mount_.ino_of("file");
  const auto after =
      mount_.call(request::setattr(ino, FATTR_MODE | FATTR_UID | FATTR_MTIME)).as<fuse_attr_out>();
  EXPECT_EQ(after.attr.mode & 0777U, 0640U);
  EXPECT_EQ(after.attr.uid, 7U);
  EXPECT_EQ(mount_.call(request::setattr(0x1234567, FATTR_MODE)).error, ENOENT);
}

}  // namespace
}  // namespace s3rdmafs::fuse
