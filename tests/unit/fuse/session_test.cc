// SPDX-License-Identifier: Apache-2.0
// A mount from INIT to its end, as the kernel sees it.
#include "fuse/session.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "fake_mount.h"
#include "fakes/log_capture.h"
#include "fuse/kernel/kernel_settings.h"

namespace s3rdmafs::fuse {
namespace {

std::uint64_t flags_of(const fuse_init_out& granted) {
  return granted.flags | std::uint64_t{granted.flags2} << 32;
}

// For another session over what this mount serves.
MountContext context_of(FakeMount& mount) {
  return {.file_system = *mount.file_system,
          .clock = mount.clock,
          .metrics = mount.metrics,
          .presentation = {}};
}

TEST(Session, AsksTheKernelForWhatReadAheadLivesOnAndForNothingThatReordersWrites) {
  FakeMount mount;
  const std::uint64_t flags = flags_of(mount.granted);
  EXPECT_EQ(mount.granted.major, 7U);
  for (const std::uint64_t wanted :
       {std::uint64_t{FUSE_ASYNC_READ}, std::uint64_t{FUSE_ASYNC_DIO},
        std::uint64_t{FUSE_PARALLEL_DIROPS}, std::uint64_t{FUSE_DO_READDIRPLUS},
        std::uint64_t{FUSE_EXPLICIT_INVAL_DATA}, std::uint64_t{FUSE_ATOMIC_O_TRUNC},
        std::uint64_t{FUSE_DIRECT_IO_ALLOW_MMAP}}) {
    EXPECT_EQ(flags & wanted, wanted);
  }
  EXPECT_EQ(flags & (FUSE_WRITEBACK_CACHE | FUSE_AUTO_INVAL_DATA), 0U);
  EXPECT_EQ(mount.granted.max_write, request_bytes_granted());
  EXPECT_EQ(mount.granted.max_background, kBackgroundMax);
}

TEST(Session, GetsTheInodesOfEveryListing) {
  for (const bool is_writable : {false, true}) {
    FakeMount mount({.is_writable = is_writable});
    EXPECT_NE(flags_of(mount.granted) & FUSE_DO_READDIRPLUS, 0U);
    EXPECT_EQ(flags_of(mount.granted) & FUSE_READDIRPLUS_AUTO, 0U) << "not only of those looked at";
  }
  FakeMount posix({.is_staged = true, .posix = vfs::PosixMetadata::kRead});
  EXPECT_NE(flags_of(posix.granted) & FUSE_READDIRPLUS_AUTO, 0U) << "there each costs a request";
}

TEST(Session, AsksForPassthroughOnlyWhereThereAreWholeObjectsAndAKernelThatHasIt) {
  FakeMount without;
  EXPECT_EQ(flags_of(without.granted) & FUSE_PASSTHROUGH, 0U);
  FakeMount with({.is_writable = false, .has_whole_objects = true});
  EXPECT_NE(flags_of(with.granted) & FUSE_PASSTHROUGH, 0U);
  EXPECT_TRUE(with.context.passes_through);
  FakeMount old({.is_writable = false,
                 .has_whole_objects = true,
                 .kernel = {.flags = FakeKernel::kAllFlags & ~FUSE_PASSTHROUGH}});
  EXPECT_FALSE(old.context.passes_through);
}

TEST(Session, ServesAKernelThatHasNoneOfIt) {
  FakeMount mount({.kernel = {.minor = 23, .flags = 0}});
  mount.store.put("a", "bytes");
  EXPECT_FALSE(mount.context.direct_io_allows_mmap);
  const vfs::Ino ino = mount.ino_of("a");
  EXPECT_EQ(mount.call(request::read(ino, mount.open(ino), 0, 100)).body, "bytes");
}

TEST(Session, OverARingRequestsAreNoLargerThanItsBuffers) {
  FakeMount mount({.over_ring = true});
  EXPECT_LE(mount.granted.max_write, 1U << 20);
  EXPECT_EQ(mount.metrics.gauge("fuse_transport", "", R"(transport="dev")").value(), 1)
      << "the kernel did not grant a ring";
}

TEST(Session, RefusesOptionsThatLibfuseDoesNotKnow) {
  FakeMount mount;
  MountContext context = context_of(mount);
  const auto refused = Session::mount(
      context, {.source = "s", .mount_point = "/nowhere", .kernel_options = "no_such_option"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

TEST(Session, AMountPointThatIsNotThereIsAnErrorOfTheSystem) {
  FakeMount mount;
  MountContext context = context_of(mount);
  const auto failed = Session::mount(context, {.source = "s", .mount_point = "/dev/fd/999999"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kSystem);
}

TEST(Session, ADeviceThatBreaksEndsServeAndIsLogged) {
  const fakes::LogCapture log;
  {
    FakeMount mount;
    mount.kernel.unmount(EIO);
    mount.unmount();
  }
  EXPECT_EQ(log.lines_with("the session ended").size(), 1U);
}

TEST(Session, TakesFurtherOptionsForTheKernelAndChoosesItsThreads) {
  FakeMount mount({.threads = 0});
  MountContext context = context_of(mount);
  FakeKernel kernel;
  EXPECT_TRUE(Session::mount(context, {.source = "s",
                                       .mount_point = kernel.make_device(),
                                       .allow_other = true,
                                       .kernel_options = "nosuid,nodev"}));
  EXPECT_EQ(mount.call(request::getattr(kRoot)).error, 0);
  kernel.unmount();
}

TEST(Session, StopEndsServeAsAnUnmountDoes) {
  FakeMount mount;
  mount.session->stop();
  mount.unmount();
  EXPECT_FALSE(mount.serving.joinable());
}

TEST(Session, AnOperationThatItDoesNotHaveIsRefusedAndTheMountGoesOn) {
  FakeMount mount;
  mount.store.put("a", "bytes");
  for (const std::uint32_t opcode :
       {9999U, 19U, static_cast<std::uint32_t>(FUSE_BMAP), static_cast<std::uint32_t>(FUSE_LSEEK),
        static_cast<std::uint32_t>(FUSE_IOCTL)}) {
    EXPECT_EQ(mount.call(request::bare(opcode)).error, ENOSYS) << opcode;
  }
  EXPECT_EQ(mount.call(request::lookup(kRoot, "a")).error, 0);
}

TEST(Session, DestroyIsAnsweredAndEndsNothingThatIsUnderWay) {
  FakeMount mount;
  mount.store.put("a", "bytes");
  mount.store.hold();
  const auto lookup = mount.kernel.send(request::lookup(kRoot, "a"));
  ASSERT_TRUE(mount.holds(2)) << "the object and what is below its name";
  EXPECT_EQ(mount.call({.opcode = FUSE_DESTROY}).error, 0);
  mount.store.release_all();
  EXPECT_EQ(mount.kernel.await(lookup).error, 0);
}

TEST(CheckFuseDevice, SaysWhatToDoWhereTheDeviceCannotBeOpened) {
  const auto checked = check_fuse_device();
  if (checked) {
    EXPECT_EQ(::access("/dev/fuse", R_OK | W_OK), 0);
  } else {
    EXPECT_NE(checked.error().detail.find("; "), std::string::npos);
  }
}

}  // namespace
}  // namespace s3rdmafs::fuse
