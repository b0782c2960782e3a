// SPDX-License-Identifier: Apache-2.0
// `recover`, as a user runs it after a mount that could not store its files.
#include <iterator>
#include <map>
#include <optional>
#include <span>

#include <gmock/gmock.h>

#include "fakes/s3/scripted_http_server.h"
#include "run_verb.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"
#include "upload/staged/staging_area.h"

namespace s3rdmafs::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

class RecoverTest : public VerbTest {
 protected:
  /// A mount file for this server, with folders of the test's own.
  std::string file_for(const std::string& url) const {
    std::string file = mount_file(
        "[write]\nmode = \"sequential\"\nbuffer_size = \"16MiB\"\n"
        "staging_dir = \"" +
        staging_ + "\"\nstate_dir = \"" + state_ + "\"\n[mount]\npoint = \"" + directory() +
        "\"\n");
    std::ifstream in(file);
    std::string text(std::istreambuf_iterator<char>(in), {});
    const std::string dead = "http://127.0.0.1:1";
    if (!url.empty()) text.replace(text.find(dead), dead.size(), url);
    std::ofstream(file) << text;
    return file;
  }
  std::unique_ptr<upload::StagingArea> area() {
    return upload::StagingArea::take({.path = staging_, .size_bytes = 64 * kMiB}, clock_, metrics_)
        .value();
  }
  /// A new file, and one that replaces the version "7".
  void leave_files() {
    const auto taken = area();
    const std::string text = "bytes of a dead mount";
    for (const bool is_new : {true, false}) {
      upload::StagedIdentity identity{
          .key = is_new ? "a/new" : "old\x01", .base = std::nullopt, .metadata = {}};
      if (!is_new) identity.base = upload::BaseVersion{.etag = "\"7\"", .size_bytes = 30};
      const auto file = taken->create(std::move(identity)).value();
      ASSERT_TRUE(file->write(0, std::as_bytes(std::span(text))));
    }
  }
  /// A file that was larger than the staging area.
  void leave_incomplete_file(std::optional<upload::BaseVersion> base = std::nullopt) {
    const auto taken = area();
    const auto file =
        taken->create({.key = "large", .base = std::move(base), .metadata = {}}).value();
    const std::string text(20'000, 'x');
    ASSERT_TRUE(file->write(0, std::as_bytes(std::span(text))));
    const std::uint64_t run = file->in_order().run;
    ASSERT_TRUE(file->begin_part({.begin = 0, .end = 8192}, run));
    ASSERT_TRUE(file->drop_sent({.begin = 0, .end = 8192}, run).value_or(false));
  }
  std::size_t files_left() { return area()->leftovers().size(); }

  const std::string staging_ = folder_.path() / "staging";
  const std::string state_ = folder_.path() / "state";
  const SystemClock clock_;
  metrics::Registry metrics_;
};

TEST_F(RecoverTest, ListsFilesAndLeavesThemWhereTheyAre) {
  leave_files();
  const Outcome listed = run_verb({"recover", file_for("")});
  EXPECT_EQ(listed.status, kExitSuccess) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("left: a/new: 21 bytes, 21 changed, a new file"));
  EXPECT_THAT(listed.out,
              HasSubstr("left: old\\x01: 30 bytes, 21 changed, replaces version \"7\""));
  EXPECT_THAT(listed.out, HasSubstr("the daemon ended before it was stored"));
  EXPECT_THAT(listed.out, HasSubstr("2 files in " + staging_));
  EXPECT_EQ(files_left(), 2U);
}

TEST_F(RecoverTest, ListsThemAsJson) {
  leave_files();
  const Outcome listed = run_verb({"recover", file_for(""), "--json"});
  EXPECT_EQ(listed.status, kExitSuccess) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("\"key\""));
  EXPECT_THAT(listed.out, HasSubstr("a/new"));
  EXPECT_THAT(listed.out, HasSubstr("\"changed_bytes\""));
}

TEST_F(RecoverTest, ListsDamagedFilesAndLeavesThem) {
  leave_files();
  const std::string path = staging_ + "/1";
  std::ofstream(path + ".meta") << "not a sidecar";
  for (const std::string how : {"", "--json", "--discard"}) {
    std::vector<std::string> words{"recover", file_for("")};
    if (!how.empty()) words.push_back(how);
    const Outcome listed = run_verb(words);
    EXPECT_EQ(listed.status, kExitSuccess) << listed.err;
    EXPECT_THAT(listed.out, HasSubstr("damaged")) << how;
    EXPECT_THAT(listed.out, HasSubstr(path)) << how;
  }
  EXPECT_TRUE(std::filesystem::exists(path + ".data"));
}

