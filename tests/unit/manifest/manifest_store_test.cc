// SPDX-License-Identifier: Apache-2.0
// A manifest's answers are those of the server that it was made of.
#include "manifest/manifest_store.h"

#include <filesystem>
#include <map>

#include <gmock/gmock.h>

#include "fakes/fake_clock.h"
#include "fakes/log_capture.h"
#include "fakes/rdma/fake_region.h"
#include "fakes/s3/fake_object_store.h"
#include "manifest_rig.h"

namespace s3rdmafs::manifest {
namespace {

using fakes::FakeObjectStore;
using testing::HasSubstr;

using GetAnswer = std::expected<s3::Path, s3::GetFailure>;

class ManifestStoreTest : public ManifestTest {
 protected:
  void put(const std::string& key) {
    server_.put(key, std::string(1 + objects_.size() % 50, 'x'));
    const auto info = answer_of<s3::ObjectInfo>(
        [&](auto done) { server_.head(key, clock_.now(), std::move(done)); });
    objects_.insert_or_assign(key, *info);
  }
  void mount() {
    std::vector<Entry> entries;
    for (const auto& [key, object] : objects_) entries.push_back({.object = object});
    write(entries);
    store_ = std::make_unique<ManifestStore>(open(), server_, clock_, metrics_);
    server_.forget_calls();
  }
  Result<s3::ListPage> list(s3::ObjectStore& store, s3::ListRequest request) {
    return answer_of<s3::ListPage>(
        [&](auto done) { store.list(std::move(request), clock_.now(), std::move(done)); });
  }
  Result<s3::ObjectInfo> head(s3::ObjectStore& store, const std::string& key) {
    return answer_of<s3::ObjectInfo>(
        [&](auto done) { store.head(key, clock_.now(), std::move(done)); });
  }
  GetAnswer get(const std::string& key, const std::string& etag) {
    std::promise<GetAnswer> answer;
    auto answered = answer.get_future();
    store_->get({.key = key, .etag = etag, .window = {&region_, 0, 1}}, clock_.now(),
                [&answer](GetAnswer came) { answer.set_value(std::move(came)); });
    return answered.get();
  }
  // Both answer alike, page after page.
  void compare(const s3::ListRequest& request, unsigned seed) {
    s3::ListRequest theirs = request;
    s3::ListRequest ours = request;
    do {
      const auto expected = list(server_, theirs);
      const auto page = list(*store_, ours);
      ASSERT_TRUE(expected && page);
      ASSERT_EQ(page->common_prefixes, expected->common_prefixes) << "seed " << seed;
      ASSERT_EQ(page->objects.size(), expected->objects.size()) << "seed " << seed;
      for (std::size_t n = 0; n < page->objects.size(); ++n) {
        ASSERT_EQ(page->objects[n].key, expected->objects[n].key) << "seed " << seed;
        ASSERT_EQ(page->objects[n].etag, expected->objects[n].etag);
        ASSERT_EQ(page->objects[n].size_bytes, expected->objects[n].size_bytes);
        ASSERT_EQ(page->objects[n].modified, expected->objects[n].modified);
      }
      theirs.continuation_token = expected->next_token;
      ours.continuation_token = page->next_token;
      ASSERT_EQ(ours.continuation_token.empty(), theirs.continuation_token.empty());
    } while (!ours.continuation_token.empty());
  }

  fakes::FakeClock clock_;
  FakeObjectStore server_{clock_};
  metrics::Registry metrics_;
  fakes::FakeRegion region_{16};
  std::map<std::string, s3::ObjectInfo> objects_;
  std::unique_ptr<ManifestStore> store_;
};

TEST_F(ManifestStoreTest, AnswersEveryListAndHeadAsTheServerDoes) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    RandomKeys random(seed);
    const std::size_t count = random.below(400);
    for (std::size_t n = 0; n < count; ++n) put(random.key() + random.text(random.below(90)));
    mount();
    for (int n = 0; n < 40; ++n) {
      s3::ListRequest request{.prefix = random.text(random.below(3)),
                              .delimiter = random.below(3) == 0 ? "" : "/",
                              .continuation_token = "",
                              .keys_max = static_cast<std::uint32_t>(1 + random.below(30)),
                              .start_after = random.below(2) == 0 ? "" : random.text(3)};
      // The fake takes a key that equals both for one that follows.
      if (request.start_after == request.prefix) request.start_after.clear();
      ASSERT_NO_FATAL_FAILURE(compare(request, seed));
      const std::string key = random.key();
      ASSERT_EQ(error_of(head(*store_, key)), error_of(head(server_, key)));
    }
    for (const auto& [key, object] : objects_) {
      ASSERT_EQ(head(*store_, key)->etag, object.etag) << "seed " << seed;
    }
  }
}

