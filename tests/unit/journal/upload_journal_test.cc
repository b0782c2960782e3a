// SPDX-License-Identifier: Apache-2.0
#include "journal/upload_journal.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::journal {
namespace {

using namespace std::chrono_literals;

class UploadJournalTest : public testing::Test {
 protected:
  std::unique_ptr<UploadJournal> open() { return UploadJournal::open(folder_, clock_).value(); }
  [[nodiscard]] std::vector<std::string> left() {
    std::vector<std::string> made;
    const auto journal = open();
    for (const UploadJournal::Upload& upload : journal->left()) {
      made.push_back(upload.key + "=" + upload.id);
    }
    return made;
  }

  fakes::FakeClock clock_;
  fakes::TemporaryFolder temporary_;
  StateFolder folder_ =
      StateFolder::take(temporary_.path().string() + "/state", "write.state_dir", clock_).value();
};

TEST_F(UploadJournalTest, NamesTheUploadsThatHaveNotEnded) {
  {
    const auto journal = open();
    journal->begun("a key", "1");
    journal->begun("other", "2");
    journal->begun("third", "3");
    journal->ended("2");
  }
  EXPECT_EQ(left(), (std::vector<std::string>{"a key=1", "third=3"}));
}

TEST_F(UploadJournalTest, NamesThemAtEachStartUntilTheyEnd) {
  open()->begun("a", "1");
  EXPECT_EQ(left().size(), 1U);
  EXPECT_EQ(left().size(), 1U);
  open()->ended("1");
  EXPECT_TRUE(left().empty());
}

TEST_F(UploadJournalTest, NamesTheUploadsThatWereAskedForAndNotAnswered) {
  {
    const auto journal = open();
    const std::uint64_t first = journal->asked("a key");
    const std::uint64_t second = journal->asked("other");
    EXPECT_NE(first, second);
    journal->answered(second);
  }
  const auto journal = open();
  ASSERT_EQ(journal->left_unanswered().size(), 1U);
  EXPECT_EQ(journal->left_unanswered()[0].key, "a key");
  EXPECT_TRUE(journal->left().empty());
  EXPECT_NE(journal->asked("third"), journal->left_unanswered()[0].number);
  journal->answered(journal->left_unanswered()[0].number);
  const auto next = open();
  ASSERT_EQ(next->left_unanswered().size(), 1U);
  EXPECT_EQ(next->left_unanswered()[0].key, "third");
}

TEST_F(UploadJournalTest, SaysUntilWhenAKilledMountCanHaveBegunAnUpload) {
  const auto start = clock_.wall_now();
  {
    const auto journal = open();
    journal->on_tick();  // nothing is asked for: no life sign
    clock_.advance(10s);
    static_cast<void>(journal->asked("key"));
    clock_.advance(2s);
    journal->on_tick();
    clock_.advance(1s);
  }
  clock_.advance(1h);
  for (int mount = 0; mount < 3; ++mount) {
    const auto journal = open();
    ASSERT_EQ(journal->left_unanswered().size(), 1U);
    EXPECT_EQ(journal->left_unanswered()[0].from, start + 10s);
    EXPECT_EQ(journal->left_unanswered()[0].until, start + 17s) << "later mounts change nothing";
    journal->answered(journal->asked("another"));
    clock_.advance(1h);
    journal->on_tick();
  }
}

TEST_F(UploadJournalTest, TellsItsOwnUploadsFromThoseOfOthers) {
  static_cast<void>(open()->asked("left"));
  const auto journal = open();
  EXPECT_FALSE(journal->is_asking("left")) << "an earlier mount asked for it";
  const std::uint64_t number = journal->asked("key");
  EXPECT_TRUE(journal->is_asking("key"));
  EXPECT_FALSE(journal->is_asking("other"));
  EXPECT_FALSE(journal->knows("1"));
  journal->begun("key", "1");
  journal->answered(number);
  EXPECT_FALSE(journal->is_asking("key"));
  EXPECT_TRUE(journal->knows("1"));
  journal->ended("1");
  EXPECT_FALSE(journal->knows("1"));
}

TEST_F(UploadJournalTest, StaysSmallWhileOneRequestWaitsForItsAnswerForLong) {
  const auto journal = open();
  static_cast<void>(journal->asked("key"));
  for (int second = 0; second < 60'000; ++second) journal->on_tick();
  EXPECT_LT(std::filesystem::file_size(folder_.path() + "/uploads"), 2U << 20U);
}

TEST_F(UploadJournalTest, StaysSmallWhileUploadsWhileUploadsComeAndGo) {
  const auto journal = open();
  journal->begun("stays", "0");
  for (int i = 1; i < 40'000; ++i) {
    journal->begun("key", std::to_string(i));
    journal->ended(std::to_string(i));
  }
  EXPECT_LT(std::filesystem::file_size(folder_.path() + "/uploads"), 2U << 20U);
  EXPECT_EQ(left(), std::vector<std::string>{"stays=0"});
}

}  // namespace
}  // namespace s3rdmafs::journal
