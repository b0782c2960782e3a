// SPDX-License-Identifier: Apache-2.0
// Many programs over few files, for the thread sanitizer: replies come from the session's threads
// and from the store's, interrupts at any moment, and in the end nothing may be left over.
#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fake_mount.h"

namespace s3rdmafs::fuse {
namespace {

constexpr unsigned kPrograms = 4;
constexpr int kRoundsOfAProgram = 100;

/// A store that answers what it holds, in random order, on a thread of its own.
class StoreThread {
 public:
  explicit StoreThread(FakeObjectStore& store) : store_(store) {
    store_.hold();
    thread_ = std::thread([this] { run(); });
  }
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;
  ~StoreThread() {
    ends_ = true;
    thread_.join();
    store_.release_all();
  }

 private:
  void run() {
    std::minstd_rand random;
    while (!ends_) {
      if (store_.release(random() % 3) || store_.release()) continue;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  FakeObjectStore& store_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

/// Opens and reads files, sometimes under fire of signals. EINTR is the only error it may see.
class Program {
 public:
  Program(FakeMount& mount, unsigned seed) : mount_(mount), random_(seed) {}

  void run() {
    for (int round = 0; round < kRoundsOfAProgram; ++round) {
      if (random_() % 5 == 0) {
        list();
      } else {
        read();
      }
    }
  }

 private:
  FuseReply call(FuseRequest what) {
    FakeKernel& kernel = mount_.kernel;
    const auto luck = random_() % 8;
    const auto id = luck == 0 ? kernel.send_interrupted(std::move(what)) : kernel.send(what);
    if (luck == 1) kernel.interrupt(id);
    const FuseReply reply = kernel.await(id);
    EXPECT_TRUE(reply.error == 0 || (reply.error == EINTR && luck < 2)) << reply.error;
    return reply;
  }

  void read() {
    const std::string name(1, "abc"[random_() % 3]);
    const FuseReply found = call(request::lookup(kRoot, name));
    if (found.error != 0) return;
    const vfs::Ino ino = found.as<fuse_entry_out>().nodeid;
    const FuseReply opened = call(request::open(ino, O_RDONLY));
    if (opened.error == 0) {
      const auto out = opened.as<fuse_open_out>();
      const bool is_ours = (out.open_flags & FOPEN_PASSTHROUGH) == 0;
      const bool is_direct = (out.open_flags & FOPEN_DIRECT_IO) != 0;
      if (is_ours) {
        const FuseReply bytes = call(request::read(ino, out.fh, 0, 100, is_direct));
        EXPECT_TRUE(bytes.error != 0 || bytes.body == "bytes of " + name) << bytes.body;
      }
      mount_.call(request::release(ino, out.fh));
    }
    mount_.kernel.send(request::forget(ino, 1));
  }

  void list() {
    const FuseReply opened = call(request::opendir(kRoot));
    if (opened.error != 0) return;
    const std::uint64_t handle = opened.as<fuse_open_out>().fh;
    const FuseReply listed = call(request::readdir(kRoot, handle, 0, 4096, /*plus=*/true));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> counts;
    for (const auto& entry : fakes::names_in(listed.body, /*plus=*/true)) {
      if (entry.node != 0) counts.emplace_back(entry.node, 1);
    }
    mount_.call(request::releasedir(kRoot, handle));
    if (!counts.empty()) mount_.kernel.send(request::batch_forget(counts));
  }

  FakeMount& mount_;
  std::minstd_rand random_;
};

void run_programs(FakeMount& mount) {
  for (const char* name : {"a", "b", "c"}) mount.store.put(name, std::string("bytes of ") + name);
  {
    const StoreThread answers(mount.store);
    std::vector<std::thread> programs;
    for (unsigned seed = 1; seed <= kPrograms; ++seed) {
      programs.emplace_back([&mount, seed] { Program(mount, seed).run(); });
    }
    for (std::thread& program : programs) program.join();
  }
  EXPECT_TRUE(fakes::eventually([&] { return mount.gauge("vfs_inodes") == 1; }));
  EXPECT_TRUE(fakes::eventually([&] { return mount.gauge("vfs_open_files") == 0; }));
  EXPECT_EQ(mount.kernel.open_files(), 0U);
}

TEST(FuseConcurrency, ManyProgramsReadThroughThePageCacheAndLeaveNothingBehind) {
  FakeMount mount({.is_writable = false, .threads = 4, .content_bytes_max = 4096});
  run_programs(mount);
}

TEST(FuseConcurrency, ManyProgramsReadFilesPassedThroughAndLeaveNothingBehind) {
  FakeMount mount({.is_writable = false, .has_whole_objects = true, .threads = 4});
  std::atomic<bool> ends = false;
  std::thread moody([&] {  // so that some inodes are passed through and some are not
    for (bool refuses = true; !ends; refuses = !refuses) {
      mount.whole.refuse(refuses);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  run_programs(mount);
  ends = true;
  moody.join();
  EXPECT_EQ(mount.kernel.backing_ids(), 0U);
  EXPECT_EQ(mount.whole.alive(), 0);
}

TEST(FuseConcurrency, SeveralFilesAreWrittenAtOnceByHandlesOfTheirOwn) {
  FakeMount mount({.threads = 4});
  {
    const StoreThread answers(mount.store);
    std::vector<std::thread> programs;
    for (unsigned writer = 0; writer < kPrograms; ++writer) {
      programs.emplace_back([&mount, writer] {
        const std::string name = "file" + std::to_string(writer);
        const FuseReply created = mount.call(request::create(kRoot, name, O_WRONLY | O_TRUNC));
        const vfs::Ino ino = created.as<fuse_entry_out>().nodeid;
        const auto handle = created.as<fuse_open_out>(sizeof(fuse_entry_out)).fh;
        const std::string bytes(1000, static_cast<char>('0' + writer));
        for (std::uint64_t at = 0; at < 20; ++at) {
          EXPECT_EQ(mount.call(request::write(ino, handle, at * bytes.size(), bytes)).error, 0);
        }
        EXPECT_EQ(mount.call(request::flush(ino, handle)).error, 0);
        mount.call(request::release(ino, handle));
      });
    }
    for (std::thread& program : programs) program.join();
  }
  for (unsigned writer = 0; writer < kPrograms; ++writer) {
    EXPECT_EQ(mount.store.object("file" + std::to_string(writer)),
              std::string(20'000, static_cast<char>('0' + writer)));
  }
}

}  // namespace
}  // namespace s3rdmafs::fuse
