// SPDX-License-Identifier: Apache-2.0
#include "disk/disk_tier.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "disk/index_record.h"
#include "unit/disk/disk_rig.h"

namespace s3rdmafs::disk {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DiskTierTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto started = rig_.start();
    ASSERT_TRUE(started) << started.error().detail;
  }
  /// Stores an object and reads it by pieces of 4 MiB, so that all of it is on the disk.
  std::string put_and_read(const std::string& key, const std::string& bytes) {
    std::string etag = rig_.store.put(key, bytes);
    for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes) {
      EXPECT_TRUE(rig_.get(key, etag, at, std::min<std::size_t>(kChunkBytes, bytes.size() - at)));
    }
    EXPECT_TRUE(rig_.wait());
    rig_.store.forget_calls();
    return etag;
  }

  DiskRig rig_;
};

TEST_F(DiskTierTest, WhatWasReadOnceComesFromTheDiskTheSecondTime) {
  const std::string bytes = content(1, 9 * kMiB + 77);
  const std::string etag = put_and_read("k", bytes);

  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.last_path, s3::Path::kDisk);
  EXPECT_EQ(rig_.gets(), 0U);
  EXPECT_EQ(rig_.hits(), 1U);
  EXPECT_EQ(rig_.counted("disk_read_bytes_total"), bytes.size());
}

TEST_F(DiskTierTest, WhatIsDistrustedComesFromTheServerAndIsNotKept) {
  const std::string bytes = content(1, kMiB);
  const std::string etag = put_and_read("k", bytes);
  const std::string other_etag = put_and_read("other", bytes);
  rig_.tier->invalidate("k", etag);
  for (std::size_t round = 1; round <= 2; ++round) {
    EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
    EXPECT_NE(rig_.last_path, s3::Path::kDisk);
    EXPECT_EQ(rig_.gets(), round);
  }
  EXPECT_EQ(rig_.read("other", other_etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.last_path, s3::Path::kDisk) << "the control";
}

// The control: without the first read there is nothing on the disk.
TEST_F(DiskTierTest, WhatWasNotReadComesFromTheServer) {
  const std::string bytes = content(1, kMiB);
  const std::string etag = rig_.store.put("k", bytes);
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_NE(rig_.last_path, s3::Path::kDisk);
  EXPECT_EQ(rig_.gets(), 1U);
}

TEST_F(DiskTierTest, AnyRangeOfWhatIsThereIsServedIntoMemoryOfAnyAlignment) {
  const std::string bytes = content(2, 5 * kMiB + 1234);
  const std::string etag = put_and_read("k", bytes);
  const std::size_t page =
      (kDiskBlockBytes - reinterpret_cast<std::uintptr_t>(rig_.region.bytes().data())) %
      kDiskBlockBytes;
  const std::size_t end = bytes.size();
  for (const std::size_t into : {page, page + 1}) {
    for (const auto& [begin, stop] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, end},
             {1, 2},
             {kUnitBytes - 1, kUnitBytes + 1},
             {kUnitBytes, 3 * kUnitBytes},
             {5, 5 * kUnitBytes},
             {kChunkBytes - kUnitBytes, kChunkBytes + kUnitBytes},
             {end - 1, end},
             {end - kUnitBytes, end - 5}}) {
      EXPECT_EQ(rig_.read("k", etag, begin, stop - begin, into), bytes.substr(begin, stop - begin))
          << begin << " to " << stop << " at " << into;
    }
  }
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, NothingIsWrittenOutsideOfTheWindow) {
  const std::string bytes = content(3, kUnitBytes + 100);
  const std::string etag = put_and_read("k", bytes);
  ASSERT_EQ(rig_.read("k", etag, 0, bytes.size(), kDiskBlockBytes), bytes);
  EXPECT_EQ(rig_.region.bytes()[kDiskBlockBytes - 1], std::byte{0xEE});
  EXPECT_EQ(rig_.region.bytes()[kDiskBlockBytes + bytes.size()], std::byte{0xEE});
}

