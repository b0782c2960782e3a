// SPDX-License-Identifier: Apache-2.0
// What a staging file knows of parts that are sent before it is stored.
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/temporary_folder.h"
#include "s3rdmafs/base/units.h"
#include "upload/staged/staging_area.h"

namespace s3rdmafs::upload {
namespace {

constexpr ByteRange kFirst{.begin = 0, .end = 8192};
constexpr ByteRange kSecond{.begin = 8192, .end = 16'384};

class StagingEarly : public testing::Test {
 protected:
  StagingEarly() { take(); }
  void take() {
    area_ = StagingArea::take({.path = temporary_.path().string() + "/staging", .size_bytes = kMiB},
                              clock_, metrics_)
                .value();
  }
  void create(std::optional<BaseVersion> base = std::nullopt) {
    file_ = area_->create({.key = "key", .base = std::move(base), .metadata = {}}).value();
  }
  void write(std::uint64_t at, std::size_t length) {
    const std::string text(length, 'x');
    EXPECT_TRUE(file_->write(at, std::as_bytes(std::span(text))));
  }
  /// In order, and as if both parts had been sent.
  void write_and_send() {
    write(0, 12'000);
    write(12'000, 8'000);
    EXPECT_TRUE(begin(kFirst));
    EXPECT_TRUE(begin(kSecond));
  }
  bool begin(ByteRange part) { return file_->begin_part(part, file_->in_order().run); }
  bool drop(ByteRange part) {
    return file_->drop_sent(part, file_->in_order().run).value_or(false);
  }
  std::string_view write_error(std::uint64_t at) {
    const auto written = file_->write(at, std::as_bytes(std::span("text")));
    return written ? "" : error_code_name(written.error().code);
  }

  fakes::FakeClock clock_;
  fakes::TemporaryFolder temporary_;
  metrics::Registry metrics_;
  std::unique_ptr<StagingArea> area_;
  std::unique_ptr<StagingFile> file_;
};

TEST_F(StagingEarly, IsInOrderUntilAnythingElseIsDone) {
  const std::vector<std::function<void()>> others = {
      [this] { write(100, 10); },
      [this] { write(40'000, 10); },
      [this] { ASSERT_TRUE(file_->truncate(5)); },
      [this] { ASSERT_TRUE(file_->truncate(30'000)); },
      [this] { ASSERT_TRUE(file_->extend(30'000)); },
      [this] { ASSERT_TRUE(file_->punch({.begin = 0, .end = 10})); }};
  for (const auto& other : others) {
    create();
    write(0, 12'000);
    write(12'000, 8'000);
    EXPECT_EQ(file_->in_order().size_bytes, 20'000U);
    other();
    EXPECT_EQ(file_->in_order().size_bytes, 0U);
    EXPECT_TRUE(file_->truncate(0));
    write(0, 10);
    EXPECT_EQ(file_->in_order().size_bytes, 10U);
    file_->remove();
  }
}

TEST_F(StagingEarly, IsNotInOrderWhereItHasAVersion) {
  create(BaseVersion{.etag = "\"1\"", .size_bytes = 10});
  write(10, 20);
  EXPECT_EQ(file_->in_order().size_bytes, 0U);
}

TEST_F(StagingEarly, GivesTheRoomOfSentPartsBack) {
  create();
  write_and_send();
  const std::uint64_t before = area_->used_bytes();
  EXPECT_TRUE(drop(kFirst));
  EXPECT_EQ(area_->used_bytes(), before - kFirst.size());
  EXPECT_FALSE(drop(kFirst)) << "once";
  EXPECT_EQ(file_->size_bytes(), 20'000U);
  const auto runs = file_->runs({0, UINT64_MAX});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_TRUE(runs[0].is_dropped && !runs[0].is_local);
  EXPECT_TRUE(runs[1].is_local);
}

TEST_F(StagingEarly, KeepsAPartThatHasChangedOrWasNotSent) {
  create();
  write_and_send();
  write(8192, 1);
  EXPECT_FALSE(drop(kSecond));
  EXPECT_FALSE(drop({.begin = 16'384, .end = 20'000}));
  EXPECT_TRUE(drop(kFirst)) << "the control";
}

TEST_F(StagingEarly, RefusesChangesOfWhatWasDropped) {
  create();
  write_and_send();
  ASSERT_TRUE(drop(kFirst));
  EXPECT_EQ(write_error(8190), "SequentialOnly");
  EXPECT_FALSE(file_->truncate(8191));
  EXPECT_FALSE(file_->punch({.begin = 0, .end = 1}));
  EXPECT_EQ(write_error(8192), "");
  EXPECT_TRUE(file_->truncate(8192));
  EXPECT_TRUE(file_->truncate(0)) << "which begins again";
  EXPECT_TRUE(file_->dropped().empty());
  EXPECT_EQ(write_error(0), "");
}

TEST_F(StagingEarly, BeginsNoPartOfAnEarlierRun) {
  create();
  write_and_send();
  const std::uint64_t run = file_->in_order().run;
  EXPECT_TRUE(file_->truncate(0));
  write(0, 20'000);
  EXPECT_FALSE(file_->begin_part(kFirst, run));
  EXPECT_FALSE(drop(kFirst));
  EXPECT_TRUE(begin(kFirst));
}

TEST_F(StagingEarly, DropsNothingWhileItIsStoredAndReadsAllFromTheVersionAfterwards) {
  create();
  write_and_send();
  ASSERT_TRUE(drop(kFirst));
  const StagingFile::Snapshot snapshot = file_->begin_store();
  EXPECT_TRUE(snapshot.has_dropped);
  EXPECT_TRUE(snapshot.as_sent.contains({0, kSecond.end}));
  EXPECT_FALSE(drop(kSecond));
  EXPECT_TRUE(file_->stored("\"1\""));
  EXPECT_TRUE(file_->dropped().empty());
  EXPECT_FALSE(file_->runs(kFirst).front().is_dropped);
  EXPECT_FALSE(file_->runs(kFirst).front().is_local);
}

TEST_F(StagingEarly, IsFoundAfterACrashWithWhatItLacks) {
  create();
  write_and_send();
  ASSERT_TRUE(drop(kFirst));
  write(20'000, 100);
  file_.reset();
  area_.reset();
  take();
  ASSERT_EQ(area_->leftovers().size(), 1U);
  const StagedState& state = area_->leftovers()[0].state;
  EXPECT_EQ(state.dropped, (ByteRanges{kFirst}));
  EXPECT_EQ(state.size_bytes, 20'100U);
  EXPECT_EQ(area_->open(area_->leftovers()[0]).value()->dropped(), (ByteRanges{kFirst}));
}

TEST_F(StagingEarly, TakesNoMoreThanItsPartsCanHoldOnceSomeWereDropped) {
  create();
  write_and_send();
  const std::uint64_t run = file_->in_order().run;
  EXPECT_FALSE(file_->drop_sent(kFirst, run, 19'999).value_or(true)) << "it is too large already";
  write(20'000, 5);
  ASSERT_TRUE(file_->drop_sent(kFirst, run, 20'010).value_or(false));
  EXPECT_EQ(write_error(20'007), "TooLarge");
  EXPECT_FALSE(file_->truncate(20'011));
  EXPECT_FALSE(file_->extend(20'011));
  EXPECT_EQ(write_error(20'005), "");
  EXPECT_TRUE(file_->truncate(0));
  write(0, 30'000);
}

TEST_F(StagingEarly, DropsPartsNextToEachOtherByOneRecord) {
  create();
  write_and_send();
  ASSERT_TRUE(drop(kFirst));
  const auto sidecar_bytes = [&] {
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(temporary_.path() / "staging")) {
      if (entry.path().extension() == ".meta") bytes = entry.file_size();
    }
    return bytes;
  };
  const std::uint64_t before = sidecar_bytes();
  ASSERT_TRUE(drop(kSecond));
  EXPECT_EQ(sidecar_bytes(), before);
  write(20'000, 1);
  EXPECT_GT(sidecar_bytes(), before) << "the control";
  file_.reset();
  area_.reset();
  take();
  ASSERT_EQ(area_->leftovers().size(), 1U);
  EXPECT_EQ(area_->leftovers()[0].state.dropped, (ByteRanges{{.begin = 0, .end = kSecond.end}}));
}

TEST_F(StagingEarly, DropsNoPartAfterItsStoreHasFailed) {
  create();
  write_and_send();
  std::ignore = file_->begin_store();
  file_->not_stored();
  EXPECT_FALSE(drop(kFirst));
}

TEST_F(StagingEarly, GivesAllItsRoomBackWhereItIsLost) {
  create();
  write_and_send();
  ASSERT_TRUE(drop(kFirst));
  file_->give_up();
  EXPECT_EQ(area_->used_bytes(), kSidecarBytes);
  EXPECT_EQ(file_->dropped(), (ByteRanges{{.begin = 0, .end = 20'000}}));
}

TEST_F(StagingEarly, IsFoundWholeAfterACrashOnceItWasTruncated) {
  create();
  write_and_send();
  ASSERT_TRUE(drop(kFirst));
  ASSERT_TRUE(file_->truncate(0));
  write(0, 100);
  file_.reset();
  area_.reset();
  take();
  ASSERT_EQ(area_->leftovers().size(), 1U);
  EXPECT_TRUE(area_->leftovers()[0].state.dropped.empty());
}

}  // namespace
}  // namespace s3rdmafs::upload