TEST_F(RecoverTest, FindsNothingWhereNoMountWasAndMakesNoFolder) {
  const Outcome listed = run_verb({"recover", file_for(""), "--send"});
  EXPECT_EQ(listed.status, kExitSuccess) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("0 files"));
  EXPECT_FALSE(std::filesystem::exists(staging_));
  EXPECT_FALSE(std::filesystem::exists(state_));
}

TEST_F(RecoverTest, SaysWhatIsLostOfAFileAndDoesNotSendTheRest) {
  leave_incomplete_file();
  const std::string lost = "8192 bytes are lost";
  EXPECT_THAT(run_verb({"recover", file_for("")}).out, HasSubstr(lost));
  EXPECT_THAT(run_verb({"recover", file_for(""), "--json"}).out, HasSubstr("lost_bytes"));
  fakes::ScriptedHttpServer server;
  server.answer_by([](const fakes::SeenRequest& request) -> fakes::ScriptedAnswer {
    return {.status = request.method == "HEAD" ? 404U : 500U};
  });
  const Outcome sent = run_verb({"recover", file_for(server.url()), "--send"});
  EXPECT_EQ(sent.status, kExitFailure);
  EXPECT_THAT(sent.out, HasSubstr("kept: large"));
  EXPECT_THAT(sent.out, HasSubstr(lost));
  EXPECT_EQ(files_left(), 1U);
  EXPECT_EQ(run_verb({"recover", file_for(""), "--discard"}).status, kExitSuccess);
  EXPECT_EQ(files_left(), 0U);
}

// Of the second file the server has the last bytes.
TEST_F(RecoverTest, SendsEachFileSayingWhatItReplaces) {
  leave_files();
  Mutex mutex;
  std::map<std::string, fakes::SeenRequest> puts;
  fakes::ScriptedHttpServer server;
  server.answer_by([&](const fakes::SeenRequest& request) -> fakes::ScriptedAnswer {
    if (request.method == "GET") {
      return {.status = 206,
              .headers = {{"ETag", "\"7\""}, {"Content-Range", "bytes 21-29/30"}},
              .body = " and base"};
    }
    if (request.method == "HEAD" && request.url.contains("new")) return {.status = 404};
    if (request.method == "HEAD") return {.status = 200, .headers = {{"ETag", "\"7\""}}};
    const MutexLock lock(mutex);
    puts[request.url] = request;
    return {.status = 200, .headers = {{"ETag", "\"8\""}}};
  });
  const Outcome sent = run_verb({"recover", file_for(server.url()), "--send"});
  EXPECT_EQ(sent.status, kExitSuccess) << sent.err << sent.out;
  EXPECT_THAT(sent.out, HasSubstr("sent: a/new"));
  const MutexLock lock(mutex);
  EXPECT_EQ(puts["/data/a/new"].body, "bytes of a dead mount");
  EXPECT_EQ(puts["/data/a/new"].headers["if-none-match"], "*");
  EXPECT_EQ(puts["/data/old%01"].body, "bytes of a dead mount and base");
  EXPECT_EQ(files_left(), 0U);
}

TEST_F(RecoverTest, KeepsAFileThatAnotherClientChangedAndSaysSo) {
  leave_files();
  fakes::ScriptedHttpServer server;
  server.then(fakes::error_answer(412, "PreconditionFailed"));
  const std::string file = file_for(server.url());
  const Outcome refused = run_verb({"recover", file, "--send"});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_THAT(refused.out, HasSubstr("kept: a/new"));
  EXPECT_THAT(refused.out, HasSubstr("another client"));
  const Outcome listed = run_verb({"recover", file});
  EXPECT_THAT(listed.out, HasSubstr("another client")) << "the next listing says why";
  EXPECT_THAT(listed.out, HasSubstr("2 files"));
}

/// A server that has this object under every key, and refuses all that would replace it.
fakes::ScriptedAnswer as_object(const fakes::SeenRequest& request, const std::string& bytes) {
  if (request.method == "PUT" || request.method == "POST") {
    return fakes::error_answer(412, "PreconditionFailed");
  }
  fakes::ScriptedAnswer answer{.headers = {{"ETag", "\"9\""}}, .body = bytes};
  if (request.method == "GET") {
    const std::string last = std::to_string(bytes.size() - 1);
    answer.status = 206;
    answer.headers.emplace_back("Content-Range",
                                "bytes 0-" + last + "/" + std::to_string(bytes.size()));
  }
  return answer;
}

