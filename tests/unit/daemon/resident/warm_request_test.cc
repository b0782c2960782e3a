// SPDX-License-Identifier: Apache-2.0
// The requests of `s3rdmafs warm`, from the socket to the cache and back.
#include "daemon/resident/warm_request.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/cache_world.h"
#include "fakes/eventually.h"
#include "fakes/fake_read_cache.h"
#include "fakes/temporary_folder.h"
#include "fakes/tmpfs_file.h"
#include "read_answer.h"

namespace s3rdmafs::daemon {
namespace {

using fakes::eventually;
using fakes::FakeObjectStore;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kSize = 3 * kMiB;  // a file of 4 MiB

class WarmRequestTest : public testing::Test, protected fakes::CacheWorld {
 protected:
  // Room for `files` objects of kSize.
  void start(std::size_t files) {
    cache_ = std::make_unique<cache::ObjectCache>(
        [] { return fakes::make_tmpfs_file(); }, store_, fabric_, clock_, metrics_,
        cache::ObjectCache::Options{.limits = {.bytes_max = files * 4 * kMiB, .files_max = 100},
                                    .object_bytes_min = kMiB,
                                    .object_bytes_max = 8 * kMiB,
                                    .lock = memory::MemoryLock::kOff});
    listen(cache_.get());
  }
  void listen(cache::ObjectCache* cache) {
    const Bucket bucket{.store = store_,
                        .clock = clock_,
                        .prefix = "",
                        .request_timeout = std::chrono::seconds(30),
                        .objects_max = objects_max_};
    auto listening = ControlSocket::listen(path_, [this, bucket, cache](ControlRequest& request) {
      answer_warm_request(bucket, {.blocks = blocks_, .whole = cache}, request);
    });
    ASSERT_TRUE(listening) << listening.error().detail;
    control_ = std::move(*listening);
  }

  void TearDown() override {
    if (control_) control_->stop();
    store_.release_all();
    store_.shut_down();
    control_.reset();
    if (cache_) cache_->shut_down();
    EXPECT_FALSE(std::filesystem::exists(path_));
  }

  void put(const std::string& key, std::uint64_t size = kSize) {
    store_.put(key, std::string(size, 'x'));
  }

  UniqueFd send(const std::vector<std::string>& words) {
    auto socket = send_request(path_, words);
    EXPECT_TRUE(socket) << socket.error().detail;
    return std::move(*socket);
  }
  std::string ask(const std::vector<std::string>& words) { return read_answer(send(words)); }

  std::int64_t kept() { return metrics_.gauge("cache_object_kept", "").value(); }