TEST_F(DiskTierTest, PiecesThatWereReadApartServeALongerRead) {
  const std::string bytes = content(4, 3 * kUnitBytes);
  const std::string etag = rig_.store.put("k", bytes);
  for (const std::size_t unit : {2, 0, 1})
    ASSERT_TRUE(rig_.get("k", etag, unit * kUnitBytes, kUnitBytes));
  ASSERT_TRUE(rig_.wait());
  rig_.store.forget_calls();
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, WhatIsOnTheDiskSurvivesARestart) {
  const std::string bytes = content(5, 6 * kMiB + 1);
  const std::string etag = put_and_read("k", bytes);
  ASSERT_TRUE(rig_.restart());
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, ARestartGoesOnFillingTheYoungestSegment) {
  put_and_read("a", content(1, kMiB));
  ASSERT_TRUE(rig_.restart());
  put_and_read("b", content(2, kMiB));
  EXPECT_EQ(rig_.files(".data").size(), 1U);
}

TEST_F(DiskTierTest, AnOverwrittenObjectIsNeverServedOld) {
  put_and_read("k", content(6, kMiB));
  const std::string bytes = content(7, kMiB);
  const std::string etag = rig_.store.put("k", bytes);
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
}

TEST_F(DiskTierTest, AnotherBucketIsNeverServed) {
  const std::string etag = put_and_read("k", content(8, kMiB));
  rig_.options.scope = "http://127.0.0.1/other";
  ASSERT_TRUE(rig_.restart());
  EXPECT_FALSE(rig_.read("k", etag, 0, kMiB).empty());
  EXPECT_EQ(rig_.gets(), 1U) << "the other bucket's bytes were served";
}

TEST_F(DiskTierTest, AFlippedByteIsNotServed) {
  const std::string bytes = content(9, kMiB);
  const std::string etag = put_and_read("k", bytes);
  flip_byte(rig_.files(".data").front(), 5 * kUnitBytes + 3);

  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
  EXPECT_EQ(rig_.counted("disk_corrupt_total"), 1U);
  EXPECT_EQ(rig_.hits(), 0U);

  // The good bytes have taken the place of the bad ones.
  ASSERT_TRUE(rig_.wait());
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
}

// The control: it is the checksum that keeps the flipped byte from being served, and nothing else.
TEST_F(DiskTierTest, AFlippedByteWouldBeServedIfItsChecksumWereMadeToFit) {
  const std::string bytes = content(9, kMiB);
  const std::string etag = put_and_read("k", bytes);
  rig_.stop();
  flip_byte(rig_.files(".data").front(), 5 * kUnitBytes + 3);
  const std::string data = read_file(rig_.files(".data").front());
  const std::string index = read_file(rig_.files(".index").front());
  auto rest = std::as_bytes(std::span(index));
  auto record = decode_next(rest);
  ASSERT_TRUE(record);
  record->checksums = unit_checksums(std::as_bytes(std::span(data).first(bytes.size())));
  const auto forged = encode(*record);
  std::ofstream(rig_.files(".index").front(), std::ios::binary)
      .write(reinterpret_cast<const char*>(forged.data()),
             static_cast<std::streamsize>(forged.size()));
  ASSERT_TRUE(rig_.start());

  const std::string got = rig_.read("k", etag, 0, bytes.size());
  EXPECT_EQ(rig_.gets(), 0U);
  EXPECT_NE(got, bytes);
}

TEST_F(DiskTierTest, AFlippedByteHurtsOnlyReadsThatTouchItsUnit) {
  const std::string bytes = content(10, kMiB);
  const std::string etag = put_and_read("k", bytes);
  flip_byte(rig_.files(".data").front(), 5 * kUnitBytes + 3);
  EXPECT_EQ(rig_.read("k", etag, 0, kUnitBytes), bytes.substr(0, kUnitBytes));
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, ATruncatedFileIsNotServed) {
  const std::string bytes = content(11, kMiB);
  const std::string etag = put_and_read("k", bytes);
  std::filesystem::resize_file(rig_.files(".data").front(), 3 * kUnitBytes + 17);
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
  ASSERT_TRUE(rig_.restart());
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
}