// The daemon ended after the server had stored the file, and before it knew.
TEST_F(RecoverTest, TakesAFileForSentWhoseBytesTheServerHas) {
  {
    const auto taken = area();
    upload::StagedIdentity identity{.key = "a", .base = std::nullopt, .metadata = {}};
    const auto file = taken->create(std::move(identity)).value();
    ASSERT_TRUE(file->write(0, std::as_bytes(std::span(std::string_view("staged bytes")))));
  }
  for (const std::string other : {"other  bytes", "staged bytes and more"}) {
    fakes::ScriptedHttpServer server;
    server.answer_by([&](const auto& request) { return as_object(request, other); });
    const Outcome kept = run_verb({"recover", file_for(server.url()), "--send"});
    EXPECT_EQ(kept.status, kExitFailure) << other;
    EXPECT_THAT(kept.out, HasSubstr("kept: a"));
  }
  fakes::ScriptedHttpServer server;
  server.answer_by([](const auto& request) { return as_object(request, "staged bytes"); });
  const Outcome sent = run_verb({"recover", file_for(server.url()), "--send"});
  EXPECT_EQ(sent.status, kExitSuccess) << sent.out << sent.err;
  EXPECT_THAT(sent.out, HasSubstr("sent: a"));
  EXPECT_EQ(files_left(), 0U);
}

// The old version has the rest of it too.
TEST_F(RecoverTest, DoesNotTakeAnOldVersionForAFileThatWasLost) {
  leave_incomplete_file(upload::BaseVersion{.etag = "\"9\"", .size_bytes = 20'000});
  fakes::ScriptedHttpServer server;
  server.answer_by([](const fakes::SeenRequest& request) {
    auto answer = as_object(request, std::string(20'000, 'x'));
    if (request.method != "GET") return answer;
    answer.headers.back().second = "bytes 8192-19999/20000";
    answer.body = std::string(20'000 - 8192, 'x');
    return answer;
  });
  const Outcome kept = run_verb({"recover", file_for(server.url()), "--send"});
  EXPECT_EQ(kept.status, kExitFailure) << kept.out;
  EXPECT_THAT(kept.out, HasSubstr("kept: large"));
  EXPECT_EQ(run_verb({"recover", file_for(""), "--discard"}).status, kExitSuccess);
  // The control: of another version it cannot be told apart.
  leave_incomplete_file(upload::BaseVersion{.etag = "\"8\"", .size_bytes = 20'000});
  const Outcome sent = run_verb({"recover", file_for(server.url()), "--send"});
  EXPECT_EQ(sent.status, kExitSuccess) << sent.out << sent.err;
}

TEST_F(RecoverTest, KeepsFilesWhereTheServerIsDead) {
  leave_files();
  const Outcome refused = run_verb({"recover", file_for(""), "--send"});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_EQ(files_left(), 2U);
}

TEST_F(RecoverTest, DiscardsOnDemand) {
  leave_files();
  const Outcome gone = run_verb({"recover", file_for(""), "--discard"});
  EXPECT_EQ(gone.status, kExitSuccess) << gone.err;
  EXPECT_THAT(gone.out, HasSubstr("discarded: a/new"));
  EXPECT_EQ(files_left(), 0U);
}

TEST_F(RecoverTest, RefusesWhileAMountHoldsTheFiles) {
  leave_files();
  const auto held = area();
  const Outcome refused = run_verb({"recover", file_for(""), "--discard"});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_THAT(refused.err,
              HasSubstr("write.staging_dir " + staging_ + " is in use by another mount"));
  EXPECT_THAT(refused.out, Not(HasSubstr("discarded")));
}

TEST_F(RecoverTest, RefusesWhileAMountHoldsTheJournals) {
  leave_files();
  const auto held = journal::StateFolder::take(state_, "write.state_dir", clock_);
  const Outcome refused = run_verb({"recover", file_for(""), "--send"});
  EXPECT_EQ(refused.status, kExitFailure);
  EXPECT_THAT(refused.err, HasSubstr("write.state_dir " + state_ + " is in use by another mount"));
  EXPECT_EQ(files_left(), 2U);
}

TEST_F(RecoverTest, SendsOrDiscardsNotBoth) {
  EXPECT_EQ(run_verb({"recover", file_for(""), "--send", "--discard"}).status, kExitUsage);
}

}  // namespace
}  // namespace s3rdmafs::daemon
