// SPDX-License-Identifier: Apache-2.0
#include "journal/journal.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <semaphore>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/log_capture.h"
#include "fakes/temporary_folder.h"

namespace {

/// A disk that can be made slow: while it is, every sync waits for its end.
struct SlowDisk {
  std::atomic<bool> is_slow = false;
  std::atomic<bool> is_syncing = false;
  std::binary_semaphore begun{0};
  std::binary_semaphore end{0};
};
SlowDisk slow_disk;

}  // namespace

// In place of the C library's.
extern "C" int fdatasync(int file) {
  if (slow_disk.is_slow) {
    slow_disk.is_syncing = true;
    slow_disk.begun.release();
    EXPECT_TRUE(slow_disk.end.try_acquire_for(std::chrono::seconds(30)));
    slow_disk.is_syncing = false;
  }
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

namespace s3rdmafs::journal {
namespace {

const Record kRename{.kind = "rename", .fields = {"a b", std::string("\0%\n\t\xff", 5), ""}};
const Record kBare{.kind = "bare", .fields = {}};

class JournalTest : public testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return folder_.path() + "/log"; }
  [[nodiscard]] std::string content() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void set_content(const std::string& text) const {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << text;
  }
  std::unique_ptr<Journal> open() { return Journal::open(folder_, "log", clock_).value(); }
  std::vector<Record> records() { return open()->take_found(); }

  fakes::FakeClock clock_;
  fakes::TemporaryFolder temporary_;
  StateFolder folder_ =
      StateFolder::take(temporary_.path().string() + "/state", "write.state_dir", clock_).value();
};

TEST_F(JournalTest, FindsItsRecordsAgainWhateverBytesTheyHave) {
  {
    const auto journal = open();
    EXPECT_TRUE(journal->take_found().empty());
    EXPECT_TRUE(journal->append(kRename));
    EXPECT_TRUE(journal->append(kBare, Durability::kProcess));
  }
  EXPECT_EQ(records(), (std::vector{kRename, kBare}));
}

TEST_F(JournalTest, WritesOneLineOfPrintableTextForEachRecord) {
  EXPECT_TRUE(open()->append(kRename));
  const std::string text = content();
  EXPECT_EQ(text.substr(8), "\trename\ta%20b\t%00%25%0A%09%FF\t\n");
}

TEST_F(JournalTest, AnswersAllThatWaitsBeforeItFinishesAndRefusesTheRest) {
  const auto journal = open();
  std::size_t answered = 0;
  for (int i = 0; i < 100; ++i) {
    journal->append_async(kRename,
                          [&](const Result<void>& written) { answered += written ? 1 : 0; });
  }
  journal->finish();
  EXPECT_EQ(answered, 100U);
  std::optional<ErrorCode> refused;
  journal->append_async(kBare,
                        [&](const Result<void>& written) { refused = written.error().code; });
  EXPECT_EQ(refused, ErrorCode::kCancelled);
  EXPECT_TRUE(journal->append(kBare)) << "what renames under way still have to say";
}

// A writer that dies, or a power failure, leaves any part of the last line.
TEST_F(JournalTest, IsCutOffAtATornLineWhereverItIsTorn) {
  EXPECT_TRUE(open()->append(kBare));
  const std::string first = content();
  EXPECT_TRUE(open()->append(kRename));
  const std::string both = content();
  for (std::size_t length = first.size(); length < both.size(); ++length) {
    set_content(both.substr(0, length));
    EXPECT_EQ(records(), std::vector{kBare}) << length;
    EXPECT_EQ(content(), first) << "a record that is appended now begins a line";
  }
  set_content(both);
  EXPECT_EQ(records().size(), 2U);
}

TEST_F(JournalTest, LeavesOutADamagedLineAndSaysSo) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(open()->append(kBare));
  const std::string good = content();
  const fakes::LogCapture log;
  EXPECT_EQ(records().size(), 3U);
  EXPECT_TRUE(log.lines_with("damaged").empty());
  std::string bad = good;
  bad[good.size() / 3 + 9] ^= 1;  // within the second line
  set_content(bad);
  EXPECT_EQ(records().size(), 2U);
  EXPECT_EQ(log.lines_with("line 2 is damaged").size(), 1U);
}

TEST_F(JournalTest, NeverTakesADamagedLineForAnother) {
  std::minstd_rand random(1);
  const std::string line = line_of(kRename);
  EXPECT_EQ(parse_line(line.substr(0, line.size() - 1)), kRename);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = line.substr(0, line.size() - 1);
    damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    const auto parsed = parse_line(damaged);
    EXPECT_TRUE(!parsed || *parsed == kRename) << damaged;  // a digit's case does not matter
  }
}

TEST_F(JournalTest, ReplacesItsContentAtOnce) {
  const auto journal = open();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(journal->append(kBare, Durability::kProcess));
  EXPECT_TRUE(journal->rewrite({kRename}));
  EXPECT_EQ(journal->size_bytes(), line_of(kRename).size());
  EXPECT_TRUE(journal->append(kBare));
  EXPECT_EQ(records(), (std::vector{kRename, kBare}));
}

TEST_F(JournalTest, AnswersEachAsynchronousRecordWhenItIsOnTheDisk) {
  std::atomic<int> answered = 0;
  {
    const auto journal = open();
    for (int i = 0; i < 50; ++i) {
      journal->append_async(kBare, [&](Result<void> written) {
        EXPECT_TRUE(written);
        ++answered;
      });
    }
  }
  EXPECT_EQ(answered, 50) << "the journal answers before it ends";
  EXPECT_EQ(records().size(), 50U);
}

// Event threads write those: none of them may wait for a disk.
TEST_F(JournalTest, TakesRecordsForTheProcessWhileOthersWaitForTheDisk) {
  const auto journal = open();
  slow_disk.is_slow = true;
  bool is_kept = false;
  journal->append_async(kRename,
                        [&](const Result<void>& written) { is_kept = written.has_value(); });
  slow_disk.begun.acquire();
  EXPECT_TRUE(journal->append(kBare, Durability::kProcess));
  EXPECT_TRUE(slow_disk.is_syncing) << "it did not wait";
  slow_disk.is_slow = false;
  slow_disk.end.release();
  journal->finish();
  EXPECT_TRUE(is_kept);
  EXPECT_EQ(records(), (std::vector{kRename, kBare}));
}

TEST_F(JournalTest, SaysWhyItCannotBeOpened) {
  std::filesystem::create_symlink("elsewhere", file());
  const auto journal = Journal::open(folder_, "log", clock_);
  ASSERT_FALSE(journal);
  EXPECT_NE(journal.error().detail.find(file()), std::string::npos) << journal.error().detail;
}

}  // namespace
}  // namespace s3rdmafs::journal