  const fakes::TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "control.sock";
  std::size_t objects_max_ = kObjectsMax;
  fakes::FakeReadCache blocks_{store_};
  std::unique_ptr<cache::ObjectCache> cache_;
  std::unique_ptr<ControlSocket> control_;
};

TEST_F(WarmRequestTest, ObjectsBecomeResidentAndAreCounted) {
  start(3);
  put("d/a");
  put("d/b", 5 * kMiB);
  put("empty", 0);
  const std::string first = ask({"warm", "", "d", "empty"});
  EXPECT_THAT(first, HasSubstr("accepted\nfound 3 8388608\n"));
  EXPECT_THAT(first, HasSubstr("\nfetched 2 8388608\nwere_there 1 0\nno_room 0 0 "));
  EXPECT_THAT(first, HasSubstr("\nfailed 0\nend\n"));
  EXPECT_EQ(kept(), 2);
  EXPECT_THAT(ask({"warm", "", "d/a", "d/*"}), HasSubstr("\nfetched 0 0\nwere_there 2 8388608\n"))
      << "each once, however often it is named";
}

TEST_F(WarmRequestTest, ObjectsWithoutRoomAreReportedAndTheRestIsDone) {
  start(2);
  put("a", 7 * kMiB + 1);
  put("b");
  const std::string answer = ask({"warm", "", "a", "b"});
  EXPECT_THAT(answer, HasSubstr("\nfetched 1 7340033\n"));
  EXPECT_THAT(answer, HasSubstr("\nno_room 1 3145728 8388608\n"));
  EXPECT_THAT(answer, HasSubstr("problem b: it takes 4MiB"));
  EXPECT_THAT(answer, HasSubstr("cache.resident_size"));
}

TEST_F(WarmRequestTest, AMissingPathIsReportedAndTheRestIsDone) {
  start(2);
  put("a");
  const std::string answer = ask({"warm", "", "nothing", "a"});
  EXPECT_THAT(answer, HasSubstr("problem nothing: "));
  EXPECT_THAT(answer, HasSubstr("\nfetched 1 "));
  EXPECT_THAT(answer, HasSubstr("\nfailed 1\nend\n"));
}

TEST_F(WarmRequestTest, PathsWithTooManyObjectsTogetherAreReported) {
  objects_max_ = 2;
  start(3);
  for (const char* key : {"a/1", "a/2", "b/1"}) put(key);
  const std::string answer = ask({"warm", "", "a", "a/*", "b"});
  EXPECT_THAT(answer,
              HasSubstr("problem b: more than 2 objects together with the paths before it"));
  EXPECT_THAT(answer, HasSubstr("found 2 "));
  EXPECT_THAT(answer, HasSubstr("\nfailed 1\nend\n"));
}

TEST_F(WarmRequestTest, AFailureOfTheServerIsReported) {
  start(2);
  put("a");
  store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kServerError);
  EXPECT_THAT(ask({"warm", "", "a"}), HasSubstr("\nfailed 1\nend\n"));
}

TEST_F(WarmRequestTest, AReleaseCoversTheObjectsOfItsPaths) {
  start(4);
  put("d/a");
  put("d/b");
  put("e");
  ask({"warm", "", ""});
  ASSERT_EQ(kept(), 3);
  EXPECT_THAT(ask({"release", "d/*"}), HasSubstr("released 2 6291456\nend\n"));
  EXPECT_EQ(kept(), 1);
  store_.remove("e");
  EXPECT_THAT(ask({"release", ""}), HasSubstr("released 1 "))
      << "also objects that are gone from the bucket";
}

TEST_F(WarmRequestTest, AClientThatDisconnectsEndsItsRequest) {
  constexpr std::size_t kObjects = 100;
  start(kObjects / 2);  // a file of 2 MiB each
  for (std::size_t i = 0; i < kObjects; ++i) put("d/" + std::to_string(i), 1);
  store_.hold();  // from the beginning, or all were done before we look
  UniqueFd client = send({"warm", "", "d"});
  ASSERT_TRUE(eventually([&] { return store_.release(0) && kept() > 0; }));
  client.reset();
  // Released one at a time, so that the daemon has time to notice; at the latest all are done.
  EXPECT_TRUE(eventually([&] { return !store_.release(0); }));
  store_.release_all();
  EXPECT_THAT(ask({"release", ""}), HasSubstr("end\n")) << "the next request is answered";
  EXPECT_LT(store_.count(FakeObjectStore::Operation::kGet), kObjects);
}

TEST_F(WarmRequestTest, AnAnswerIsCutShortWhenTheMountEnds) {
  start(8);
  put("a");
  store_.hold();
  UniqueFd client = send({"warm", "", "a"});
  ASSERT_TRUE(eventually([&] { return !store_.held().empty(); }));
  control_->stop();
  store_.shut_down();
  control_.reset();
  EXPECT_THAT(read_answer(client), Not(HasSubstr("end\n")));
}

TEST_F(WarmRequestTest, AMountWithoutWholeObjectsSaysWhatTheyNeed) {
  listen(nullptr);
  EXPECT_THAT(ask({"warm", "", "a"}), HasSubstr("error this mount keeps no whole objects"));
}

TEST_F(WarmRequestTest, AnOptionOfAnotherVersionIsRefused) {
  start(1);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"warm", "into=space", "", "a"},
        {"warm", "bytes_per_second=many", "", "a"},
        {"warm", "a"}}) {
    EXPECT_THAT(ask(words), HasSubstr("error the daemon is of another version"));
  }
}

TEST_F(WarmRequestTest, ObjectsAreReadThroughTheCacheWhereNoneShallStay) {
  start(1);
  put("d/a", 9 * kMiB);
  put("d/b", 5);
  put("d/empty", 0);
  const std::string answer = ask({"warm", "into=cache", "", "d"});
  EXPECT_THAT(answer, HasSubstr("found 3 9437189\n"));
  EXPECT_THAT(answer, HasSubstr("\nfetched 2 9437189\nwere_there 1 0\nno_room 0 0 "));
  EXPECT_THAT(answer, HasSubstr("\nfailed 0\nend\n"));
  EXPECT_EQ(kept(), 0);
  EXPECT_EQ(blocks_.opens(), 2) << "too large for a file of its own, and too small";
  EXPECT_EQ(store_.count(FakeObjectStore::Operation::kGet), 4U) << "three of 9 MiB, one of 5 bytes";
  EXPECT_EQ(blocks_.readers(), 0);
}

