// SPDX-License-Identifier: Apache-2.0
// [[resident]] and the control socket, from the mount's point of view.
#include "daemon/resident/resident_service.h"

#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/cache_world.h"
#include "fakes/eventually.h"
#include "fakes/fake_read_cache.h"
#include "fakes/log_capture.h"
#include "fakes/temporary_folder.h"
#include "fakes/tmpfs_file.h"
#include "read_answer.h"

namespace s3rdmafs::daemon {
namespace {

using fakes::eventually;
using testing::SizeIs;

class ResidentServiceTest : public testing::Test, protected fakes::CacheWorld {
 protected:
  ~ResidentServiceTest() override {
    end();
    store_.shut_down();
    cache_.shut_down();
  }

  void listen(std::vector<std::string> globs, cache::ObjectCache* cache) {
    auto listening = ResidentService::listen(
        {.socket_path = path_, .record_socket_path = record_path_, .globs = std::move(globs)},
        {.store = store_,
         .clock = clock_,
         .prefix = "",
         .request_timeout = std::chrono::seconds(30)},
        {.targets = {.blocks = blocks_, .whole = cache}, .trace = trace_}, metrics_);
    ASSERT_TRUE(listening) << listening.error().detail;
    service_ = std::move(*listening);
  }
  void keep(std::vector<std::string> globs) {
    listen(std::move(globs), &cache_);
    service_->start_keeping();
  }
  void end() {
    if (service_) service_->stop();
    service_.reset();
  }
  void put(const std::string& key) { store_.put(key, std::string(kMiB, 'x')); }

  /// The gauge of [[resident]] objects in this state: "wanted", "resident" or "no_room".
  std::int64_t objects(const std::string& state) {
    return metrics_.gauge("resident_objects", "", "state=\"" + state + "\"").value();
  }
  std::uint64_t failures() { return metrics_.counter("resident_failures_total", "").value(); }

