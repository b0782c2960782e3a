// SPDX-License-Identifier: Apache-2.0
#include "upload/unanswered_uploads.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/log_capture.h"
#include "fakes/s3/fake_object_store.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::upload {
namespace {

using namespace std::chrono_literals;
using Operation = fakes::FakeObjectStore::Operation;

/// A mount asks for uploads, is killed, and another begins.
class UnansweredUploadsTest : public testing::Test {
 protected:
  UnansweredUploadsTest() { mount(); }

  void mount() {
    unanswered_.reset();
    abandoned_.reset();
    journal_.reset();
    journal_ = journal::UploadJournal::open(folder_, clock_).value();
    abandoned_ = std::make_shared<AbandonedUploads>(store_, clock_, metrics_, 10s, journal_.get());
    unanswered_ = std::make_shared<UnansweredUploads>(store_, clock_, 10s, *journal_, abandoned_);
  }
  /// The mount is killed when the server has begun the upload, and before the answer.
  void ask_and_be_killed(const std::string& key) {
    static_cast<void>(journal_->asked(key));
    begin_as_another_client(key);
    mount();
  }
  std::string begin_as_another_client(const std::string& key) {
    std::string id;
    store_.create_upload(key, {}, {}, [&](Result<std::string> made) { id = made.value(); });
    return id;
  }
  void send_part(const std::string& key, const std::string& id) {
    store_.upload_part(key, id, 1, {}, {},
                       [](const s3::PutOutcome& outcome) { ASSERT_TRUE(outcome.etag); });
  }
  /// The journal as a mount would find it that began now.
  std::unique_ptr<journal::UploadJournal> next() {
    std::filesystem::copy_file(folder_.path() + "/uploads", copy_.path() + "/uploads",
                               std::filesystem::copy_options::overwrite_existing);
    return journal::UploadJournal::open(copy_, clock_).value();
  }
  std::size_t left() { return next()->left_unanswered().size(); }

  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  fakes::FakeObjectStore store_{clock_};
  fakes::TemporaryFolder temporary_;
  journal::StateFolder folder_ =
      journal::StateFolder::take(temporary_.path().string() + "/state", "write.state_dir", clock_)
          .value();
  journal::StateFolder copy_ =
      journal::StateFolder::take(temporary_.path().string() + "/copy", "write.state_dir", clock_)
          .value();
  std::unique_ptr<journal::UploadJournal> journal_;
  std::shared_ptr<AbandonedUploads> abandoned_;
  std::shared_ptr<UnansweredUploads> unanswered_;
};

TEST_F(UnansweredUploadsTest, AbortsTheUploadThatAKilledMountNeverHeardOf) {
  begin_as_another_client("key is longer");
  ask_and_be_killed("key");
  clock_.advance(1h);
  unanswered_->look_for_left();
  EXPECT_EQ(store_.open_uploads(), 1U) << "that of the other key";
  EXPECT_EQ(left(), 0U);
}

TEST_F(UnansweredUploadsTest, ComparesTimesByTheServersClock) {
  store_.set_clock_ahead(-30min);
  ask_and_be_killed("key");
  clock_.advance(1h);
  unanswered_->look_for_left();
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(UnansweredUploadsTest, LeavesUploadsOfOtherClientsThatWereBegunBeforeOrAfter) {
  begin_as_another_client("key");
  clock_.advance(10s);
  static_cast<void>(journal_->asked("key"));
  clock_.advance(10s);
  begin_as_another_client("key");
  mount();
  unanswered_->look_for_left();
  EXPECT_EQ(store_.open_uploads(), 2U);
  EXPECT_EQ(left(), 0U);
}

TEST_F(UnansweredUploadsTest, LeavesAnUploadThatHasAPart) {
  static_cast<void>(journal_->asked("key"));
  send_part("key", begin_as_another_client("key"));
  begin_as_another_client("key");
  mount();
  unanswered_->look_for_left();
  EXPECT_EQ(store_.open_uploads(), 1U) << "the other one was aborted";
}

TEST_F(UnansweredUploadsTest, LeavesTheUploadsOfThisMount) {
  static_cast<void>(journal_->asked("key"));
  mount();
  std::optional<std::string> id;
  store_.hold();
  abandoned_->create("key", {}, clock_.now() + 10s,
                     [&](Result<std::string> made) { id = made.value(); });
  unanswered_->look_for_left();
  store_.release_all();
  ASSERT_TRUE(id.has_value());
  for (int second = 0; second < 3; ++second) unanswered_->on_tick();
  EXPECT_EQ(store_.open_uploads(), 1U);
  EXPECT_EQ(left(), 0U);
}

TEST_F(UnansweredUploadsTest, WaitsForTheAnswerThatTellsItsOwnUpload) {
  ask_and_be_killed("key");
  const std::uint64_t number = journal_->asked("key");
  unanswered_->look_for_left();
  unanswered_->on_tick();
  EXPECT_EQ(store_.open_uploads(), 1U) << "it may be the one that is asked for";
  journal_->answered(number);
  unanswered_->on_tick();
  EXPECT_EQ(store_.open_uploads(), 0U) << "the control: it was not";
}

TEST_F(UnansweredUploadsTest, LooksAgainWhenTheServerIsBack) {
  ask_and_be_killed("key");
  store_.fail_next(Operation::kListUploads, 1, ErrorCode::kUnreachable);
  store_.fail_next(Operation::kListParts, 1, ErrorCode::kTimedOut);
  unanswered_->look_for_left();
  EXPECT_EQ(store_.open_uploads(), 1U);
  unanswered_->on_tick();
  EXPECT_EQ(store_.open_uploads(), 1U);
  EXPECT_EQ(left(), 1U);
  unanswered_->on_tick();
  EXPECT_EQ(store_.open_uploads(), 0U);
  EXPECT_EQ(left(), 0U);
}

TEST_F(UnansweredUploadsTest, SaysSoWhereTheServerDoesNotListUploads) {
  ask_and_be_killed("key");
  store_.fail_next(Operation::kListUploads, 1, ErrorCode::kAccessDenied);
  const fakes::LogCapture log;
  unanswered_->look_for_left();
  EXPECT_EQ(log.lines_with("cannot be listed").size(), 1U);
  EXPECT_EQ(left(), 0U) << "each later mount would ask in vain";
}

TEST_F(UnansweredUploadsTest, RemembersAnUploadFromBeforeItIsAskedFor) {
  store_.hold();
  std::optional<Result<std::string>> id;
  abandoned_->create("key", {}, clock_.now() + 10s,
                     [&](Result<std::string> made) { id = std::move(made); });
  EXPECT_EQ(left(), 1U);
  store_.release_all();
  ASSERT_TRUE(id.has_value() && *id);
  const auto found = next();
  EXPECT_TRUE(found->left_unanswered().empty());
  ASSERT_EQ(found->left().size(), 1U);
  EXPECT_EQ(found->left()[0].id, **id);
}

TEST_F(UnansweredUploadsTest, RemembersNoUploadThatTheServerRefused) {
  store_.fail_next(Operation::kCreateUpload, 1, ErrorCode::kAccessDenied);
  abandoned_->create("key", {}, clock_.now() + 10s, [](const Result<std::string>&) {});
  EXPECT_EQ(left(), 0U);
  store_.fail_next(Operation::kCreateUpload, 1, ErrorCode::kCancelled);
  abandoned_->create("key", {}, clock_.now() + 10s, [](const Result<std::string>&) {});
  EXPECT_EQ(left(), 1U) << "the mount ended before the answer";
}

}  // namespace
}  // namespace s3rdmafs::upload
