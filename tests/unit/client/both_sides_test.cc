// SPDX-License-Identifier: Apache-2.0
// The library and the daemon's side in one process, so that the sanitizers see both.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "client/attached_file.h"
#include "client/mapping.h"
#include "daemon/attach/attach_socket.h"
#include "fakes/eventually.h"
#include "fakes/temporary_folder.h"
#include "fakes/tmpfs_file.h"
#include "s3rdmafs/base/worker_thread.h"

namespace s3rdmafs::client {
namespace {

constexpr std::uint64_t kPart = std::uint64_t{256} * 1024;
constexpr std::uint64_t kSize = 20 * kPart + 5;
constexpr std::uint64_t kMemory = 32 * kPart;  // of which a process has a quarter

std::string numbered(std::uint64_t size) {
  std::string bytes;
  while (bytes.size() < size) bytes += std::to_string(bytes.size()) + ' ';
  bytes.resize(size);
  return bytes;
}

/// A part in a file of its own.
class FilePart final : public cache::ResidentObject {
 public:
  explicit FilePart(std::string_view bytes) {
    EXPECT_EQ(::write(file_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  [[nodiscard]] int fd() const noexcept override { return file_.get(); }

 private:
  const UniqueFd file_ = fakes::make_tmpfs_file().value();
};

/// Parts of one object, given on a thread of their own.
class FileParts final : public cache::ResidentParts {
 public:
  explicit FileParts(const std::string& bytes) : bytes_(bytes) {}
  void open_part(cache::ObjectPart part, Deadline,
                 Done<std::shared_ptr<const cache::ResidentObject>> done) override {
    ++opens;
    thread_.post([this, part = std::move(part), done = std::move(done)]() mutable {
      EXPECT_TRUE(fakes::eventually([this] { return opens >= asked_together; }));
      if (has_no_room) return done(fail(ErrorCode::kNoMemory, "the test says no"));
      const std::string_view bytes = bytes_;
      done(std::make_shared<FilePart>(bytes.substr(part.offset_bytes, part.length_bytes)));
    });
  }
  bool prefetch_part(cache::ObjectPart, Deadline) override {
    ++prefetches;
    return true;
  }
  [[nodiscard]] bool has_whole(const cache::ObjectVersion&) const override { return false; }
  [[nodiscard]] std::uint64_t memory_bytes_max() const override { return kMemory; }
  void finish() { thread_.finish(); }

  std::atomic<int> opens{0};
  std::atomic<int> prefetches{0};
  std::atomic<int> asked_together{0};  // so many are asked for before one is given
  std::atomic<bool> has_no_room{false};

 private:
  const std::string& bytes_;
  const SystemClock clock_;
  WorkerThread thread_{"test-parts", clock_, [] {}};
};

class BothSidesTest : public testing::Test {
 protected:
  BothSidesTest() {
    EXPECT_EQ(::write(file_.get(), bytes_.data(), bytes_.size()),
              static_cast<ssize_t>(bytes_.size()));
    serve();
    attached_ = AttachedFile::attach(fakes::open_again(file_.get()).get(), &Daemon::at(path_));
  }
  ~BothSidesTest() override {
    attached_.reset();
    end_service();
  }
  void serve() {
    service_ = std::make_unique<daemon::AttachService>(
        parts_,
        [](int, pid_t) {
          return daemon::AttachService::Opened{
              .version = {.key = "k", .etag = "\"e\"", .size_bytes = kSize}};
        },
        [](std::uint64_t, std::uint64_t) {}, clock_, metrics_,
        daemon::AttachService::Options{.part_bytes = kPart,
                                       .ahead_bytes_max = kMemory,
                                       .part_time = std::chrono::seconds(30)});
    socket_ = daemon::AttachSocket::listen(path_, *service_).value();
  }
  void end_service() {
    socket_.reset();
    parts_.finish();
  }

  /// How the read was served; the bytes are compared.
  bool reads(std::uint64_t offset, std::size_t length) const {
    std::string got(length, '?');
    const auto answer = attached_->pread(got.data(), length, static_cast<off_t>(offset));
    const std::string wanted = offset < kSize ? bytes_.substr(offset, length) : "";
    EXPECT_EQ(answer.result, static_cast<ssize_t>(wanted.size())) << offset << "+" << length;
    EXPECT_TRUE(wanted == got.substr(0, wanted.size())) << offset << "+" << length;
    return answer.is_past_fuse;
  }
  void read_at_random(unsigned seed, int reads_wanted) const {
    std::mt19937 random(seed);
    for (int i = 0; i < reads_wanted; ++i) {
      const std::uint64_t offset = random() % kSize;
      static_cast<void>(reads(offset, 1 + random() % (random() % 3 == 0 ? 3 * kPart : 5000)));
    }
  }

  const std::string bytes_ = numbered(kSize);
  const fakes::TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "sockets" / "attach";
  const SystemClock clock_;
  metrics::Registry metrics_;
  FileParts parts_{bytes_};
  const UniqueFd file_ = fakes::make_tmpfs_file().value();
  std::unique_ptr<daemon::AttachService> service_;
  std::unique_ptr<daemon::AttachSocket> socket_;
  std::shared_ptr<AttachedFile> attached_;
};

TEST_F(BothSidesTest, TheFileIsAttached) {
  ASSERT_EQ(attached_->reason(), nullptr);
  EXPECT_EQ(attached_->size_bytes(), kSize);
}

TEST_F(BothSidesTest, RandomReadsAreTheFile) { read_at_random(1, 2000); }

TEST_F(BothSidesTest, APartThatIsHereIsNotAskedForAgain) {
  EXPECT_TRUE(reads(kPart, kPart));
  const int opens = parts_.opens;
  EXPECT_TRUE(reads(kPart + 10, 100));
  EXPECT_TRUE(reads(kPart, kPart));
  EXPECT_EQ(parts_.opens, opens);
}

TEST_F(BothSidesTest, AStreamHasPartsFetchedAhead) {
  for (std::uint64_t part = 0; part < 4; ++part) EXPECT_TRUE(reads(part * kPart, kPart));
  EXPECT_GE(parts_.prefetches, 4);
}

TEST_F(BothSidesTest, AStreamHoldsTwoParts) {
  for (std::uint64_t part = 0; part < 12; ++part) EXPECT_TRUE(reads(part * kPart, kPart));
  EXPECT_TRUE(reads(15 * kPart, kPart));
  EXPECT_LE(metrics_.gauge("attach_held_bytes", "").value(), static_cast<std::int64_t>(4 * kPart));
}

TEST_F(BothSidesTest, ReadsElsewhereHaveNothingFetchedAhead) {
  EXPECT_TRUE(reads(7 * kPart, kPart));
  EXPECT_TRUE(reads(3 * kPart, kPart));
  EXPECT_EQ(parts_.prefetches, 0);
}

TEST_F(BothSidesTest, TheFourthSmallReadOfAPartAsksForIt) {
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(reads(5 * kPart + 1000 * i, 100));
  EXPECT_EQ(parts_.opens, 0);
  EXPECT_TRUE(reads(5 * kPart, 100));
}

TEST_F(BothSidesTest, WithoutRoomAPartIsAskedForOnceTheMountHasServedAQuarterOfIt) {
  for (const std::uint64_t part : {1, 3, 5, 7, 9, 11}) EXPECT_TRUE(reads(part * kPart, kPart));
  EXPECT_FALSE(reads(13 * kPart, kPart / 8));
  EXPECT_FALSE(reads(13 * kPart + kPart / 2, kPart / 8));
  EXPECT_TRUE(reads(kPart, kPart)) << "those that are here stay";
  EXPECT_EQ(parts_.opens, 6);
  EXPECT_TRUE(reads(13 * kPart + kPart / 4, kPart / 8));
  EXPECT_EQ(parts_.opens, 7);
  EXPECT_FALSE(reads(3 * kPart, kPart / 8)) << "it made room";
}

TEST_F(BothSidesTest, AReadInsideAPartIsNotAStepOfAStreamAlthoughThePartBeforeWasRead) {
  for (const std::uint64_t part : {6, 5, 4, 3, 2, 1}) EXPECT_TRUE(reads(part * kPart, kPart));
  EXPECT_FALSE(reads(7 * kPart + kPart / 2, kPart / 8));
  EXPECT_TRUE(reads(5 * kPart, kPart)) << "those that are here stay";
  EXPECT_EQ(parts_.opens, 6);
  EXPECT_TRUE(reads(7 * kPart, kPart / 8)) << "the control: as a stream goes on";
}

TEST_F(BothSidesTest, ThreadsThatShareAFileGetTheRightBytesWhileItsPartsComeAndGo) {
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 8; ++i) threads.emplace_back([this, i] { read_at_random(i, 300); });
  threads.clear();
  EXPECT_LE(metrics_.gauge("attach_held_bytes", "").value(),
            static_cast<std::int64_t>(kMemory / 4));
}

TEST_F(BothSidesTest, WithoutRoomTheDescriptorServesAndTheDaemonIsNotAskedAtEachRead) {
  parts_.has_no_room = true;
  EXPECT_FALSE(reads(0, kPart));
  EXPECT_FALSE(reads(kPart, kPart));
  EXPECT_EQ(parts_.opens, 1);
}

TEST_F(BothSidesTest, WithoutADaemonTheDescriptorServes) {
  EXPECT_TRUE(reads(0, kPart));
  end_service();
  EXPECT_TRUE(reads(0, kPart)) << "a part that is here stays";
  EXPECT_FALSE(reads(5 * kPart, kPart));
}

// As after its last connection has ended: a daemon forgets a process then.
TEST_F(BothSidesTest, AProcessThatIsForgottenIsAttachedAgain) {
  EXPECT_TRUE(reads(0, kPart));
  socket_.reset();
  serve();
  EXPECT_TRUE(reads(5 * kPart, kPart));
}

TEST_F(BothSidesTest, AClosedFileHoldsNothing) {
  for (const std::uint64_t part : {4, 8, 12}) EXPECT_TRUE(reads(part * kPart, kPart));
  EXPECT_EQ(metrics_.gauge("attach_held_bytes", "").value(), static_cast<std::int64_t>(3 * kPart));
  attached_.reset();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (metrics_.gauge("attach_held_bytes", "").value() != 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST_F(BothSidesTest, SendsItsBytesToAnotherDescriptor) {
  const UniqueFd to = fakes::make_tmpfs_file().value();
  const auto sent = attached_->send(to.get(), kSize, kPart - 7);
  EXPECT_TRUE(sent.is_past_fuse);
  EXPECT_EQ(sent.result, static_cast<ssize_t>(kSize - kPart + 7)) << "up to the end of the file";
  std::string got(kSize, '?');
  got.resize(static_cast<std::size_t>(::pread(to.get(), got.data(), got.size(), 0)));
  EXPECT_TRUE(got == bytes_.substr(kPart - 7));
  EXPECT_EQ(attached_->send(to.get(), 1, kSize).result, 0);
  EXPECT_EQ(attached_->send(-1, kPart, 0).result, -1);
}

TEST_F(BothSidesTest, AMappingOutlivesItsFileAndTheDaemon) {
  const auto mapping = Mapping::map(attached_, kPart - 7, 3 * kPart);
  ASSERT_TRUE(mapping);
  EXPECT_TRUE(mapping->is_past_fuse());
  attached_.reset();
  end_service();
  EXPECT_EQ(std::memcmp(mapping->bytes(), bytes_.data() + kPart - 7, 3 * kPart), 0);
}

TEST_F(BothSidesTest, PartsOfAMappingAreAskedForTogether) {
  parts_.asked_together = 5;
  const auto mapping = Mapping::map(attached_, kPart + 7, 5 * kPart - 7);
  ASSERT_TRUE(mapping);
  EXPECT_TRUE(mapping->is_past_fuse());
  EXPECT_EQ(parts_.opens, 5);
  EXPECT_EQ(std::memcmp(mapping->bytes(), bytes_.data() + kPart + 7, 5 * kPart - 7), 0);
}

// The locks of parts begin again at part 16, so that the mapping has two batches.
TEST_F(BothSidesTest, ThePartsAfterTheFirstBatchOfAMappingAreFetchedAhead) {
  const auto mapping = Mapping::map(attached_, 14 * kPart, 5 * kPart);
  ASSERT_TRUE(mapping);
  EXPECT_TRUE(mapping->is_past_fuse());
  EXPECT_EQ(parts_.opens, 5);
  // 16 to 18 as the rest of the mapping, 19 and 20 as what follows it.
  EXPECT_TRUE(fakes::eventually([this] { return parts_.prefetches >= 5; }));
}

TEST_F(BothSidesTest, AMappingAsksOnlyForPartsThatAreNotHere) {
  EXPECT_TRUE(reads(2 * kPart, kPart));
  const auto mapping = Mapping::map(attached_, kPart, 4 * kPart);
  ASSERT_TRUE(mapping);
  EXPECT_TRUE(mapping->is_past_fuse());
  EXPECT_EQ(parts_.opens, 4);
}

TEST_F(BothSidesTest, ThreadsThatMapOneFileAtOnceGetTheRightBytes) {
  std::atomic<int> past_fuse{0};
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([this, i, &past_fuse] {
      std::mt19937 random(i);
      for (int n = 0; n < 300; ++n) {
        const std::uint64_t offset = random() % (kSize - 1);
        const std::uint64_t length =
            std::min<std::uint64_t>(1 + random() % (4 * kPart), kSize - offset);
        const auto mapping = Mapping::map(attached_, offset, length);
        ASSERT_TRUE(mapping);
        if (mapping->is_past_fuse()) ++past_fuse;
        ASSERT_EQ(std::memcmp(mapping->bytes(), bytes_.data() + offset, length), 0);
      }
    });
  }
  threads.clear();
  EXPECT_GT(past_fuse, 0);
}

TEST_F(BothSidesTest, ARangeLargerThanTheLimitIsMappedFromTheFile) {
  const auto mapping = Mapping::map(attached_, 0, kSize);
  ASSERT_TRUE(mapping);
  EXPECT_FALSE(mapping->is_past_fuse());
  EXPECT_EQ(std::memcmp(mapping->bytes(), bytes_.data(), kSize), 0);
}

}  // namespace
}  // namespace s3rdmafs::client