TEST_F(DiskTierTest, AnIndexThatEndsInTheMiddleLosesItsLastEntryOnly) {
  const std::string first = content(12, kMiB);
  const std::string second = content(13, kMiB);
  const std::string first_etag = put_and_read("a", first);
  const std::string second_etag = put_and_read("b", second);
  rig_.stop();
  const auto index = rig_.files(".index").front();
  std::filesystem::resize_file(index, std::filesystem::file_size(index) - 1);
  ASSERT_TRUE(rig_.start());

  EXPECT_EQ(rig_.read("a", first_etag, 0, kMiB), first);
  EXPECT_EQ(rig_.gets(), 0U);
  EXPECT_EQ(rig_.read("b", second_etag, 0, kMiB), second);
  EXPECT_EQ(rig_.gets(), 1U);
  ASSERT_TRUE(rig_.restart());
  EXPECT_EQ(rig_.read("b", second_etag, 0, kMiB), second);
  EXPECT_EQ(rig_.gets(), 1U) << "what was written behind the cut must be found";
}

TEST_F(DiskTierTest, FilesThatAreNoSegmentsAreDroppedOrLeftAlone) {
  const std::string bytes = content(14, kMiB);
  const std::string etag = put_and_read("k", bytes);
  rig_.stop();
  const std::filesystem::path folder = rig_.options.path;
  std::ofstream(folder / "notes.txt") << "not ours";
  std::ofstream(folder / "segment-7.data") << "no index beside it";
  std::ofstream(folder / "segment-9.data") << "short";
  std::ofstream(folder / "segment-9.index") << std::string(100'000, 'x');
  ASSERT_TRUE(rig_.start());
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
  EXPECT_TRUE(std::filesystem::exists(folder / "notes.txt"));
  EXPECT_EQ(rig_.files(".data").size(), 1U);
}

/// From here on a system call fails for the calling thread and those that it starts. False where
/// the machine allows no such rule.
bool refuse(std::uint32_t system_call, std::uint32_t with_errno) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, system_call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | with_errno),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(rules), .filter = rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Starts a tier for whose threads a system call fails. False as refuse().
bool start_without(DiskRig& rig, std::uint32_t system_call, std::uint32_t with_errno) {
  bool is_refused = false;
  std::thread([&] {
    is_refused = refuse(system_call, with_errno);
    EXPECT_TRUE(rig.start());
  }).join();
  return is_refused;
}

TEST_F(DiskTierTest, NothingIsFoundInASegmentWhoseIndexCannotBeCut) {
  const std::string bytes = content(21, kMiB);
  const std::string etag = put_and_read("k", bytes);
  rig_.stop();
  if (!start_without(rig_, __NR_ftruncate, EIO)) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
}

TEST_F(DiskTierTest, ASegmentThatCouldNotBeLoadedOnceIsThereTheNextTime) {
  const std::string bytes = content(24, kMiB);
  const std::string etag = put_and_read("k", bytes);
  rig_.stop();
  if (!start_without(rig_, __NR_ftruncate, EIO)) GTEST_SKIP() << "no seccomp here";
  EXPECT_GT(rig_.metrics->gauge("disk_size_bytes", "").value(), 0) << "it takes its room meanwhile";
  ASSERT_TRUE(rig_.restart());
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, OnlyTheOwnerCanReadWhatIsThere) {
  put_and_read("k", content(15, kMiB));
  struct stat status{};
  ASSERT_EQ(::stat(rig_.options.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  for (const auto& entry : std::filesystem::directory_iterator(rig_.options.path)) {
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U) << entry.path();
  }
}

TEST_F(DiskTierTest, AFailureOfTheServerIsPassedOnAndNothingIsKept) {
  const std::string etag = rig_.store.put("k", content(16, kMiB));
  rig_.store.fail_next(fakes::FakeObjectStore::Operation::kGet, 1, ErrorCode::kTimedOut, true);
  const auto failed = rig_.get("k", etag, 0, kMiB);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().error.code, ErrorCode::kTimedOut);
  EXPECT_TRUE(failed.error().late_write_possible);
  ASSERT_TRUE(rig_.wait());
  EXPECT_EQ(rig_.counted("disk_written_bytes_total"), 0U);
}

