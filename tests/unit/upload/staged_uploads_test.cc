// SPDX-License-Identifier: Apache-2.0
#include "upload/staged/staged_uploads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/fake_clock.h"
#include "fakes/log_capture.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"
#include "fakes/temporary_folder.h"
#include "upload/uploads.h"

namespace s3rdmafs::upload {
namespace {

using namespace std::chrono_literals;
using Operation = fakes::FakeObjectStore::Operation;

constexpr std::size_t kStagedPart = 4 * kKiB;

/// The whole object as a text.
class TextSource final : public StagedSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  void read(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline,
            Done<void> done) override {
    if (fails) return done(fail(ErrorCode::kSystem, "the disk is gone"));
    ASSERT_LE(offset_bytes + out.size(), text_.size());
    std::ranges::copy(std::as_bytes(std::span(text_)).subspan(offset_bytes, out.size()),
                      out.begin());
    done({});
  }
  std::atomic<bool> fails = false;

 private:
  const std::string text_;
};

class StagedUploadsTest : public testing::Test {
 protected:
  StagedUploadsTest() { make({}); }
  ~StagedUploadsTest() override { uploads_->shut_down(clock_.now() + 60s); }

  void make(Uploads::Options options) {
    options.part_bytes = kStagedPart;
    options.buffer_bytes = 4 * kStagedPart;
    options.parallel_parts = 3;
    options.request_timeout = 30s;
    options.lock = memory::Arena::Lock::kOff;
    uploads_.reset();
    uploads_ = Uploads::create(store_, fabric_, clock_, metrics_, options).value();
  }
  static std::string text(std::size_t bytes, char first = 'a') {
    std::string made(bytes, first);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<char>(first + i / 1000 % 20);
    return made;
  }
  /// The object that replaces the version of "key" there is, with these bytes changed in it.
  StagedObject over(const std::string& base, const std::string& etag, std::size_t size,
                    ByteRanges changed) {
    changed.add({std::min(base.size(), size), size});
    return {
        .key = "key",
        .size_bytes = size,
        .base =
            s3::ObjectInfo{.key = "key", .etag = etag, .size_bytes = base.size(), .modified = {}},
        .changed = std::move(changed),
        .when = s3::Precondition::matches(etag),
        .metadata = {}};
  }
  StagedObject fresh(std::size_t size) {
    StagedObject object;
    object.key = "key";
    object.size_bytes = size;
    object.when = s3::Precondition::absent();
    return object;
  }
  using Outcome = std::shared_ptr<std::optional<Result<std::string>>>;
  Outcome begin(StagedObject object, std::shared_ptr<StagedSource> source) {
    auto outcome = std::make_shared<std::optional<Result<std::string>>>();
    uploads_->staged().store(std::move(object), std::move(source),
                             [this, outcome](Result<std::string> etag) {
                               const MutexLock lock(mutex_);
                               *outcome = std::move(etag);
                             });
    return outcome;
  }
  bool is_answered(const Outcome& outcome) {
    const MutexLock lock(mutex_);
    return outcome->has_value();
  }
  /// The name of the error; empty after success.
  std::string store(StagedObject object, std::shared_ptr<StagedSource> source) {
    const Outcome outcome = begin(std::move(object), std::move(source));
    if (!fakes::eventually([&] { return is_answered(outcome); })) return "pending";
    const MutexLock lock(mutex_);
    return **outcome ? "" : std::string(error_code_name((*outcome)->error().code));
  }
  std::string store(StagedObject object, const std::string& content) {
    return store(std::move(object), std::make_shared<TextSource>(content));
  }
  std::uint64_t bytes_by(std::string_view path) {
    return metrics_.counter("upload_bytes_total", "", "path=\"" + std::string(path) + "\"").value();
  }
  std::int64_t gauge(std::string_view name) { return metrics_.gauge(name, "").value(); }

  fakes::FakeClock clock_;
  fakes::FakeFabric fabric_;
  metrics::Registry metrics_;
  fakes::FakeObjectStore store_{clock_};
  Mutex mutex_;
  std::unique_ptr<Uploads> uploads_;
};

TEST_F(StagedUploadsTest, StoresASmallObjectAsOnePutWithItsMetadata) {
  StagedObject object = fresh(100);
  object.metadata = {{"mode", "33188"}};
  EXPECT_EQ(store(std::move(object), text(100)), "");
  EXPECT_EQ(store_.object("key"), text(100));
  EXPECT_EQ(store_.metadata("key"), (s3::UserMetadata{{"mode", "33188"}}));
  EXPECT_EQ(store_.calls().size(), 1U);
}

/// Notes the thread that reads it.
class SourceOfOneThread final : public StagedSource {
 public:
  void read(std::uint64_t, std::span<std::byte> out, Deadline, Done<void> done) override {
    std::ranges::fill(out, std::byte{'x'});
    is_read_by_caller = std::this_thread::get_id() == caller_;
    done({});
  }
  std::atomic<bool> is_read_by_caller = false;

