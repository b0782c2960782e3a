// SPDX-License-Identifier: Apache-2.0
// RenameObject as Amazon S3 defines it for directory buckets, and servers that lack it.
#include <atomic>
#include <thread>

#include "target_fixture.h"

namespace s3rdmafs::target {
namespace {

class RenameObject : public TargetTest {
 protected:
  RenameObject() {
    std::filesystem::create_directories(folder("bucket"));
    behave_as("rename-object");
  }
  void behave_as(std::string_view name) { services_->behaviour = find_behaviour(name).value(); }
  std::string put(const std::string& key, const std::string& content) {
    const Response stored = send({.method = "PUT",
                                  .target = "/bucket/" + key,
                                  .headers = {{"x-amz-meta-colour", "red"}},
                                  .body = content});
    return header(stored, "ETag");
  }
  Response rename(const std::string& from, const std::string& to, NameValues headers = {}) {
    headers.emplace_back("x-amz-rename-source", from);
    return send({.method = "PUT",
                 .target = "/bucket/" + to + "?renameObject=",
                 .headers = std::move(headers)});
  }
  Response get(const std::string& key) {
    return send({.method = "GET", .target = "/bucket/" + key});
  }
};

TEST_F(RenameObject, MovesTheObjectWithAllThatIsKeptOfIt) {
  const std::string etag = put("a/old%20name", "hello");
  const Response renamed = rename("/a/old%20name", "b/new");
  EXPECT_EQ(renamed.status, 200);
  EXPECT_EQ(body(renamed), "");
  EXPECT_EQ(header(renamed, "ETag"), "") << "a PUT's answer has one";
  const Response moved = get("b/new");
  EXPECT_EQ(body(moved), "hello");
  EXPECT_EQ(header(moved, "ETag"), etag);
  EXPECT_EQ(header(moved, "x-amz-meta-colour"), "red");
  EXPECT_EQ(get("a/old%20name").status, 404);
  EXPECT_FALSE(std::filesystem::exists(folder("bucket/a"))) << "a folder of nothing";
}

TEST_F(RenameObject, KeepsTimeAndETagOfAFileThatWasNeverPut) {
  write_file(folder("bucket/found"), "hello");
  std::filesystem::last_write_time(
      folder("bucket/found"),
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const Response found = get("found");
  const std::string etag = header(found, "ETag");
  EXPECT_EQ(rename("/found", "new", {{"x-amz-rename-source-if-match", etag}}).status, 200);
  const Response moved = get("new");
  EXPECT_EQ(header(moved, "ETag"), etag);
  EXPECT_EQ(header(moved, "Last-Modified"), header(found, "Last-Modified"));
}

TEST_F(RenameObject, ReplacesWhatIsThereUnlessItMayNot) {
  put("a", "new");
  const std::string old = put("b", "old");
  EXPECT_EQ(code(rename("/a", "b", {{"if-none-match", "*"}})), "PreconditionFailed");
  EXPECT_EQ(code(rename("/a", "b", {{"if-match", "\"other\""}})), "PreconditionFailed");
  EXPECT_EQ(body(get("b")) + body(get("a")), "oldnew");
  EXPECT_EQ(rename("/a", "b", {{"if-match", old}}).status, 200);
  EXPECT_EQ(body(get("b")), "new");
  EXPECT_EQ(rename("/b", "c", {{"if-none-match", "*"}}).status, 200) << "control: it is free";
}

TEST_F(RenameObject, MovesTheVersionThatIsNamedOnly) {
  const std::string etag = put("a", "bytes");
  EXPECT_EQ(code(rename("/a", "b", {{"x-amz-rename-source-if-match", "\"other\""}})),
            "PreconditionFailed");
  EXPECT_EQ(code(rename("/a", "b", {{"x-amz-rename-source-if-none-match", etag}})),
            "PreconditionFailed");
  EXPECT_EQ(rename("/a", "b", {{"x-amz-rename-source-if-match", etag}}).status, 200);
  EXPECT_EQ(code(rename("/a", "c")), "NoSuchKey");
  EXPECT_EQ(body(get("b")), "bytes");
}

TEST_F(RenameObject, RefusesKeysThatHaveNoRename) {
  put("a", "bytes");
  EXPECT_EQ(rename("/a", "a").status, 400);
  EXPECT_EQ(rename("/a", "b/").status, 400);
  EXPECT_EQ(rename("", "b").status, 400);
  EXPECT_EQ(body(get("a")), "bytes");
}

TEST_F(RenameObject, ARepetitionByTheSameTokenSucceedsAndDoesNothing) {
  put("a", "first");
  const NameValues token = {{"x-amz-client-token", "t1"}};
  EXPECT_EQ(rename("/a", "b", token).status, 200);
  put("a", "second");
  EXPECT_EQ(rename("/a", "b", token).status, 200);
  EXPECT_EQ(body(get("b")) + body(get("a")), "firstsecond");
  EXPECT_EQ(code(rename("/a", "c", token)), "IdempotencyParameterMismatch");
  EXPECT_EQ(rename("/a", "b", {{"x-amz-client-token", "t2"}}).status, 200) << "control";
  EXPECT_EQ(body(get("b")), "second");
}

TEST_F(RenameObject, OfTwoThatMoveOneObjectOneSucceeds) {
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    const std::string key = "k" + std::to_string(round);
    put(key, "bytes");
    const Ask there{.method = "PUT",
                    .target = "/bucket/x" + key + "?renameObject=",
                    .headers = {{"x-amz-rename-source", "/" + key}}};
    const Ask back{.method = "PUT",
                   .target = "/bucket/y" + key + "?renameObject=",
                   .headers = {{"x-amz-rename-source", "/" + key}}};
    std::atomic<int> done = 0;
    const auto run = [&](const Ask& ask) { done += send(ask).status == 200 ? 1 : 0; };
    {
      const std::jthread one(run, there);
      const std::jthread other(run, back);
    }
    EXPECT_EQ(done, 1);
  }
}

TEST_F(RenameObject, IsRefusedByServersThatLackIt) {
  behave_as("spec");
  put("a", "bytes");
  EXPECT_EQ(code(rename("/a", "b")), "NotImplemented");
  EXPECT_EQ(get("b").status, 404);
}

TEST_F(RenameObject, IsAPutOfNothingToServersThatIgnoreTheQuery) {
  for (const char* const server : {"aistor", "no-conditions", "plain"}) {
    behave_as(server);
    put("a", "bytes");
    put("b", "replaced");
    const Response stored = rename("/a", "b");
    EXPECT_EQ(stored.status, 200);
    EXPECT_NE(header(stored, "ETag"), "");
    EXPECT_EQ(body(get("b")), "") << server;
    EXPECT_EQ(body(get("a")), "bytes") << server;
  }
}

}  // namespace
}  // namespace s3rdmafs::target
