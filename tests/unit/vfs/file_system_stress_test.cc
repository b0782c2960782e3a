// SPDX-License-Identifier: Apache-2.0
// Many threads over few names, for the thread sanitizer: every answer must be one that some moment
// of the bucket allows, and in the end nothing may be left over.
//
// The store holds all calls. A thread that waits for an answer releases held calls, any of them, so
// that most answers come on another thread than the one that asked, in random order, as from a real
// store.
#include <chrono>
#include <functional>
#include <future>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "mounted_bucket.h"

namespace s3rdmafs::vfs {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 2'000;
constexpr std::chrono::seconds kHangTime{60};  // only ever waited for by a bug

class Worker {
 public:
  Worker(MountedBucket& bucket, unsigned seed) : bucket_(bucket), random_(seed) {}

  void run() {
    for (int round = 0; round < kRounds; ++round) {
      switch (random_() % 4) {
        case 0:
          change();
          break;
        case 1:
          list();
          break;
        default:
          read();
      }
    }
  }

 private:
  /// Runs an operation and answers held calls until its own answer is there.
  template <class T>
  Result<T> await(std::move_only_function<void(Done<T>)> start) {
    std::promise<Result<T>> promise;
    std::future<Result<T>> answer = promise.get_future();
    start([promise = std::move(promise)](Result<T> result) mutable {
      promise.set_value(std::move(result));
    });
    const auto deadline = std::chrono::steady_clock::now() + kHangTime;
    while (answer.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      if (bucket_.store.release(random_() % 4) || bucket_.store.release()) continue;
      std::this_thread::yield();  // another worker is about to answer
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "no answer";
        return fail(ErrorCode::kTimedOut, "no answer");
      }
    }
    return answer.get();
  }

  Result<std::vector<DirectoryEntry>> read_directory(std::uint64_t handle, std::uint64_t offset) {
    return await<std::vector<DirectoryEntry>>(
        [&](auto done) { bucket_.fs.read_directory(handle, offset, 2, {}, std::move(done)); });
  }

  std::string name() { return std::string(1, "abc"[random_() % 3]); }

  // Every object's bytes say how many there are, so that a mix of versions would show.
  void change() {
    const std::size_t size = 1 + random_() % 9;
    const std::string key = random_() % 2 ? name() : name() + "/" + name();
    if (random_() % 4 == 0) {
      bucket_.store.remove(key);
    } else {
      bucket_.store.put(key, std::string(size, static_cast<char>('0' + size)));
    }
    bucket_.clock.advance(std::chrono::milliseconds(1));
  }

  void list() {
    const auto handle = bucket_.fs.open_directory(kRootIno);
    std::uint64_t offset = 2;
    for (;;) {
      const auto entries = read_directory(*handle, offset);
      ASSERT_TRUE(entries);
      if (entries->empty()) break;
      offset = entries->back().next_offset;
      for (const DirectoryEntry& entry : *entries) {
        bucket_.fs.forget(bucket_.fs.add_lookup(entry).attributes.ino, 1);
      }
    }
    bucket_.fs.release_directory(*handle);
  }

  void read() {
    const auto entry = await<Entry>(
        [this](Done<Entry> done) { bucket_.fs.lookup(kRootIno, name(), {}, std::move(done)); });
    if (!entry) return;
    const Attributes& attributes = entry->attributes;
    const auto file = await<OpenFile>(
        [&](Done<OpenFile> done) { bucket_.fs.open(attributes.ino, {}, std::move(done)); });
    if (file) {
      const auto bytes = await<cache::PinnedBytes>(
          [&](auto done) { bucket_.fs.read(file->handle, 0, 100, {}, std::move(done)); });
      if (bytes) {
        EXPECT_EQ(text_of(*bytes), std::string(attributes.size_bytes,
                                               static_cast<char>('0' + attributes.size_bytes)));
      } else {
        EXPECT_EQ(error_of(bytes), "Stale");
      }
      bucket_.fs.release(file->handle);
    } else {
      EXPECT_EQ(error_of(file), attributes.is_directory ? "IsDirectory" : "Stale");
    }
    bucket_.fs.forget(attributes.ino, 1);
  }

  MountedBucket& bucket_;
  std::minstd_rand random_;
};

TEST(FileSystemStress, ManyThreadsOverFewNamesSeeOnlyWholeVersionsAndLeaveNothingBehind) {
  MountedBucket bucket({.prefix = "",
                        .ttl = std::chrono::milliseconds(20),
                        .negative_ttl = std::chrono::milliseconds(5)});
  bucket.store.hold();
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= kThreads; ++seed) {
    threads.emplace_back([&bucket, seed] { Worker(bucket, seed).run(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bucket.gauge("vfs_inodes"), 1);
  EXPECT_EQ(bucket.gauge("vfs_open_files"), 0);
  EXPECT_EQ(bucket.cache.readers(), 0);
}

}  // namespace
}  // namespace s3rdmafs::vfs
