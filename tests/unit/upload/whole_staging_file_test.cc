// SPDX-License-Identifier: Apache-2.0
// Staging files that another writes by their descriptor, as the kernel does for a program.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/temporary_folder.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"
#include "upload/staged/staging_area.h"

namespace s3rdmafs::upload {
namespace {

class WholeStagingFile : public testing::Test {
 protected:
  WholeStagingFile() {
    take();
    file_ = area_->create_whole({.key = "new", .base = std::nullopt, .metadata = {}}).value();
  }
  void take() {
    area_ = StagingArea::take({.path = path_, .size_bytes = kMiB}, clock_, metrics_).value();
  }
  // As SIGKILL leaves it: nothing is said to the file.
  std::size_t crash() {
    file_.reset();
    area_.reset();
    take();
    return area_->leftovers().size();
  }
  void reopen() {
    ASSERT_EQ(crash(), 1U);
    file_ = area_->open(area_->leftovers()[0]).value();
  }
  void kernel_writes(std::uint64_t at, std::string_view text) const {
    ASSERT_EQ(::pwrite(file_->fd(), text.data(), text.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(text.size()));
  }
  [[nodiscard]] std::string content() const {
    std::string text(file_->size_bytes(), '?');
    EXPECT_TRUE(file_->read(0, std::as_writable_bytes(std::span(text))));
    return text;
  }
  void store(const std::string& etag) {
    std::ignore = file_->begin_store();
    EXPECT_TRUE(file_->stored(etag));
  }

  fakes::FakeClock clock_;
  fakes::TemporaryFolder temporary_;
  const std::string path_ = temporary_.path().string() + "/staging";
  metrics::Registry metrics_;
  std::unique_ptr<StagingArea> area_;
  std::unique_ptr<StagingFile> file_;
};

TEST_F(WholeStagingFile, IsWhatTheKernelWrites) {
  kernel_writes(0, "0123");
  EXPECT_EQ(file_->size_bytes(), 4U);
  EXPECT_EQ(file_->changed(), (ByteRanges{{.begin = 0, .end = 4}}));
  EXPECT_TRUE(file_->write(6, std::as_bytes(std::span("ab", 2))));
  EXPECT_TRUE(file_->truncate(7));
  EXPECT_EQ(content(), std::string("0123\0\0a", 7));
  EXPECT_EQ(file_->runs({0, 100}).size(), 1U);
  file_->drop_unchanged();
  EXPECT_EQ(content(), std::string("0123\0\0a", 7));
}

TEST_F(WholeStagingFile, IsNoCopySinceTheKernelReadsTheLocalFile) {
  EXPECT_FALSE(file_->begin_copy(10));
}

TEST_F(WholeStagingFile, GivesItsRoomBackAtItsEndAlthoughTheKernelHasItStillOpen) {
  kernel_writes(0, "0123");
  const UniqueFd of_the_kernel(::dup(file_->fd()));
  const auto size_bytes = [&] {
    struct stat status{};
    EXPECT_EQ(::fstat(of_the_kernel.get(), &status), 0);
    return status.st_size;
  };
  file_->remove();
  EXPECT_EQ(size_bytes(), 4) << "it is read until its end";
  file_.reset();
  EXPECT_EQ(size_bytes(), 0);
  EXPECT_EQ(area_->used_bytes(), 0U);
}

TEST_F(WholeStagingFile, IsChangedByEachWriteAfterAStoreAndByNoOther) {
  kernel_writes(0, "0123");
  store("one");
  EXPECT_FALSE(file_->is_changed());
  for (int round = 0; round < 100; ++round) {  // more of them than the kernel's clock ticks
    kernel_writes(0, "0123");
    ASSERT_TRUE(file_->is_changed()) << "the same bytes again";
    store("again");
    ASSERT_FALSE(file_->is_changed());
  }
  EXPECT_TRUE(file_->extend(3));
  EXPECT_FALSE(file_->is_changed()) << "it is longer already";
  EXPECT_TRUE(file_->extend(9));
  EXPECT_TRUE(file_->is_changed());
  store("longer");
  EXPECT_TRUE(file_->punch({1, 2}));
  EXPECT_TRUE(file_->is_changed());
  store("punched");
  EXPECT_TRUE(file_->truncate(9));
  EXPECT_TRUE(file_->is_changed()) << "O_TRUNC of an empty file is a new time";
  EXPECT_EQ(content(), std::string("0\00023\0\0\0\0\0", 9));
}

TEST_F(WholeStagingFile, IsChangedByAWriteDuringAStore) {
  kernel_writes(0, "0123");
  EXPECT_EQ(file_->begin_store().size_bytes, 4U);
  kernel_writes(0, "a");
  EXPECT_TRUE(file_->stored("one"));
  EXPECT_TRUE(file_->is_changed());
  EXPECT_EQ(file_->changed(), (ByteRanges{{.begin = 0, .end = 4}}));
}

TEST_F(WholeStagingFile, IsChangedAfterAStoreThatFailed) {
  kernel_writes(0, "0123");
  std::ignore = file_->begin_store();
  file_->not_stored();
  EXPECT_TRUE(file_->is_changed());
  store("one");
  kernel_writes(0, "a");
  std::ignore = file_->begin_store();
  file_->not_stored();
  EXPECT_TRUE(file_->is_changed());
}

TEST_F(WholeStagingFile, KeepsItsBytesWhereItsMetadataAloneIsStored) {
  kernel_writes(0, "0123");
  store("one");
  EXPECT_TRUE(file_->set_metadata({{"mode", "33188"}}));
  const auto snapshot = file_->begin_store();
  EXPECT_TRUE(snapshot.changed.empty());
  kernel_writes(0, "a");
  EXPECT_TRUE(file_->stored("two"));
  EXPECT_TRUE(file_->is_changed());
}

TEST_F(WholeStagingFile, CountsAsChangedWhileItCanBeMapped) {
  kernel_writes(0, "0123");
  EXPECT_TRUE(file_->mapping_begins());
  store("one");
  EXPECT_TRUE(file_->is_changed());
  file_->mapping_ends();
  EXPECT_TRUE(file_->is_changed()) << "of the last moment";
  store("two");
  EXPECT_FALSE(file_->is_changed());
}

TEST_F(WholeStagingFile, TellsTheTimeOfTheLastWriteOnce) {
  EXPECT_TRUE(file_->take_write_time());
  EXPECT_FALSE(file_->take_write_time());
  kernel_writes(0, "0123");
  const auto written = file_->take_write_time();
  store("one");
  EXPECT_FALSE(file_->take_write_time()) << "a store is not a write";
  if (!written) return;  // in the tick of the clock in which the file was made
  EXPECT_LT(std::chrono::system_clock::now() - *written, std::chrono::minutes(1));
}

TEST_F(WholeStagingFile, IsFoundAfterACrashAsTheKernelLeftIt) {
  kernel_writes(0, "0123");
  reopen();
  EXPECT_EQ(content(), "0123");
  store("one");
  kernel_writes(4, "45");
  reopen();
  EXPECT_EQ(content(), "012345");
  EXPECT_EQ(file_->identity().base, (BaseVersion{.etag = "one", .size_bytes = 4}));
  const auto age = std::chrono::system_clock::now() - area_->leftovers()[0].modified;
  EXPECT_LT(age, std::chrono::hours(1));
  EXPECT_EQ(file_->begin_store().changed.bytes(), 6U) << "the first store after a crash sends all";
}

TEST_F(WholeStagingFile, IsForgottenAfterACrashWhereAllWasStored) {
  kernel_writes(0, "0123");
  store("one");
  EXPECT_EQ(crash(), 0U);
}

TEST_F(WholeStagingFile, IsFoundAfterACrashDuringAStore) {
  kernel_writes(0, "0123");
  store("one");
  kernel_writes(0, "a");
  std::ignore = file_->begin_store();
  EXPECT_EQ(crash(), 1U);
}

TEST_F(WholeStagingFile, IsFoundAfterACrashWhileItCanBeMapped) {
  kernel_writes(0, "0123");
  EXPECT_TRUE(file_->mapping_begins());
  store("one");
  EXPECT_EQ(crash(), 1U);
}

TEST_F(WholeStagingFile, IsMadeOfAFileThatHasNoByte) {
  file_ = area_
              ->create(
                  {.key = "old", .base = BaseVersion{.etag = "1", .size_bytes = 9}, .metadata = {}})
              .value();
  EXPECT_FALSE(file_->make_whole().value());
  EXPECT_FALSE(file_->is_whole());
  EXPECT_TRUE(file_->truncate(0));
  EXPECT_TRUE(file_->make_whole().value());
  kernel_writes(0, "ab");
  EXPECT_EQ(content(), "ab");
  EXPECT_EQ(file_->identity().when().etag, "1");
}

TEST_F(WholeStagingFile, IsChargedForTheRoomThatTheKernelTook) {
  const std::uint64_t before = area_->used_bytes();
  kernel_writes(0, std::string(100'000, 'x'));
  EXPECT_EQ(file_->size_bytes(), 100'000U);
  EXPECT_GE(area_->used_bytes(), before + 100'000);
  file_->remove();
  file_.reset();
  EXPECT_EQ(area_->used_bytes(), 0U);
}

// The file against a string, through random writes of the kernel and of the daemon, stores and
// crashes.
TEST_F(WholeStagingFile, IsWhatAStringUnderTheSameCallsIs) {
  std::minstd_rand random(5);
  std::string model;
  std::optional<std::string> stored;   // what the server has
  std::optional<std::string> sending;  // what a store that is under way sends
  bool is_written_since = true;
  const auto put = [&](std::uint64_t at, const std::string& text) {
    model.resize(std::max(model.size(), at + text.size()));
    model.replace(at, text.size(), text);
    is_written_since = true;
  };
  for (int step = 0; step < 3000; ++step) {
    SCOPED_TRACE(step);
    const std::uint64_t at = random() % 9000;
    const std::string text(1 + random() % 2000, static_cast<char>('A' + random() % 26));
    switch (random() % 7) {
      case 0:
        ASSERT_TRUE(file_->truncate(at));
        model.resize(at);
        is_written_since = true;
        break;
      case 1:
        if (!sending) {
          ASSERT_EQ(file_->begin_store().size_bytes, model.size());
          sending = model;
          is_written_since = false;
          break;
        }
        if (random() % 2 == 0) {
          ASSERT_TRUE(file_->stored(std::to_string(step)));
          stored = sending;
        } else {
          file_->not_stored();
          is_written_since = true;
        }
        sending.reset();
        break;
      case 2:
        if (!file_->is_changed()) break;
        reopen();
        sending.reset();
        is_written_since = true;
        break;
      case 3:
        ASSERT_TRUE(file_->write(at, std::as_bytes(std::span(text))));
        put(at, text);
        break;
      default:
        kernel_writes(at, text);
        put(at, text);
        break;
    }
    ASSERT_EQ(content(), model);
    // Clean only where the server has the bytes; never unclean without a cause.
    const bool is_changed = file_->is_changed();
    ASSERT_TRUE(is_changed || stored == model);
    ASSERT_TRUE(sending || is_changed == (is_written_since || !stored));
  }
}

}  // namespace
}  // namespace s3rdmafs::upload
