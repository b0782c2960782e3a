// SPDX-License-Identifier: Apache-2.0
#include "journal/upload_journal.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::journal {
namespace {

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

TEST_F(UploadJournalTest, StaysSmallWhileUploadsComeAndGo) {
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
