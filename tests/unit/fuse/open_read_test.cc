// SPDX-License-Identifier: Apache-2.0
// Files that are read: open, read, release, the page cache and passthrough.
#include <fcntl.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "fake_mount.h"
#include "fuse/io_mode_policy.h"

namespace s3rdmafs::fuse {
namespace {

constexpr FakeMount::Options kPassthrough{.is_writable = false, .has_whole_objects = true};
const std::string kLargeFile(IoModePolicy::kLargeFileBytes, 'x');

fuse_open_out open_flags(FakeMount& mount, vfs::Ino ino) {
  const FuseReply reply = mount.call(request::open(ino, O_RDONLY));
  EXPECT_EQ(reply.error, 0);
  return reply.as<fuse_open_out>();
}

void release(FakeMount& mount, vfs::Ino ino, std::uint64_t handle) {
  EXPECT_EQ(mount.call(request::release(ino, handle)).error, 0);
}

TEST(FuseRead, BytesComeInOnePieceOrTwoClippedToTheEnd) {
  FakeMount mount;
  mount.store.put("a", "0123456789");
  const vfs::Ino ino = mount.ino_of("a");
  const std::uint64_t handle = mount.open(ino);
  EXPECT_EQ(mount.call(request::read(ino, handle, 3, 4)).body, "3456");
  EXPECT_EQ(mount.call(request::read(ino, handle, 8, 4096)).body, "89");
  EXPECT_EQ(mount.call(request::read(ino, handle, 10, 4096)).body, "");
  mount.cache.split_reads();
  EXPECT_EQ(mount.call(request::read(ino, handle, 1, 7)).body, "1234567");
  EXPECT_EQ(mount.counter("fuse_read_bytes_total"), 13U);
}

TEST(FuseRead, TheLargestRequestsAreServedWhole) {
  FakeMount mount;
  const std::string bytes = kLargeFile + "end";
  mount.store.put("a", bytes);
  const vfs::Ino ino = mount.ino_of("a");
  const std::uint64_t handle = mount.open(ino);
  const std::uint32_t largest = mount.granted.max_write;
  EXPECT_EQ(mount.call(request::read(ino, handle, bytes.size() - largest, largest)).body,
            bytes.substr(bytes.size() - largest));
  mount.cache.split_reads();
  EXPECT_EQ(mount.call(request::read(ino, handle, bytes.size() - largest, largest)).body,
            bytes.substr(bytes.size() - largest));
}

TEST(FuseRead, AReadThatFailsIsAnErrorAndTheNextOneIsServed) {
  FakeMount mount;
  mount.store.put("a", "bytes");
  const vfs::Ino ino = mount.ino_of("a");
  const std::uint64_t handle = mount.open(ino);
  mount.store.fail_next(Operation::kGet, 1, ErrorCode::kTimedOut);
  EXPECT_EQ(mount.call(request::read(ino, handle, 0, 5)).error, EIO);
  EXPECT_EQ(mount.counter("fuse_errors_total"), 1U);
  EXPECT_EQ(mount.call(request::read(ino, handle, 0, 5)).body, "bytes");
  mount.store.put("a", "newer");
  EXPECT_EQ(mount.call(request::read(ino, handle, 0, 5)).error, ESTALE);
}

TEST(FuseRead, AnOpenThatFailsLeavesNothingOpen) {
  FakeMount mount;
  mount.store.put("a", "bytes");
  mount.store.put("d/b", "bytes");
  EXPECT_EQ(mount.call(request::open(mount.ino_of("d"), O_RDONLY)).error, EISDIR);
  const vfs::Ino ino = mount.ino_of("a");
  mount.clock.advance(std::chrono::seconds(31));
  mount.store.put("a", "newer");
  EXPECT_EQ(mount.call(request::open(ino, O_RDONLY)).error, ESTALE);
  EXPECT_EQ(mount.gauge("vfs_open_files"), 0);
}

TEST(FuseRead, AnOpenThatTheKernelDoesNotTakeIsUndone) {
  FakeMount mount;
  mount.store.put("a", "bytes");
  const vfs::Ino ino = mount.ino_of("a");
  for (const FuseRequest& open : {request::open(ino, O_RDONLY), request::opendir(kRoot)}) {
    EXPECT_TRUE(mount.kernel.await_refusal(mount.kernel.send_given_up(open)));
    EXPECT_TRUE(fakes::eventually([&] { return mount.gauge("vfs_open_files") == 0; }));
  }
  EXPECT_TRUE(fakes::eventually([&] { return mount.context.io_modes.may_pass_through(ino); }));
}

TEST(FuseRead, SmallFilesGoThroughThePageCacheAndLargeOnesPastIt) {
  FakeMount mount;
  mount.store.put("small", "bytes");
  mount.store.put("large", kLargeFile);
  const auto small = open_flags(mount, mount.ino_of("small"));
  EXPECT_EQ(small.open_flags & (FOPEN_DIRECT_IO | FOPEN_KEEP_CACHE | FOPEN_NOFLUSH),
            FOPEN_KEEP_CACHE | FOPEN_NOFLUSH);
  EXPECT_NE(open_flags(mount, mount.ino_of("large")).open_flags & FOPEN_DIRECT_IO, 0U);
}

TEST(FuseRead, AFileThatIsMappedGoesThroughThePageCacheNextTime) {
  FakeMount mount;
  mount.store.put("large", kLargeFile);
  const vfs::Ino ino = mount.ino_of("large");
  auto opened = open_flags(mount, ino);
  for (std::uint64_t at = 0; at < 4; ++at) {
    mount.call(request::read(ino, opened.fh, at << 17, 1 << 17, /*direct=*/false));
  }
  release(mount, ino, opened.fh);
  opened = open_flags(mount, ino);
  EXPECT_EQ(opened.open_flags & FOPEN_DIRECT_IO, 0U);
  release(mount, ino, opened.fh);
}

TEST(FuseRead, ASmallFileComesIntoThePageCacheWithItsOpenAndIsNotStoredTwice) {
  FakeMount mount({.is_writable = false, .content_bytes_max = 4096});
  mount.cache.split_reads();
  mount.store.put("small", "bytes");
  const vfs::Ino ino = mount.ino_of("small");
  const std::uint64_t handle = mount.open(ino);
  EXPECT_EQ(mount.kernel.page_cache(ino), "bytes");
  release(mount, ino, mount.open(ino));
  release(mount, ino, handle);
  EXPECT_EQ(mount.counter("fuse_read_bytes_total"), 5U);
}

TEST(FuseRead, AFileWhoseBytesTheKernelDoesNotStoreIsOpenAllTheSame) {
  FakeMount mount({.is_writable = false, .content_bytes_max = 4096});
  mount.store.put("small", "bytes");
  mount.kernel.refuse_notifications(ENOMEM);
  const vfs::Ino ino = mount.ino_of("small");
  const std::uint64_t handle = mount.open(ino);
  EXPECT_EQ(mount.kernel.page_cache(ino), "");
  EXPECT_EQ(mount.call(request::read(ino, handle, 0, 100)).body, "bytes");
}

TEST(FusePassthrough, AllHandlesShareOneBackingFileThatGoesWithTheLast) {
  FakeMount mount(kPassthrough);
  mount.store.put("a", "bytes");
  const vfs::Ino ino = mount.ino_of("a");
  const auto first = open_flags(mount, ino);
  EXPECT_EQ(first.open_flags & (FOPEN_PASSTHROUGH | FOPEN_KEEP_CACHE), FOPEN_PASSTHROUGH);
  const auto second = open_flags(mount, ino);
  EXPECT_EQ(fakes::backing_id_of(second), fakes::backing_id_of(first));
  EXPECT_EQ(mount.kernel.backing_ids(), 1U);
  release(mount, ino, first.fh);
  EXPECT_EQ(mount.kernel.backing_ids(), 1U);
  release(mount, ino, second.fh);
  EXPECT_EQ(mount.kernel.backing_ids(), 0U);
  EXPECT_EQ(mount.whole.alive(), 0);
}

TEST(FusePassthrough, AFileThatCannotBeHadWholeIsReadByPiecesUntilItsLastHandleIsClosed) {
  FakeMount mount(kPassthrough);
  mount.store.put("a", "bytes");
  const vfs::Ino ino = mount.ino_of("a");
  mount.whole.refuse(true);
  const std::uint64_t handle = mount.open(ino);
  mount.whole.refuse(false);
  EXPECT_EQ(open_flags(mount, ino).open_flags & FOPEN_PASSTHROUGH, 0U) << "not two ways at once";
  EXPECT_EQ(mount.call(request::read(ino, handle, 0, 100)).body, "bytes");
}

TEST(FusePassthrough, AKernelThatRefusesTheFileGetsTheBytesFromUs) {
  FakeMount mount(
      {.is_writable = false, .has_whole_objects = true, .kernel = {.backs_files = false}});
  mount.store.put("a", "bytes");
  const vfs::Ino ino = mount.ino_of("a");
  const auto opened = open_flags(mount, ino);
  EXPECT_EQ(opened.open_flags & FOPEN_PASSTHROUGH, 0U);
  EXPECT_EQ(mount.call(request::read(ino, opened.fh, 0, 100)).body, "bytes");
  EXPECT_EQ(mount.whole.alive(), 0);
  EXPECT_EQ(mount.counter("passthrough_declined_total", R"(reason="kernel_refused")"), 1U);
}

TEST(FusePassthrough, AnOpenThatTheKernelDoesNotTakeHoldsNoObject) {
  FakeMount mount(kPassthrough);
  mount.store.put("a", "bytes");
  const vfs::Ino ino = mount.ino_of("a");
  EXPECT_TRUE(mount.kernel.await_refusal(mount.kernel.send_given_up(request::open(ino, O_RDONLY))));
  EXPECT_TRUE(fakes::eventually([&] { return mount.whole.alive() == 0; }));
  EXPECT_EQ(mount.gauge("vfs_open_files"), 0);
}

TEST(FusePassthrough, AnUnmountWithOpenFilesEndsInGoodOrder) {
  FakeMount mount(kPassthrough);
  mount.store.put("a", "bytes");
  std::ignore = open_flags(mount, mount.ino_of("a"));
  mount.unmount();
  EXPECT_EQ(mount.whole.alive(), 1) << "the kernel may read it until its files are closed";
}

}  // namespace
}  // namespace s3rdmafs::fuse