 private:
  const std::thread::id caller_ = std::this_thread::get_id();
};

TEST_F(StagedUploadsTest, ReadsASmallObjectAtOnceAndALargeOneOnAThreadOfItsOwn) {
  const auto small = std::make_shared<SourceOfOneThread>();
  EXPECT_EQ(store(fresh(100), small), "");
  EXPECT_TRUE(small->is_read_by_caller);
  store_.remove("key");
  const auto large = std::make_shared<SourceOfOneThread>();
  EXPECT_EQ(store(fresh(3 * kStagedPart), large), "");
  EXPECT_FALSE(large->is_read_by_caller);
}

TEST_F(StagedUploadsTest, StoresAnEmptyObject) {
  EXPECT_EQ(store(fresh(0), ""), "");
  EXPECT_EQ(store_.object("key"), "");
}

TEST_F(StagedUploadsTest, StoresALargeObjectInParts) {
  const std::string content = text(10 * kStagedPart + 5);
  EXPECT_EQ(store(fresh(content.size()), content), "");
  EXPECT_EQ(store_.object("key"), content);
  EXPECT_EQ(store_.count(Operation::kUploadPart), 11U);
  EXPECT_EQ(bytes_by("rdma"), content.size());
  EXPECT_EQ(gauge("upload_buffers_used_bytes"), 0);
  EXPECT_EQ(gauge("upload_objects_in_progress"), 0);
}

TEST_F(StagedUploadsTest, SendsThePartsThatChangedAndLetsTheServerCopyTheRest) {
  const std::string base = text(20 * kStagedPart);
  const std::string etag = store_.put("key", base);
  std::string content = base;
  content[9 * kStagedPart + 7] = '!';
  content += "appended";
  EXPECT_EQ(store(over(base, etag, content.size(),
                       {{.begin = 9 * kStagedPart + 7, .end = 9 * kStagedPart + 8}}),
                  content),
            "");
  EXPECT_EQ(store_.object("key"), content);
  EXPECT_EQ(bytes_by("rdma"), kStagedPart + 8);
  EXPECT_EQ(bytes_by("copy"), 19 * kStagedPart);
}

TEST_F(StagedUploadsTest, CopiesAnObjectOntoItselfWhereTheMetadataAloneDiffers) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, 20 * kStagedPart}) {
    const std::string etag = store_.put("key", text(size), {{"mode", "1"}, {"other", "x"}});
    store_.forget_calls();
    StagedObject object = over(text(size), etag, size, {});
    object.metadata = {{"mode", "2"}};
    EXPECT_EQ(store(std::move(object), text(size)), "");
    EXPECT_EQ(store_.object("key"), text(size));
    EXPECT_EQ(store_.metadata("key"), (s3::UserMetadata{{"mode", "2"}}));
    ASSERT_EQ(store_.calls().size(), 1U);
    EXPECT_EQ(store_.calls().front().operation, Operation::kCopy);
  }
  const std::string old = store_.put("key", "bytes");
  store_.put("key", "their");
  EXPECT_EQ(store(over("bytes", old, 5, {}), "bytes"), "Stale");
  EXPECT_EQ(store_.object("key"), "their");
}

// Each kind of copy is lacking by itself.
TEST_F(StagedUploadsTest, SendsNoLargeObjectForItsMetadataWhereTheServerCopiesNoObjects) {
  store_.fail_if([](const fakes::FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kCopy) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kUnsupported, "no copies"}};
  });
  const std::string small = text(kStagedPart);
  const std::string large = text(20 * kStagedPart);
  for (int i = 0; i < 2; ++i) {
    StagedObject object = over(large, store_.put("key", large), large.size(), {});
    object.metadata = {{"mode", "2"}};
    EXPECT_EQ(store(std::move(object), large), "Unsupported");
    EXPECT_TRUE(store_.metadata("key").empty());
    object = over(small, store_.put("key", small), small.size(), {});
    object.metadata = {{"mode", "2"}};
    EXPECT_EQ(store(std::move(object), small), "");
    EXPECT_EQ(store_.metadata("key"), (s3::UserMetadata{{"mode", "2"}}));
  }
  EXPECT_EQ(store_.count(Operation::kCopy), 1U) << "it is asked once";
  EXPECT_EQ(bytes_by("rdma"), 2 * kStagedPart);
  std::string content = large;
  content[7] = '!';
  EXPECT_EQ(store(over(large, store_.put("key", large), content.size(), {{.begin = 7, .end = 8}}),
                  content),
            "");
  EXPECT_GT(store_.count(Operation::kPartCopy), 0U) << "parts are copied all the same";
}