TEST_F(WarmRequestTest, ObjectsThatAnOpenWouldHaveWholeAreFetchedSo) {
  start(2);
  put("a");
  put("b", 5);
  EXPECT_THAT(ask({"warm", "into=cache", "", "a", "b"}), HasSubstr("\nfetched 2 3145733\n"));
  EXPECT_EQ(blocks_.opens(), 1) << "of the small one";
  EXPECT_EQ(kept(), 0) << "opens of others may evict it";
  EXPECT_THAT(ask({"warm", "", "a"}), HasSubstr("\nwere_there 1 3145728\n"));
}

TEST_F(WarmRequestTest, ThatNeedsNoWholeObjects) {
  listen(nullptr);
  put("a");
  EXPECT_THAT(ask({"warm", "into=cache", "", "a"}), HasSubstr("\nfetched 1 "));
}

TEST_F(WarmRequestTest, AReadThatFailsIsReportedAndTheRestIsDone) {
  start(1);
  for (const char* key : {"a", "b"}) put(key, 5);
  store_.fail_next(FakeObjectStore::Operation::kGet, 1, ErrorCode::kServerError);
  const std::string answer = ask({"warm", "into=cache", "", "a", "b"});
  EXPECT_THAT(answer, HasSubstr("problem a: "));
  EXPECT_THAT(answer, HasSubstr("\nfetched 1 5\n"));
  EXPECT_THAT(answer, HasSubstr("\nfailed 1\nend\n"));
}

TEST_F(WarmRequestTest, AClientThatLeavesEndsReadsToo) {
  start(1);
  for (int i = 0; i < 100; ++i) put("d/" + std::to_string(i), 1);
  store_.hold();
  UniqueFd client = send({"warm", "into=cache", "", "d"});
  ASSERT_TRUE(eventually([&] { return store_.release(0); }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return !store_.release(0); }));
  store_.release_all();
  EXPECT_THAT(ask({"release", ""}), HasSubstr("end\n")) << "the next request is answered";
  EXPECT_LT(store_.count(FakeObjectStore::Operation::kGet), 100U);
}

TEST_F(WarmRequestTest, VersionsAreFetchedWithoutALookAtTheirNames) {
  start(3);
  const std::string etag = store_.put("a*", "xxx");
  for (const char* into : {"into=cache", "requests_per_second=1000000"}) {
    const auto before = store_.count(FakeObjectStore::Operation::kHead);
    EXPECT_THAT(ask({"warm", into, "names=versions", "", "a*", etag, "3"}),
                HasSubstr("\nfetched 1 3\n"));
    EXPECT_EQ(store_.count(FakeObjectStore::Operation::kHead), before);
  }
}

TEST_F(WarmRequestTest, AVersionThatWasReplacedIsLookedUp) {
  start(3);
  put("a*", 4);
  put("ab", 5);
  for (const char* into : {"into=cache", "requests_per_second=1000000"}) {
    const std::string answer =
        ask({"warm", into, "names=versions", "", "a*", "\"older\"", "3", "gone", "\"x\"", "1"});
    EXPECT_THAT(answer, HasSubstr("\nfetched 1 4\n")) << into << ", and no name that matches";
    EXPECT_THAT(answer, HasSubstr("problem gone: no such file")) << into;
    EXPECT_THAT(answer, HasSubstr("\nfailed 1\nend\n")) << into;
  }
}

TEST_F(WarmRequestTest, VersionsThatAreNoneAreReported) {
  start(1);
  const std::string answer =
      ask({"warm", "into=cache", "names=versions", "", "a", "\"1\"", "many", "b", "", "1"});
  EXPECT_THAT(answer, HasSubstr("problem a: its ETag or its size is not readable"));
  EXPECT_THAT(answer, HasSubstr("problem b: "));
  EXPECT_THAT(answer, HasSubstr("\nfailed 2\nend\n"));
}

TEST(ControlSocket, ARequestWithoutADaemonIsNotFound) {
  const fakes::TemporaryFolder folder;
  EXPECT_EQ(send_request(folder.path() / "missing.sock", {"warm"}).error().code,
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace s3rdmafs::daemon