TEST_F(ManifestStoreTest, StartAfterIsNotAmongTheAnswers) {
  for (const std::string key : {"a/", "a/b", "a/c"}) put(key);
  mount();
  const auto page = list(
      *store_, {.prefix = "a/", .delimiter = "", .continuation_token = "", .start_after = "a/"});
  ASSERT_EQ(page->objects.size(), 2U);
  EXPECT_EQ(page->objects.front().key, "a/b");
}

TEST_F(ManifestStoreTest, SendsNoRequestForNames) {
  for (int n = 0; n < 500; ++n) put("d" + std::to_string(n % 7) + "/" + std::to_string(n));
  mount();
  ASSERT_TRUE(list(*store_, {.prefix = "", .delimiter = "/", .continuation_token = ""}));
  ASSERT_TRUE(head(*store_, "d3/3"));
  EXPECT_EQ(error_of(head(*store_, "d3")), "NotFound");
  EXPECT_TRUE(server_.calls().empty());
  EXPECT_THAT(metrics_.prometheus_text(),
              HasSubstr("manifest_answers_total{operation=\"head\"} 2"));
}

TEST_F(ManifestStoreTest, ShowsTheNamesOfTheManifestWhateverTheServerHasNow) {
  put("old");
  mount();
  server_.remove("old");
  server_.put("new", "x");
  EXPECT_TRUE(head(*store_, "old"));
  EXPECT_EQ(error_of(head(*store_, "new")), "NotFound");
}

TEST_F(ManifestStoreTest, ReadsNameTheVersionAndFailWithTheRemedyWhereItIsGone) {
  const fakes::LogCapture log;
  for (int n = 0; n < 3; ++n) put("k" + std::to_string(n));
  mount();
  EXPECT_TRUE(get("k2", objects_["k2"].etag)) << "the control";
  server_.put("k2", "other bytes");
  const auto replaced = get("k2", objects_["k2"].etag);
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().error.code, ErrorCode::kConfig) << "not kStale: see the .cc";
  EXPECT_THAT(replaced.error().error.detail, HasSubstr("'k2' is no longer version"));
  EXPECT_THAT(replaced.error().error.detail, HasSubstr(path()));
  EXPECT_THAT(replaced.error().error.detail, HasSubstr("run s3rdmafs manifest again"));
  server_.remove("k1");
  EXPECT_FALSE(get("k1", objects_["k1"].etag));
  EXPECT_EQ(log.lines_with("no longer version").size(), 1U) << "at most one a second";
  clock_.advance(std::chrono::seconds(2));
  EXPECT_FALSE(get("k1", objects_["k1"].etag));
  EXPECT_EQ(log.lines_with("'k1' is no longer version").size(), 1U);
  EXPECT_EQ(log.lines_with("1 more since the last such line").size(), 1U);
}

TEST_F(ManifestStoreTest, PassesOtherFailuresOfReadsOn) {
  put("k");
  put("kk");
  mount();
  server_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kUnreachable, true);
  const auto failed = get("kk", objects_["kk"].etag);
  EXPECT_EQ(failed.error().error.code, ErrorCode::kUnreachable);
  EXPECT_TRUE(failed.error().late_write_possible);
}

TEST_F(ManifestStoreTest, LogsADamageOfTheManifest) {
  const fakes::LogCapture log;
  for (int n = 0; n < 2000; ++n) put("key-" + std::to_string(n));
  mount();
  std::filesystem::resize_file(path(), 3 * kBlockBytes);
  EXPECT_EQ(error_of(head(*store_, "key-999")), "Corrupt");
  EXPECT_EQ(log.lines_with("it is cut off; run s3rdmafs manifest again").size(), 1U);
}

TEST_F(ManifestStoreTest, RefusesTokensThatAreNotItsOwn) {
  put("a");
  mount();
  EXPECT_EQ(error_of(list(*store_, {.prefix = "", .delimiter = "", .continuation_token = "xyz"})),
            "InvalidArgument");
}

TEST_F(ManifestStoreTest, AnswersByItsDeadlineOrNotAtAll) {
  put("a");
  mount();
  const auto late = answer_of<s3::ObjectInfo>([&](auto done) {
    store_->head("a", clock_.now() - std::chrono::seconds(1), std::move(done));
  });
  EXPECT_EQ(error_of(late), "TimedOut");
}

TEST_F(ManifestStoreTest, AnswersEverythingWithCancelledOnceItIsShutDown) {
  put("a");
  mount();
  EXPECT_TRUE(head(*store_, "a")) << "the control";
  store_->shut_down();
  EXPECT_EQ(error_of(head(*store_, "a")), "Cancelled");
  EXPECT_EQ(error_of(list(*store_, {.prefix = "", .delimiter = "", .continuation_token = ""})),
            "Cancelled");
  EXPECT_EQ(get("a", objects_["a"].etag).error().error.code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace s3rdmafs::manifest
