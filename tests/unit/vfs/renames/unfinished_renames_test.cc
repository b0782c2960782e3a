// SPDX-License-Identifier: Apache-2.0
// A mount dies after each step of a rename; the next one finishes or undoes it.
#include "vfs/renames/unfinished_renames.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../answer.h"
#include "fakes/fake_clock.h"
#include "fakes/log_capture.h"
#include "fakes/s3/fake_object_store.h"
#include "fakes/temporary_folder.h"
#include "journal/state_folder.h"
#include "s3rdmafs/base/clock.h"
#include "vfs/renames/object_mover.h"
#include "vfs/renames/rename_journal.h"
#include "vfs/renames/tree_mover.h"

namespace s3rdmafs::vfs {
namespace {

using Operation = fakes::FakeObjectStore::Operation;

/// Keeps what a killed mount would leave on the disk: nothing that came after crash().
class CrashingLog final : public RenameLog {
 public:
  std::uint64_t next_id() override { return ++last_id_; }
  void begun(const BegunRename& rename, Done<void> done) override {
    if (!has_crashed_) left.push_back(rename);
    done({});
  }
  void copied(std::uint64_t id, const std::string& etag) override {
    for (BegunRename& rename : left) {
      if (has_crashed_ || rename.id != id) continue;
      rename.is_copied = keeps_copies;
      if (keeps_copies) rename.copied_etag = etag;
    }
  }
  void ended(std::uint64_t id) override {
    if (!has_crashed_) std::erase_if(left, [id](const auto& rename) { return rename.id == id; });
  }
  void crash() { has_crashed_ = true; }

  std::vector<BegunRename> left;
  bool keeps_copies = true;  ///< false: the machine died too, and took that record with it

 private:
  bool has_crashed_ = false;
  std::uint64_t last_id_ = 0;
};

class UnfinishedRenames : public testing::Test {
 protected:
  ~UnfinishedRenames() override { store_.shut_down(); }

  static Deadline request_deadline() { return {}; }
  TreeMover::Parts tree_parts() { return {store_, store_, log_, request_deadline, 1000}; }

  /// Renames "a" to "b" until the server has answered so many requests; then the mount dies.
  void rename_and_crash(std::size_t answered, std::string replaced_etag = {}) {
    const auto source =
        answer_of<s3::ObjectInfo>([&](auto done) { store_.head("a", {}, std::move(done)); });
    store_.hold();
    Answer<std::string> answer;
    ObjectMover mover(store_, log_, request_deadline);
    mover.move({.from = *source, .to = "b", .replaced_etag = std::move(replaced_etag)},
               answer.done());
    crash_after(answered);
  }

  void rename_tree_and_crash(std::size_t answered) {
    const auto mover = std::make_shared<TreeMover>(tree_parts(), log_.next_id(), "from/", "to/");
    store_.hold();
    Answer<void> answer;
    mover->move({.on_moving = [](const auto&) {}, .on_moved = [](const auto&) {}}, answer.done());
    crash_after(answered);
  }

  void crash_after(std::size_t answered) {
    for (std::size_t i = 0; i < answered; ++i) ASSERT_TRUE(store_.release());
    log_.crash();
    while (store_.fail_held(0, {.error = {ErrorCode::kCancelled, "the mount died"}})) {
    }
    store_.release_all();
  }

  void next_mount() {
    CrashingLog log;
    log.left = log_.left;
    const auto done = answer_of<void>([&](auto then) {
      finish_renames({store_, store_, log, request_deadline}, log_.left, std::move(then));
    });
    EXPECT_TRUE(done);
    log_.left = log.left;
  }

  std::optional<std::string> at(const std::string& key) const { return store_.object(key); }