TEST_F(StagedUploadsTest, NeverReplacesWhatAnotherClientStored) {
  const std::string base = text(5 * kStagedPart);
  const std::string etag = store_.put("key", base);
  store_.put("key", "theirs");
  EXPECT_EQ(store(over(base, etag, 100, {}), text(100)), "Stale");
  std::string all = text(base.size(), 'b');
  EXPECT_EQ(store(over(base, etag, all.size(), {{.begin = 0, .end = all.size()}}), all), "Stale");
  EXPECT_EQ(store(fresh(10), text(10)), "Stale");
  EXPECT_EQ(store(fresh(all.size()), all), "Stale");
  EXPECT_EQ(store_.object("key"), "theirs");
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(StagedUploadsTest, SendsAllWhereTheServerCannotCopyAndSaysSoOnce) {
  store_.fail_if([](const fakes::FakeObjectStore::Call& call) -> std::optional<s3::GetFailure> {
    if (call.operation != Operation::kPartCopy) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kUnsupported, "NotImplemented"}};
  });
  const std::string base = text(6 * kStagedPart);
  const fakes::LogCapture log;
  std::string etag = store_.put("key", base);
  for (const char c : {'x', 'y'}) {
    std::string content = base;
    content[0] = c;
    EXPECT_EQ(store(over(base, etag, content.size(), {{.begin = 0, .end = 1}}), content), "");
    EXPECT_EQ(store_.object("key"), content);
    etag = store_.put("key", base);
  }
  EXPECT_EQ(store_.count(Operation::kPartCopy), 1U);
  EXPECT_EQ(log.lines_with("UploadPartCopy").size(), 1U);
  EXPECT_EQ(store_.open_uploads(), 0U);
}

TEST_F(StagedUploadsTest, StoresNothingWithoutItsConditionAfterARefusal) {
  const std::string etag = store_.put("key", "base");
  for (const ErrorCode refusal : {ErrorCode::kUnsupported, ErrorCode::kInvalidArgument}) {
    store_.fail_next(Operation::kPut, 1, refusal);
    EXPECT_NE(store(over("base", etag, 4, {{.begin = 0, .end = 4}}), "next"), "");
    EXPECT_EQ(store_.object("key"), "base");
  }
  EXPECT_EQ(store_.count(Operation::kPut), 2U);
}

TEST_F(StagedUploadsTest, AbortsTheUploadAfterAnErrorOfAnyRequest) {
  const std::string base = text(20 * kStagedPart);
  for (const Operation operation : {Operation::kCreateUpload, Operation::kUploadPart,
                                    Operation::kPartCopy, Operation::kCompleteUpload}) {
    const std::string etag = store_.put("key", base);
    store_.fail_next(operation, 1, ErrorCode::kServerError);
    EXPECT_EQ(store(over(base, etag, base.size(), {{.begin = 0, .end = 1}}), base), "ServerError");
    EXPECT_TRUE(fakes::eventually([&] { return store_.open_uploads() == 0; }));
    EXPECT_EQ(store_.object("key"), base);
    EXPECT_EQ(gauge("upload_buffers_used_bytes"), 0);
  }
}

TEST_F(StagedUploadsTest, FailsWhereTheBytesCannotBeRead) {
  const auto source = std::make_shared<TextSource>(text(9 * kStagedPart));
  source->fails = true;
  EXPECT_EQ(store(fresh(9 * kStagedPart), source), "System");
  EXPECT_TRUE(fakes::eventually([&] { return store_.open_uploads() == 0; }));
  source->fails = false;
  EXPECT_EQ(store(fresh(9 * kStagedPart), source), "");
}

