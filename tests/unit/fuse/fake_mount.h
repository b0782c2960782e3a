// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_read_cache.h"
#include "fakes/fuse/fake_kernel.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"
#include "fakes/temporary_folder.h"
#include "fuse/session.h"
#include "resident_files.h"
#include "rigged_cache.h"
#include "s3rdmafs/metrics/registry.h"
#include "upload/staged/staging_area.h"
#include "upload/uploads.h"
#include "vfs/file_system.h"

namespace s3rdmafs::fuse {

namespace request = fakes::fuse_request;
using Operation = fakes::FakeObjectStore::Operation;
using fakes::FakeKernel;
using fakes::FakeObjectStore;
using fakes::FuseReply;
using fakes::FuseRequest;
inline constexpr vfs::Ino kRoot = vfs::kRootIno;

/// A session over a fake bucket, mounted by a fake kernel. Its end fails the test if the file
/// system broke the protocol, and it ends in the daemon's order.
class FakeMount {
 public:
  struct Options {
    bool is_writable = true;
    bool is_staged = false;  ///< write.mode "staged"
    bool has_whole_objects = false;
    unsigned threads = 2;  ///< 0: as many as the machine asks for
    bool over_ring = false;
    vfs::PosixMetadata posix = vfs::PosixMetadata::kOff;
    std::uint64_t content_bytes_max = 0;  ///< of files that go into the page cache with their open
    FakeKernel::Abilities kernel = {};
    std::vector<StatusFile> status_files = {};
  };
  static constexpr std::size_t kPartBytes = 4096;

  FakeMount() : FakeMount(Options{}) {}
  explicit FakeMount(Options options)
      : kernel(options.kernel),
        staging(options.is_staged ? make_staging() : nullptr),
        uploads(options.is_writable ? make_uploads() : nullptr),
        file_system(vfs::FileSystem::create(
            store, cache, clock, metrics,
            {.prefix = "",
             .ttl = std::chrono::seconds(30),
             .negative_ttl = std::chrono::seconds(5),
             .content_bytes_max = options.content_bytes_max,
             .posix = options.posix},
            uploads ? std::optional(vfs::FileSystem::Writing{store, *uploads, staging.get()})
                    : std::nullopt,
            options.has_whole_objects ? &whole : nullptr)),
        context{.file_system = *file_system,
                .clock = clock,
                .metrics = metrics,
                .presentation = {.uid = 7,
                                 .gid = 8,
                                 .file_mode = 0640,
                                 .directory_mode = 0750,
                                 .negative_ttl = std::chrono::seconds(5),
                                 .deadline = std::chrono::seconds(30)},
                .status_files = options.status_files},
        session(Session::mount(context, {.source = "https://s3.example/bucket,a",
                                         .mount_point = kernel.make_device(),
                                         .threads = options.threads,
                                         .over_ring = options.over_ring})
                    .value()),
        serving([this] { session->serve(); }),
        granted(kernel.initialise()) {}
  FakeMount(const FakeMount&) = delete;
  FakeMount& operator=(const FakeMount&) = delete;

  ~FakeMount() {
    unmount();
    shut_down();
    session.reset();
    for (const std::string& violation : kernel.violations()) ADD_FAILURE() << violation;
  }

  /// Ends serve(). Requests under way are still answered.
  void unmount() {
    kernel.unmount();
    if (serving.joinable()) serving.join();
  }
  /// Answers all that is under way.
  void shut_down() {
    const Deadline now = clock.now();
    file_system->end_writes(now);
    if (uploads) uploads->shut_down(now);
    store.shut_down();
  }

  FuseReply call(FuseRequest what) { return kernel.call(std::move(what)); }
  /// The inode of a name that is there.
  vfs::Ino ino_of(const std::string& name, vfs::Ino parent = kRoot) {
    const FuseReply reply = call(request::lookup(parent, name));
    EXPECT_EQ(reply.error, 0) << name;
    return reply.as<fuse_entry_out>().nodeid;
  }
  /// The handle of a file that can be opened.
  std::uint64_t open(vfs::Ino ino, int flags = 0) {
    const FuseReply reply = call(request::open(ino, flags));
    EXPECT_EQ(reply.error, 0);
    return reply.as<fuse_open_out>().fh;
  }
  /// Waits until the store holds as many calls.
  bool holds(std::size_t calls) {
    return fakes::eventually([this, calls] { return store.held().size() == calls; });
  }
  std::int64_t gauge(std::string_view name) { return metrics.gauge(name, "").value(); }
  std::uint64_t counter(std::string_view name, std::string_view labels = {}) {
    return metrics.counter(name, "", labels).value();
  }

  fakes::FakeClock clock;
  metrics::Registry metrics;
  fakes::FakeFabric fabric;
  fakes::FakeObjectStore store{clock};
  fakes::FakeReadCache reads{store};
  RiggedCache cache{reads};
  ResidentFiles whole;
  FakeKernel kernel;
  fakes::TemporaryFolder staging_folder;
  std::unique_ptr<upload::StagingArea> staging;  ///< null where files are written sequentially
  std::unique_ptr<upload::Uploads> uploads;
  const std::shared_ptr<vfs::FileSystem> file_system;
  MountContext context;
  std::unique_ptr<Session> session;
  std::thread serving;
  const fuse_init_out granted;  ///< what the file system answered to INIT

 private:
  std::unique_ptr<upload::StagingArea> make_staging() {
    return upload::StagingArea::take({.path = staging_folder.path() / "area",
                                      .size_bytes = kMiB,
                                      .bounds_itself = [](int, std::uint64_t) { return true; }},
                                     clock, metrics)
        .value();
  }
  std::unique_ptr<upload::Uploads> make_uploads() {
    return upload::Uploads::create(store, fabric, clock, metrics,
                                   {.part_bytes = kPartBytes,
                                    .buffer_bytes = 16 * kPartBytes,
                                    .parallel_parts = 2,
                                    .request_timeout = std::chrono::seconds(30),
                                    .lock = memory::Arena::Lock::kOff})
        .value();
  }
};

}  // namespace s3rdmafs::fuse