  fakes::FakeClock clock_;
  fakes::FakeObjectStore store_{clock_};
  CrashingLog log_;
};

TEST_F(UnfinishedRenames, BeforeTheCopyLeaveTheSource) {
  store_.put("a", "bytes");
  rename_and_crash(0);
  ASSERT_EQ(log_.left.size(), 1U);
  next_mount();
  EXPECT_EQ(at("a"), "bytes");
  EXPECT_FALSE(at("b"));
  EXPECT_TRUE(log_.left.empty());
}

TEST_F(UnfinishedRenames, BeforeTheCopyLeaveWhatTheyWereToReplace) {
  store_.put("a", "bytes");
  rename_and_crash(0, store_.put("b", "other"));  // of the same size
  next_mount();
  EXPECT_EQ(at("a"), "bytes");
  EXPECT_EQ(at("b"), "other");
}

TEST_F(UnfinishedRenames, AfterTheCopyAreFinished) {
  store_.put("a", "bytes");
  rename_and_crash(1);
  ASSERT_EQ(at("a"), "bytes") << "both names have it";
  next_mount();
  EXPECT_FALSE(at("a"));
  EXPECT_EQ(at("b"), "bytes");
  EXPECT_TRUE(log_.left.empty());
}

TEST_F(UnfinishedRenames, AfterACopyThatTheLogHasNotAreFinishedWhereTheETagProvesIt) {
  store_.keep_etags_of_copies();
  log_.keeps_copies = false;
  store_.put("a", "bytes");
  rename_and_crash(1, store_.put("b", "other"));
  next_mount();
  EXPECT_FALSE(at("a"));
  EXPECT_EQ(at("b"), "bytes");
}

TEST_F(UnfinishedRenames, KeepBothNamesWhereNothingProvesTheCopy) {
  log_.keeps_copies = false;
  store_.put("a", "bytes");
  rename_and_crash(1, store_.put("b", "other"));
  fakes::LogCapture log;
  next_mount();
  EXPECT_EQ(at("a"), "bytes");
  EXPECT_EQ(at("b"), "bytes");
  EXPECT_TRUE(log_.left.empty());
  EXPECT_EQ(log.lines_with("both names stay").size(), 1U);
}

TEST_F(UnfinishedRenames, ReplaceNothingThatAnotherClientStoredSince) {
  for (const std::string theirs : {"of another size", "theirs"}) {
    for (const bool keeps_copies : {false, true}) {
      log_ = CrashingLog();
      log_.keeps_copies = keeps_copies;
      store_.put("a", "bytes!");
      rename_and_crash(1);
      store_.put("b", theirs);
      next_mount();
      EXPECT_EQ(at("a"), "bytes!") << keeps_copies;
      EXPECT_EQ(at("b"), theirs) << keeps_copies;
      EXPECT_TRUE(log_.left.empty());
    }
  }
}

TEST_F(UnfinishedRenames, KeepASourceThatAnotherClientStoredSince) {
  store_.put("a", "bytes");
  rename_and_crash(1);
  store_.put("a", "newer");
  next_mount();
  EXPECT_EQ(at("a"), "newer");
  EXPECT_EQ(at("b"), "bytes");
}

// The mount after the next would otherwise remove what programs have come to use.
TEST_F(UnfinishedRenames, AreOverWhereTheServerFailsAndBothNamesStay) {
  store_.put("a", "bytes");
  rename_and_crash(1);
  store_.fail_next(Operation::kHead, 1, ErrorCode::kServerError);
  fakes::LogCapture log;
  next_mount();
  EXPECT_TRUE(log_.left.empty());
  EXPECT_EQ(log.lines_with("cannot be finished").size(), 1U);
  EXPECT_EQ(at("a"), "bytes");
  EXPECT_EQ(at("b"), "bytes");
}

TEST_F(UnfinishedRenames, OfDirectoriesAreOverWhereTheServerFails) {
  store_.put("from/a", "a");
  store_.put("from/b", "b");
  rename_tree_and_crash(1);
  store_.fail_next(Operation::kList, 1, ErrorCode::kServerError);
  next_mount();
  EXPECT_TRUE(log_.left.empty());
  EXPECT_EQ(at("from/a"), "a");
  EXPECT_EQ(at("from/b"), "b");
}

TEST_F(UnfinishedRenames, OfDirectoriesAreFinishedAfterEachStep) {
  store_.keep_etags_of_copies();
  // A listing, four copies, four removals.
  for (std::size_t answered = 0; answered <= 9; ++answered) {
    log_ = CrashingLog();
    for (const auto* key : {"from/", "from/a", "from/b/c", "from/d"}) {
      store_.put(key, key);
      store_.remove("to" + std::string(key).substr(4));
    }
    rename_tree_and_crash(answered);
    next_mount();
    for (const std::string name : {"/", "/a", "/b/c", "/d"}) {
      const bool was_begun = answered > 0;
      EXPECT_EQ(at("to" + name).has_value(), was_begun) << answered << name;
      EXPECT_EQ(at("from" + name).has_value(), !was_begun) << answered << name;
    }
    EXPECT_TRUE(log_.left.empty());
  }
}

TEST_F(UnfinishedRenames, OfDirectoriesLoseNothingWhereNothingProvesACopy) {
  for (std::size_t answered = 0; answered <= 5; ++answered) {
    log_ = CrashingLog();
    for (const auto* key : {"from/a", "from/b"}) {
      store_.put(key, key);
      store_.remove("to" + std::string(key).substr(4));
    }
    rename_tree_and_crash(answered);
    next_mount();
    for (const std::string name : {"/a", "/b"}) {
      const std::string bytes = "from" + name;
      EXPECT_EQ(at(at("to" + name) ? "to" + name : "from" + name), bytes) << answered << name;
    }
    EXPECT_TRUE(log_.left.empty());
  }
}

// Size and time say nothing: checkpoints have one size.
TEST_F(UnfinishedRenames, OfDirectoriesKeepTheOldNameWhereTheNewOneHasAnotherObjectOfTheSize) {
  for (const auto* key : {"from/a", "from/b"}) store_.put(key, "ours");
  rename_tree_and_crash(3);
  ASSERT_EQ(at("to/a"), "ours");
  store_.put("to/a", "size");
  next_mount();
  EXPECT_EQ(at("from/a"), "ours");
  EXPECT_EQ(at("to/a"), "size");
}

TEST_F(UnfinishedRenames, OfDirectoriesLeaveWhatAnotherClientStoredBelowTheOldNameSince) {
  store_.keep_etags_of_copies();
  // After the copies, and after all: with 5 answers both removals are done.
  for (const std::size_t answered : {3U, 5U}) {
    log_ = CrashingLog();
    for (const auto* key : {"from/a", "from/b"}) store_.put(key, "ours");
    for (const auto* key : {"to/a", "to/b"}) store_.remove(key);
    rename_tree_and_crash(answered);
    ASSERT_EQ(at("to/a"), "ours");
    clock_.advance(std::chrono::seconds(1));
    store_.put("from/a", "size");  // of the same
    next_mount();
    EXPECT_EQ(at("from/a"), "size") << answered;
    EXPECT_FALSE(at("from/b")) << answered;
    EXPECT_EQ(at("to/a"), "ours") << answered;
    EXPECT_EQ(at("to/b"), "ours") << answered;
  }
}

TEST_F(UnfinishedRenames, OfDirectoriesKeepAKeyWhoseNewNameIsTaken) {
  store_.put("from/a", "a");
  store_.put("from/b", "b");
  rename_tree_and_crash(1);
  store_.put("to/a", "another client's");
  next_mount();
  EXPECT_EQ(at("from/a"), "a");
  EXPECT_EQ(at("to/a"), "another client's");
  EXPECT_EQ(at("to/b"), "b");
  EXPECT_FALSE(at("from/b"));
}

TEST(RenameJournal, KeepsWhatNeverEnded) {
  const fakes::TemporaryFolder folder;
  const SystemClock clock;
  const auto open = [&](const journal::StateFolder& in) {
    return RenameJournal::open(in, clock).value();
  };
  const auto state = journal::StateFolder::take(folder.path() / "state", "write.state_dir", clock);
  ASSERT_TRUE(state) << state.error().detail;
  const BegunRename file{.id = 2, .from = "a b", .to = "c\n", .etag = "\"1\"", .size_bytes = 7};
  const BegunRename tree{.id = 3,
                         .from = "d/",
                         .to = "e/",
                         .newest = std::chrono::system_clock::time_point(
                             std::chrono::milliseconds(1'700'000'000'123))};
  {
    const auto journal = open(*state);
    EXPECT_TRUE(journal->take_unfinished().empty());
    EXPECT_EQ(journal->next_id(), 1U);
    for (const BegunRename& rename : {BegunRename{.id = 1, .from = "x", .to = "y"}, file, tree}) {
      journal->begun(rename, [](const Result<void>& kept) { EXPECT_TRUE(kept); });
    }
  }  // its end waits for the disk
  {
    const auto journal = open(*state);
    EXPECT_EQ(journal->next_id(), 4U) << "ids of what is left are not used again";
    journal->ended(1);
    journal->copied(2, "\"2\"");
  }
  const auto left = open(*state)->take_unfinished();
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].from, "a b");
  EXPECT_EQ(left[0].to, "c\n");
  EXPECT_EQ(left[0].size_bytes, 7U);
  EXPECT_TRUE(left[0].is_copied);
  EXPECT_EQ(left[0].copied_etag, "\"2\"");
  EXPECT_EQ(left[1].newest, tree.newest);
  EXPECT_TRUE(left[1].is_directory());
  EXPECT_FALSE(left[1].is_copied);
}

}  // namespace
}  // namespace s3rdmafs::vfs