TEST_F(StagedUploadsTest, HasAtMostSoManyPartsOfAnObjectUnderWay) {
  store_.hold();
  const Outcome outcome =
      begin(fresh(9 * kStagedPart), std::make_shared<TextSource>(text(9 * kStagedPart)));
  ASSERT_TRUE(store_.release());  // the upload is created
  EXPECT_TRUE(fakes::eventually([&] { return store_.held().size() == 3; }));
  EXPECT_EQ(gauge("upload_buffers_used_bytes"), 3 * static_cast<std::int64_t>(kStagedPart));
  ASSERT_TRUE(store_.release(1));
  EXPECT_TRUE(fakes::eventually([&] { return store_.held().size() == 3; }));
  EXPECT_EQ(gauge("upload_buffers_used_bytes"), 3 * static_cast<std::int64_t>(kStagedPart));
  store_.release_all();
  EXPECT_TRUE(fakes::eventually([&] { return is_answered(outcome); }));
  EXPECT_EQ(store_.object("key"), text(9 * kStagedPart));
}

TEST_F(StagedUploadsTest, LetsABufferRestThatTheServerMayStillRead) {
  fabric_.hold_fences(true);
  store_.fail_next(Operation::kUploadPart, 1, ErrorCode::kTimedOut, /*late_write_possible=*/true);
  EXPECT_EQ(store(fresh(9 * kStagedPart), text(9 * kStagedPart)), "TimedOut");
  EXPECT_GT(gauge("upload_quarantined_bytes"), 0);
  fabric_.hold_fences(false);
  EXPECT_TRUE(fakes::eventually([&] { return gauge("upload_quarantined_bytes") == 0; }));
}

TEST_F(StagedUploadsTest, StoresManyObjectsAtOnceOutOfFewBuffers) {
  std::vector<Outcome> outcomes;
  for (int i = 0; i < 40; ++i) {
    StagedObject object = fresh(static_cast<std::size_t>(i) * 1000);
    object.key = "key" + std::to_string(i);
    outcomes.push_back(begin(
        std::move(object), std::make_shared<TextSource>(text(static_cast<std::size_t>(i) * 1000))));
  }
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(
        fakes::eventually([&] { return is_answered(outcomes.at(static_cast<std::size_t>(i))); }));
    EXPECT_EQ(store_.object("key" + std::to_string(i)), text(static_cast<std::size_t>(i) * 1000));
  }
}

TEST_F(StagedUploadsTest, MakesTheRightBytesOfRandomChanges) {
  std::minstd_rand random(5);
  std::string content = text(30'000);
  std::string etag = store_.put("key", content);
  for (int i = 0; i < 100; ++i) {
    SCOPED_TRACE(i);
    const std::string base = content;
    ByteRanges changed;
    content.resize(random() % 60'000);
    for (unsigned n = random() % 5; n > 0; --n) {
      const std::size_t at = random() % (content.size() + 1);
      const std::size_t length = std::min<std::size_t>(random() % 3000, content.size() - at);
      std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(at), length,
                  static_cast<char>('A' + i % 26));
      changed.add({at, at + length});
    }
    ASSERT_EQ(store(over(base, etag, content.size(), changed), content), "");
    ASSERT_EQ(store_.object("key"), content);
    etag = store_.put("key", content);
  }
}

TEST_F(StagedUploadsTest, IsFinishedByTheNextMountWhereThisOneDies) {
  const fakes::TemporaryFolder temporary;
  const auto folder =
      journal::StateFolder::take(temporary.path().string() + "/state", "write.state_dir", clock_)
          .value();
  auto journal = journal::UploadJournal::open(folder, clock_).value();
  Uploads::Options with_journal;
  with_journal.journal = journal.get();
  make(with_journal);
  EXPECT_EQ(store(fresh(3 * kStagedPart), text(3 * kStagedPart)), "");
  StagedObject other = fresh(3 * kStagedPart);
  other.key = "other";
  // The server is dead for the abort too, as for a mount that was killed.
  store_.fail_next(Operation::kUploadPart, 1, ErrorCode::kServerError);
  store_.fail_next(Operation::kAbortUpload, 1, ErrorCode::kServerError);
  EXPECT_EQ(store(std::move(other), text(3 * kStagedPart)), "ServerError");
  uploads_->shut_down(clock_.now() + 60s);
  EXPECT_EQ(store_.open_uploads(), 1U);

  uploads_.reset();
  journal.reset();
  journal = journal::UploadJournal::open(folder, clock_).value();
  ASSERT_EQ(journal->left().size(), 1U);
  EXPECT_EQ(journal->left()[0].key, "other");
  with_journal.journal = journal.get();
  make(with_journal);
  uploads_->abort_left();
  EXPECT_EQ(store_.open_uploads(), 0U);
  EXPECT_TRUE(journal::UploadJournal::open(folder, clock_).value()->left().empty());
  uploads_->shut_down(clock_.now() + 60s);
  make({});  // before the journal goes
}

}  // namespace
}  // namespace s3rdmafs::upload