TEST_F(DiskTierTest, HeadAndListGoToTheServer) {
  rig_.store.put("k", "bytes");
  std::promise<std::uint64_t> size;
  rig_.tier->head("k", rig_.clock.now(),
                  [&](Result<s3::ObjectInfo> info) { size.set_value(info->size_bytes); });
  EXPECT_EQ(size.get_future().get(), 5U);
  std::promise<std::size_t> count;
  rig_.tier->list({}, rig_.clock.now(),
                  [&](Result<s3::ListPage> page) { count.set_value(page->objects.size()); });
  EXPECT_EQ(count.get_future().get(), 1U);
}

TEST_F(DiskTierTest, AfterShutDownEveryReadIsCancelled) {
  const std::string etag = put_and_read("k", content(17, kMiB));
  rig_.tier->shut_down();
  const auto cancelled = rig_.get("k", etag, 0, kMiB);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().error.code, ErrorCode::kCancelled);
}

/// The process may make no file longer than this, as where a quota is spent.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(DiskTierTest, ADiskThatFailsIsLeftAloneForAWhileAndThenTriedAgain) {
  const std::string bytes = content(18, kMiB);
  const std::string etag = rig_.store.put("k", bytes);
  {
    const FileSizeLimit limit(kMiB);
    EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
    ASSERT_TRUE(rig_.wait());
  }
  EXPECT_EQ(rig_.metrics->gauge("disk_up", "").value(), 0);
  EXPECT_EQ(rig_.counted("disk_errors_total"), 1U);

  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  ASSERT_TRUE(rig_.wait());
  EXPECT_EQ(rig_.counted("disk_written_bytes_total"), 0U) << "it is being left alone";

  rig_.clock.advance(rig_.options.rest);
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  ASSERT_TRUE(rig_.wait());
  rig_.store.forget_calls();
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, AfterAFailedWriteHitsGoOnAndTheNextWriteGoesToAnotherSegment) {
  const std::string first = content(22, kMiB);
  const std::string first_etag = put_and_read("a", first);
  const std::string second = content(23, kMiB);
  {
    const FileSizeLimit limit(kMiB);
    put_and_read("b", second);
  }
  EXPECT_EQ(rig_.counted("disk_errors_total"), 1U) << "the control: the write fails";
  EXPECT_EQ(rig_.read("a", first_etag, 0, kMiB), first);
  EXPECT_EQ(rig_.gets(), 0U);

  rig_.clock.advance(rig_.options.rest);
  const std::string second_etag = put_and_read("b", second);
  EXPECT_EQ(rig_.files(".data").size(), 2U);
  EXPECT_EQ(rig_.read("b", second_etag, 0, kMiB), second);
  EXPECT_EQ(rig_.read("a", first_etag, 0, kMiB), first);
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST(DiskTier, AFileSystemThatHasNoMoreThanTheReserveIsLeftAlone) {
  DiskRig rig;
  rig.options.reserve_bytes = 1024 * kTiB;
  ASSERT_TRUE(rig.start());
  const std::string bytes = content(19, kMiB);
  const std::string etag = rig.store.put("k", bytes);
  EXPECT_EQ(rig.read("k", etag, 0, kMiB), bytes);
  ASSERT_TRUE(rig.wait());
  EXPECT_EQ(rig.bytes_on_disk(), 0U);
  EXPECT_EQ(rig.metrics->gauge("disk_up", "").value(), 0);
}

TEST(DiskTier, ASmallerReserveThanWasKeptBeforeGivesRoomBackAtTheStart) {
  DiskRig rig;
  ASSERT_TRUE(rig.start());
  const std::string etag = rig.store.put("k", content(20, kMiB));
  ASSERT_TRUE(rig.get("k", etag, 0, kMiB));
  rig.stop();
  ASSERT_GT(rig.bytes_on_disk(), 0U);
  rig.options.reserve_bytes = 1024 * kTiB;
  ASSERT_TRUE(rig.start());
  EXPECT_EQ(rig.bytes_on_disk(), 0U);
}

constexpr std::uint64_t kSmallSegment = kMiB;

/// Eight segments of 1 MiB.
class SmallDiskTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(rig_.start()); }
  void stream(std::size_t objects) {
    for (std::size_t i = 0; i < objects; ++i) {
      const std::string key = "stream" + std::to_string(streamed_++);
      const std::string etag = rig_.store.put(key, content(streamed_, kMiB / 2));
      ASSERT_TRUE(rig_.get(key, etag, 0, kMiB / 2));
      ASSERT_TRUE(rig_.wait());
      ASSERT_LE(rig_.bytes_on_disk(), rig_.options.size_bytes);
    }
  }

  DiskRig rig_{8 * (kSmallSegment + kSmallSegment / 1024), kSmallSegment};
  std::size_t streamed_ = 0;
};