  const fakes::LogCapture log_;
  const fakes::TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "control.sock";
  const std::string record_path_ = folder_.path() / "record.sock";
  fakes::FakeReadCache blocks_{store_};
  vfs::OpenTrace trace_{clock_};
  cache::ObjectCache cache_{[] { return fakes::make_tmpfs_file(); },
                            store_,
                            fabric_,
                            clock_,
                            metrics_,
                            {.limits = {.bytes_max = 8 * kMiB, .files_max = 100},
                             .object_bytes_min = kMiB,
                             .object_bytes_max = 8 * kMiB,
                             .lock = memory::MemoryLock::kOff}};
  std::unique_ptr<ResidentService> service_;
};

TEST_F(ResidentServiceTest, EveryObjectOfTheGlobsBecomesResidentOnce) {
  for (const char* key : {"d/a", "d/b", "e"}) put(key);
  keep({"d", "d/*"});
  EXPECT_TRUE(eventually([&] { return objects("resident") == 2; }));
  end();
  EXPECT_EQ(objects("wanted"), 2);
  EXPECT_THAT(log_.lines_with("2 of 2 objects are resident"), SizeIs(1));
}

TEST_F(ResidentServiceTest, ObjectsThatFindNoRoomAreCountedAndNamed) {
  for (const char* key : {"a", "b", "c", "d", "e"}) put(key);  // a file of 2 MiB each
  keep({"*"});
  EXPECT_TRUE(eventually([&] { return objects("no_room") == 1; }));
  end();
  EXPECT_EQ(objects("resident"), 4);
  EXPECT_THAT(log_.lines_with("4 of 5 objects are resident; "), SizeIs(1));
}

TEST_F(ResidentServiceTest, AGlobThatMatchesNothingYetIsNotAFailure) {
  put("a");
  keep({"nothing", "a"});
  EXPECT_TRUE(eventually([&] { return objects("resident") == 1; }));
  end();
  EXPECT_EQ(failures(), 0U);
  EXPECT_THAT(log_.lines_with("'nothing'"), SizeIs(1));
}

TEST_F(ResidentServiceTest, AFailureIsCountedAndRetriedAfterAPause) {
  for (const char* key : {"a", "b"}) put(key);
  store_.fail_next(fakes::FakeObjectStore::Operation::kGet, 1, ErrorCode::kServerError);
  keep({"a", "b"});
  EXPECT_TRUE(eventually([&] { return failures() == 1; }));
  EXPECT_EQ(objects("resident"), 1) << "the round goes on after a failure";
  clock_.advance(std::chrono::seconds(3));
  EXPECT_TRUE(eventually([&] { return objects("resident") == 2; }));
  end();
  EXPECT_EQ(failures(), 1U);
}

TEST_F(ResidentServiceTest, WithoutPassthroughItWarnsAndStillAnswersRequests) {
  listen({"*"}, nullptr);
  service_->start_keeping();
  EXPECT_TRUE(send_request(path_, {"warm", "a"}));
  end();
  EXPECT_THAT(log_.lines_with("[[resident]]"), SizeIs(1));
}

TEST_F(ResidentServiceTest, NothingIsKeptBeforeTheMountIsReady) {
  put("a");
  listen({"a"}, &cache_);
  end();
  EXPECT_THAT(store_.calls(), SizeIs(0));
}

TEST_F(ResidentServiceTest, ASocketThatCannotBeMadeIsAnError) {
  const std::string good = folder_.path() / "good.sock";
  for (const auto& [control, record] : {std::pair{std::string("/dev/null/control.sock"), good},
                                        std::pair{good, std::string("/dev/null/record.sock")}}) {
    EXPECT_FALSE(
        ResidentService::listen({.socket_path = control, .record_socket_path = record, .globs = {}},
                                {.store = store_,
                                 .clock = clock_,
                                 .prefix = "",
                                 .request_timeout = std::chrono::seconds(30)},
                                {.targets = {.blocks = blocks_}, .trace = trace_}, metrics_));
  }
}

class RecordRequestTest : public ResidentServiceTest {
 protected:
  std::string ask(const std::vector<std::string>& words) {
    auto socket = send_request(record_path_, words);
    EXPECT_TRUE(socket) << socket.error().detail;
    return read_answer(*socket);
  }
  void open(const std::string& key) {
    trace_.note({.key = key, .etag = "\"1\"", .size_bytes = 7, .modified = {}});
  }
};

TEST_F(RecordRequestTest, ARecorderIsToldWhatProgramsOpen) {
  listen({}, nullptr);
  open("before");
  EXPECT_EQ(ask({"record", "begin"}), "recording 1\nend\n");
  clock_.advance(std::chrono::milliseconds(5));
  open("a b");
  EXPECT_EQ(ask({"record", "take", "1"}), "opened 5 7 \"1\" a%20b\nlost 0\nend\n");
  open("c");
  EXPECT_EQ(ask({"record", "end", "1"}), "opened 5 7 \"1\" c\nlost 0\nend\n");
  open("after");
  EXPECT_EQ(ask({"record", "take", "1"}), "error the recording has ended\n");
}

TEST_F(RecordRequestTest, ASecondRecorderIsRefused) {
  listen({}, nullptr);
  ask({"record", "begin"});
  EXPECT_EQ(ask({"record", "begin"}), "error another recording of this mount is under way\n");
}

TEST_F(RecordRequestTest, RequestsThatAreNoneAreRefused) {
  listen({}, nullptr);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"nonsense"}, {"record"}, {"record", "stop", "1"}, {}}) {
    EXPECT_THAT(ask(words), testing::StartsWith("error "));
  }
  auto socket = send_request(path_, {"nonsense"});
  ASSERT_TRUE(socket);
  EXPECT_THAT(read_answer(*socket), testing::StartsWith("error unknown request 'nonsense'"));
}

}  // namespace
}  // namespace s3rdmafs::daemon
