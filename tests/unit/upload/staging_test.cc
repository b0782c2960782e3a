// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/temporary_folder.h"
#include "s3rdmafs/base/units.h"
#include "upload/staged/staging_area.h"

namespace s3rdmafs::upload {
namespace {

std::span<const std::byte> bytes_in(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// The file as a program would read it, with this text as its base.
std::string content_of(const StagingFile& file, const std::string& base) {
  std::string text;
  for (const StagingFile::Run& run : file.runs({0, UINT64_MAX})) {
    if (run.is_local) {
      std::string some(run.bytes.size(), '?');
      EXPECT_TRUE(file.read(run.bytes.begin, std::as_writable_bytes(std::span(some))));
      text += some;
    } else {
      EXPECT_LE(run.bytes.end, base.size()) << "bytes that the base does not have";
      text += base.substr(run.bytes.begin, run.bytes.size());
    }
  }
  return text;
}

class StagingTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kRoom = 256 * kKiB;

  StagingTest() { take(); }
  void take() {
    area_ = StagingArea::take({.path = path_, .size_bytes = kRoom}, clock_, metrics_).value();
  }
  // As SIGKILL leaves it: nothing is said to the file.
  void crash() {
    file_.reset();
    area_.reset();
    take();
  }
  void reopen() {
    crash();
    ASSERT_EQ(area_->leftovers().size(), 1U);
    file_ = area_->open(area_->leftovers()[0]).value();
  }
  void create(const std::string& base) {
    base_ = base;
    file_ = area_
                ->create({.key = "a/key",
                          .base = BaseVersion{.etag = "\"1\"", .size_bytes = base.size()},
                          .metadata = {{"mode", "33188"}}})
                .value();
  }
  void create_new() {
    base_.clear();
    file_ = area_->create({.key = "new", .base = std::nullopt, .metadata = {}}).value();
  }
  [[nodiscard]] std::string content() const { return content_of(*file_, base_); }

  fakes::FakeClock clock_;
  fakes::TemporaryFolder temporary_;
  const std::string path_ = temporary_.path().string() + "/staging";
  metrics::Registry metrics_;
  std::unique_ptr<StagingArea> area_;
  std::unique_ptr<StagingFile> file_;
  std::string base_;
};

TEST_F(StagingTest, ShowsTheBaseWithTheBytesThatWereWritten) {
  create("0123456789");
  EXPECT_FALSE(file_->is_changed());
  EXPECT_TRUE(file_->write(3, bytes_in("ab")));
  EXPECT_EQ(content(), "012ab56789");
  EXPECT_EQ(file_->changed(), (ByteRanges{{.begin = 3, .end = 5}}));
  EXPECT_TRUE(file_->write(12, bytes_in("xy")));
  EXPECT_EQ(content(), std::string("012ab56789\0\0xy", 14));
}

TEST_F(StagingTest, NeverShowsBytesOfTheBaseAgainThatWereCutOff) {
  create("0123456789");
  EXPECT_TRUE(file_->truncate(4));
  EXPECT_TRUE(file_->truncate(8));
  EXPECT_EQ(content(), std::string("0123\0\0\0\0", 8));
  EXPECT_TRUE(file_->truncate(10));
  EXPECT_TRUE(file_->is_changed());
  EXPECT_EQ(content().size(), 10U);
}

TEST_F(StagingTest, IsFoundAfterACrashAsItWas) {
  create("0123456789");
  EXPECT_TRUE(file_->write(3, bytes_in("ab")));
  EXPECT_TRUE(file_->truncate(8));
  file_->set_reason("another client changed it");
  reopen();
  EXPECT_EQ(content(), "012ab567");
  const StagedState& state = area_->leftovers()[0].state;
  EXPECT_EQ(state.identity.key, "a/key");
  EXPECT_EQ(state.identity.base, (BaseVersion{.etag = "\"1\"", .size_bytes = 10}));
  EXPECT_EQ(state.identity.metadata, (s3::UserMetadata{{"mode", "33188"}}));
  EXPECT_EQ(state.identity.when().etag, "\"1\"");
  EXPECT_EQ(state.reason, "another client changed it");
}

TEST_F(StagingTest, ForgetsAFileThatHasNoChanges) {
  create("0123456789");
  crash();
  EXPECT_TRUE(area_->leftovers().empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path_), {}), 1) << "the lock";
}

TEST_F(StagingTest, KeepsAnEmptyNewFile) {
  create_new();
  crash();
  ASSERT_EQ(area_->leftovers().size(), 1U);
  EXPECT_EQ(area_->leftovers()[0].state.identity.when().kind, s3::Precondition::Kind::kAbsent);
}