TEST_F(SmallDiskTest, TheSizeIsNeverExceeded) {
  stream(40);
  EXPECT_EQ(rig_.files(".data").size(), 8U) << "and is made use of";
  EXPECT_GE(rig_.counted("disk_evictions_total"), 12U);
  EXPECT_LE(static_cast<std::uint64_t>(rig_.metrics->gauge("disk_size_bytes", "").value()),
            rig_.options.size_bytes);
}

TEST_F(SmallDiskTest, WhatIsReadAgainOutlivesWhatStreamsBy) {
  const std::string bytes = content(0, kMiB);
  const std::string etag = rig_.store.put("kept", bytes);
  ASSERT_TRUE(rig_.get("kept", etag, 0, kMiB));
  ASSERT_TRUE(rig_.wait());
  ASSERT_EQ(rig_.read("kept", etag, 0, kMiB), bytes);
  stream(100);
  rig_.store.forget_calls();
  EXPECT_EQ(rig_.read("kept", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

// The control: read once only, it goes as the others do.
TEST_F(SmallDiskTest, WhatIsReadOnceStreamsBy) {
  const std::string etag = rig_.store.put("once", content(0, kMiB));
  ASSERT_TRUE(rig_.get("once", etag, 0, kMiB));
  stream(100);
  rig_.store.forget_calls();
  ASSERT_TRUE(rig_.get("once", etag, 0, kMiB));
  EXPECT_EQ(rig_.gets(), 1U);
}

TEST_F(SmallDiskTest, ADataSetALittleLargerThanTheDiskReadInACircleStillHits) {
  std::vector<std::string> etags;
  for (int i = 0; i < 10; ++i) {
    etags.push_back(rig_.store.put("k" + std::to_string(i), content(100 + i, kMiB)));
  }
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(rig_.get("k" + std::to_string(i), etags.at(i), 0, kMiB));
      ASSERT_TRUE(rig_.wait());
    }
  }
  EXPECT_GE(rig_.hits(), 40U) << "of 100; the oldest first would have none";
}

TEST_F(SmallDiskTest, AFullIndexEndsASegmentSoThatTinyObjectsStayInsideTheSize) {
  for (int i = 0; i < 300; ++i) {
    const std::string key = std::to_string(i);
    const std::string etag = rig_.store.put(key, content(i, 100));
    ASSERT_TRUE(rig_.get(key, etag, 0, 100));
  }
  ASSERT_TRUE(rig_.wait());
  EXPECT_LE(rig_.bytes_on_disk(), rig_.options.size_bytes);
  EXPECT_EQ(rig_.counted("disk_writes_dropped_total"), 0U);
}

TEST_F(SmallDiskTest, AFullQuotaCostsASegmentAndNoRest) {
  stream(4);  // fills two segments
  rig_.stop();
  if (!start_without(rig_, __NR_fallocate, EDQUOT)) GTEST_SKIP() << "no seccomp here";
  stream(1);
  EXPECT_EQ(rig_.counted("disk_writes_dropped_total"), 1U) << "the control: it was refused";
  EXPECT_EQ(rig_.counted("disk_evictions_total"), 1U);
  EXPECT_EQ(rig_.counted("disk_errors_total"), 0U);
  EXPECT_EQ(rig_.metrics->gauge("disk_up", "").value(), 1);
}

TEST_F(SmallDiskTest, ASmallerSizeThanBeforeIsKeptAtOnce) {
  stream(16);
  rig_.options.size_bytes /= 2;
  ASSERT_TRUE(rig_.restart());
  EXPECT_LE(rig_.bytes_on_disk(), rig_.options.size_bytes);
  EXPECT_GT(rig_.bytes_on_disk(), 0U);
}

}  // namespace
}  // namespace s3rdmafs::disk