TEST_F(StagingTest, LeavesNothingOfAFileThatWasRemoved) {
  create("base");
  EXPECT_TRUE(file_->write(0, bytes_in("text")));
  file_->remove();
  EXPECT_TRUE(file_->write(4, bytes_in("more"))) << "a program may still have it open";
  EXPECT_EQ(content(), "textmore");
  EXPECT_GT(area_->used_bytes(), 0U);
  file_.reset();
  EXPECT_EQ(area_->used_bytes(), 0U);
  crash();
  EXPECT_TRUE(area_->leftovers().empty());
}

TEST_F(StagingTest, UpdatesOneRecordWhileAProgramWritesInOrder) {
  create_new();
  for (std::uint64_t i = 0; i < 1000; ++i)
    EXPECT_TRUE(file_->write(i * 10, bytes_in("0123456789")));
  EXPECT_EQ(std::filesystem::file_size(path_ + "/1.meta"), 4096U + 32U);
  reopen();
  EXPECT_EQ(file_->changed(), (ByteRanges{{.begin = 0, .end = 10'000}}));
}

TEST_F(StagingTest, KeepsTheSidecarShortWhileAProgramWritesAtRandomAndCuts) {
  create_new();
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_TRUE(file_->write(0, bytes_in("01")));
    EXPECT_TRUE(file_->truncate(1));
  }
  EXPECT_LT(std::filesystem::file_size(path_ + "/1.meta"), 200'000U);
}

TEST_F(StagingTest, RefusesWhatIsBeyondItsRoomAndGoesOnAfterwards) {
  create_new();
  const std::string text(100 * kKiB, 'x');
  EXPECT_TRUE(file_->write(0, bytes_in(text)));
  EXPECT_TRUE(file_->write(text.size(), bytes_in(text)));
  const auto full = file_->write(2 * text.size(), bytes_in(text));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(full.error().advice.find("write.staging_size"), std::string::npos);
  EXPECT_EQ(file_->size_bytes(), 2 * text.size());
  EXPECT_TRUE(file_->write(50, bytes_in(text))) << "bytes that have room already";
  EXPECT_TRUE(file_->truncate(text.size()));
  EXPECT_TRUE(file_->write(text.size(), bytes_in(text)));
}

TEST_F(StagingTest, ChargesNothingForHoles) {
  create_new();
  const std::uint64_t empty = area_->used_bytes();
  EXPECT_TRUE(file_->truncate(kGiB));
  EXPECT_EQ(area_->used_bytes(), empty);
  EXPECT_TRUE(file_->write(kMiB, bytes_in("x")));
  EXPECT_EQ(area_->used_bytes(), empty + 4096);
  EXPECT_TRUE(file_->punch({0, kGiB}));
  EXPECT_EQ(area_->used_bytes(), empty);
}

TEST_F(StagingTest, ChargesWhatEarlierMountsLeft) {
  create_new();
  EXPECT_TRUE(file_->write(0, bytes_in(std::string(200 * kKiB, 'x'))));
  crash();
  EXPECT_GE(area_->used_bytes(), 200 * kKiB);
  create_new();
  EXPECT_EQ(file_->write(0, bytes_in(std::string(100 * kKiB, 'x'))).error().code,
            ErrorCode::kNoSpace);
}

TEST_F(StagingTest, CountsWritesDuringAStoreAsChangesOfTheNewVersion) {
  create("0123456789");
  EXPECT_TRUE(file_->write(3, bytes_in("ab")));
  const StagingFile::Snapshot snapshot = file_->begin_store();
  EXPECT_EQ(snapshot.size_bytes, 10U);
  EXPECT_TRUE(file_->write(9, bytes_in("zz")));
  EXPECT_TRUE(file_->stored("\"2\""));
  base_ = "012ab56789";
  EXPECT_EQ(file_->changed(), (ByteRanges{{.begin = 9, .end = 11}}));
  EXPECT_EQ(content(), "012ab5678zz");
  reopen();
  EXPECT_EQ(content(), "012ab5678zz");
  EXPECT_EQ(file_->identity().base, (BaseVersion{.etag = "\"2\"", .size_bytes = 10}));
}

TEST_F(StagingTest, KeepsAllChangesWhereAStoreFails) {
  create("0123456789");
  EXPECT_TRUE(file_->write(3, bytes_in("ab")));
  (void)file_->begin_store();
  EXPECT_TRUE(file_->write(9, bytes_in("z")));
  file_->not_stored();
  EXPECT_EQ(file_->changed().bytes(), 3U);
  reopen();
  EXPECT_EQ(content(), "012ab5678z");
}

TEST_F(StagingTest, IsNotChangedAfterAStoreUntilItIsWrittenAgain) {
  create_new();
  EXPECT_TRUE(file_->write(0, bytes_in(std::string(50'000, 'a'))));
  (void)file_->begin_store();
  EXPECT_TRUE(file_->stored("\"1\""));
  base_ = std::string(50'000, 'a');
  EXPECT_FALSE(file_->is_changed());
  EXPECT_EQ(content(), base_) << "still from the local file";
  file_->drop_unchanged();
  EXPECT_TRUE(file_->written().empty());
  EXPECT_EQ(content(), base_);
  EXPECT_EQ(area_->used_bytes(), kSidecarBytes);
  EXPECT_TRUE(file_->set_metadata({{"mode", "1"}}));
  EXPECT_TRUE(file_->is_changed());
}

TEST_F(StagingTest, NotesAStoreInTheSidecarThatIsThere) {
  const auto inode_of_sidecar = [this] {
    struct stat status{};
    EXPECT_EQ(::stat((path_ + "/1.meta").c_str(), &status), 0);
    return status.st_ino;
  };
  create_new();
  EXPECT_TRUE(file_->write(0, bytes_in("0123456789")));
  const auto before = inode_of_sidecar();
  (void)file_->begin_store();
  EXPECT_TRUE(file_->stored("\"1\""));
  EXPECT_EQ(inode_of_sidecar(), before);
  base_ = "0123456789";
  EXPECT_TRUE(file_->write(3, bytes_in("ab")));
  reopen();
  EXPECT_EQ(file_->changed(), (ByteRanges{{.begin = 3, .end = 5}}));
  EXPECT_EQ(content(), "012ab56789");
  EXPECT_EQ(file_->identity().base, (BaseVersion{.etag = "\"1\"", .size_bytes = 10}));
  (void)file_->begin_store();
  EXPECT_TRUE(file_->write(0, bytes_in("c")));
  EXPECT_TRUE(file_->stored("\"2\""));
  EXPECT_NE(inode_of_sidecar(), before) << "the control: bytes that the store lacks";
}

TEST_F(StagingTest, HasTheBytesOfACopyAfterItsStore) {
  create("");
  ASSERT_TRUE(file_->begin_copy(10));
  EXPECT_EQ(file_->size_bytes(), 0U) << "it may yet fail";
  ASSERT_TRUE(file_->stored("\"2\""));
  EXPECT_EQ(content_of(*file_, "0123456789"), "0123456789");
  EXPECT_FALSE(file_->is_changed());
  EXPECT_TRUE(file_->write(9, bytes_in("ab")));
  reopen();
  EXPECT_EQ(content_of(*file_, "0123456789"), "012345678ab");
  EXPECT_EQ(file_->identity().base, (BaseVersion{.etag = "\"2\"", .size_bytes = 10}));
}

TEST_F(StagingTest, LeavesNothingOfACopyAfterACrash) {
  create("base");
  ASSERT_TRUE(file_->truncate(0));
  std::filesystem::create_hard_link(path_ + "/1.meta", temporary_.path() / "old");
  ASSERT_TRUE(file_->begin_copy(10));
  ASSERT_TRUE(file_->stored("\"2\""));
  EXPECT_EQ(std::filesystem::hard_link_count(path_ + "/1.meta"), 1U) << "its records go with it";
  crash();
  EXPECT_TRUE(area_->leftovers().empty());
}

TEST_F(StagingTest, IsNoCopyWhereItHasBytesOrTheCopyFails) {
  create("base");
  EXPECT_FALSE(file_->begin_copy(10));
  ASSERT_TRUE(file_->truncate(0));
  ASSERT_TRUE(file_->begin_copy(10));
  file_->not_stored();
  EXPECT_EQ(file_->size_bytes(), 0U);
  EXPECT_TRUE(file_->is_changed());
  EXPECT_TRUE(file_->write(0, bytes_in("ab")));
  EXPECT_EQ(content_of(*file_, "base"), "ab");
}

TEST_F(StagingTest, ForgetsAFileThatWasStored) {
  create_new();
  EXPECT_TRUE(file_->write(0, bytes_in("0123456789")));
  (void)file_->begin_store();
  EXPECT_TRUE(file_->stored("\"1\""));
  crash();
  EXPECT_TRUE(area_->leftovers().empty());
  EXPECT_FALSE(std::filesystem::exists(path_ + "/1.data"));
}

TEST_F(StagingTest, LosesNothingWhereACrashIsInTheMidstOfTheNoteOfAStore) {
  create_new();
  EXPECT_TRUE(file_->write(0, bytes_in("0123456789")));
  EXPECT_TRUE(file_->truncate(4));
  EXPECT_TRUE(file_->write(6, bytes_in("z")));
  const auto sidecar = [this] {
    return std::fstream(path_ + "/1.meta", std::ios::in | std::ios::out | std::ios::binary);
  };
  std::string records(3 * 32, '\0');
  auto meta = sidecar();
  meta.seekg(4096);
  meta.read(records.data(), static_cast<std::streamsize>(records.size()));
  ASSERT_EQ(meta.gcount(), static_cast<std::streamsize>(records.size()));
  (void)file_->begin_store();
  EXPECT_TRUE(file_->stored("\"1\""));
  meta = sidecar();
  meta.seekp(4096);
  meta << records;  // as they are between the head's change and the cut
  meta.close();
  reopen();
  EXPECT_EQ(content(), std::string("0123\0\0z", 7));
  EXPECT_EQ(file_->identity().base, (BaseVersion{.etag = "\"1\"", .size_bytes = 7}));
}

TEST_F(StagingTest, RemovesAFileThatWasBeingMadeAndLeavesOneWithBytes) {
  area_.reset();
  for (const char* name : {"/7.data", "/7.meta", "/8.data", "/8.meta"}) std::ofstream(path_ + name);
  std::ofstream(path_ + "/8.data") << "bytes";
  take();
  EXPECT_TRUE(area_->leftovers().empty());
  EXPECT_FALSE(std::filesystem::exists(path_ + "/7.data"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "/7.meta"));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/8.data")) << "the control";
}

TEST_F(StagingTest, LeavesADamagedFileWhereItIs) {
  create_new();
  EXPECT_TRUE(file_->write(0, bytes_in("text")));
  file_.reset();
  area_.reset();
  std::fstream meta(path_ + "/1.meta", std::ios::in | std::ios::out | std::ios::binary);
  meta.seekp(12);
  meta << '!';
  meta.close();
  take();
  EXPECT_TRUE(area_->leftovers().empty());
  ASSERT_EQ(area_->damaged().size(), 1U);
  EXPECT_EQ(area_->damaged()[0].path, path_ + "/1");
  EXPECT_TRUE(std::filesystem::exists(path_ + "/1.data"));
  create_new();
  EXPECT_TRUE(std::filesystem::exists(path_ + "/2.data")) << "its name is not used again";
}

TEST_F(StagingTest, BelongsToOneMount) {
  struct PassingClock final : Clock {
    [[nodiscard]] std::chrono::steady_clock::time_point now() const override {
      return std::chrono::steady_clock::time_point(time += std::chrono::seconds(1));
    }
    [[nodiscard]] std::chrono::system_clock::time_point wall_now() const override { return {}; }
    bool wait_until(CondVar&, Mutex&, Deadline) const override { return false; }
    mutable std::chrono::steady_clock::duration time{};
  };
  const PassingClock clock;
  const auto second = StagingArea::take({.path = path_, .size_bytes = kRoom}, clock, metrics_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
  EXPECT_NE(second.error().detail.find("write.staging_dir"), std::string::npos);
}

// The file against a string, through random calls, stores and crashes.
TEST_F(StagingTest, IsWhatAStringUnderTheSameCallsIs) {
  std::minstd_rand random(3);
  std::string model(3000, 'b');
  create(model);
  char next = 'A';
  bool is_storing = false;
  std::string storing;
  for (int step = 0; step < 3000; ++step) {
    SCOPED_TRACE(step);
    const std::uint64_t at = random() % 9000;
    const std::uint64_t length = random() % 2000;
    next = next == 'Z' ? 'A' : static_cast<char>(next + 1);
    switch (random() % 8) {
      case 0:
        ASSERT_TRUE(file_->truncate(at));
        model.resize(at);
        break;
      case 1:
        ASSERT_TRUE(file_->punch({at, at + length}));
        for (std::uint64_t i = at; i < std::min<std::uint64_t>(at + length, model.size()); ++i) {
          model[i] = '\0';
        }
        break;
      case 2:
        if (is_storing) {
          const bool succeeds = random() % 2 == 0;
          if (succeeds) {
            ASSERT_TRUE(file_->stored("\"" + std::to_string(step) + "\""));
            base_ = storing;
          } else {
            file_->not_stored();
          }
        } else {
          ASSERT_EQ(file_->begin_store().size_bytes, model.size());
          storing = model;
        }
        is_storing = !is_storing;
        break;
      case 3:
        file_->drop_unchanged();
        break;
      case 4:
        if (!file_->is_changed()) break;
        reopen();
        is_storing = false;
        break;
      default:
        ASSERT_TRUE(file_->write(at, bytes_in(std::string(length, next))));
        if (length > 0) model.resize(std::max<std::size_t>(model.size(), at + length));
        std::fill_n(
            model.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(at, model.size())),
            length, next);
        break;
    }
    ASSERT_EQ(file_->size_bytes(), model.size());
    ASSERT_EQ(content(), model);
    ASSERT_LE(area_->used_bytes(), kRoom);
    ASSERT_EQ(file_->changed().complement({base_.size(), UINT64_MAX}).bytes(),
              UINT64_MAX - std::max(base_.size(), model.size()));
  }
}

}  // namespace
}  // namespace s3rdmafs::upload
