// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the client's write side: one scripted server, one store, one window of
// bytes to be stored.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "../store_fixture.h"
#include "fakes/rdma/fake_region.h"
#include "s3/upload_log.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

using fakes::error_answer;
using fakes::ScriptedAnswer;
using testing::ElementsAre;
using testing::HasSubstr;

inline constexpr std::size_t kOffset = 64;
inline const std::string kPartEtag = "\"p1\"";

inline fakes::ScriptedAnswer ok(const std::string& etag = "\"new\"") {
  return {.headers = {{"ETag", etag}}};
}

inline fakes::ScriptedAnswer rdma_ok(const std::string& count = "4096",
                                     const std::string& etag = "\"new\"") {
  return {.headers = {{"ETag", etag},
                      {"x-amz-rdma-reply", "200"},
                      {"x-amz-rdma-bytes-transferred", count}}};
}

inline fakes::ScriptedAnswer upload_created() {
  return {.body =
              "<InitiateMultipartUploadResult><UploadId>up/1</UploadId>"
              "</InitiateMultipartUploadResult>"};
}

inline fakes::ScriptedAnswer upload_completed(const std::string& etag = "\"whole\"") {
  return {.body = "<CompleteMultipartUploadResult><ETag>" + etag +
                  "</ETag></CompleteMultipartUploadResult>"};
}

/// How a server that compares conditions answers the probe that precedes the first of them, and
/// every request whose condition does not hold.
inline fakes::ScriptedAnswer condition_fails() {
  return fakes::error_answer(412, "PreconditionFailed");
}

/// "PUT /train/k partNumber=1&uploadId=up/1 token body"
inline std::string summary(const fakes::SeenRequest& request) {
  std::string text = request.method + " " + request.url;
  if (!request.query.empty()) text += "?" + request.query;
  if (has_token(request)) text += " token";
  if (!request.body.empty()) text += " body";
  return text;
}

/// The uploads that were noted: "+key id" and "-id".
class NotedUploads final : public UploadLog {
 public:
  void begun(const std::string& key, const std::string& upload_id) override {
    add("+" + key + " " + upload_id);
  }
  void ended(const std::string& upload_id) override { add("-" + upload_id); }
  [[nodiscard]] std::vector<std::string> notes() const {
    const MutexLock lock(mutex_);
    return notes_;
  }

 private:
  void add(std::string note) {
    const MutexLock lock(mutex_);
    notes_.push_back(std::move(note));
  }
  mutable Mutex mutex_;
  std::vector<std::string> notes_ GUARDED_BY(mutex_);
};

/// Requests are made one after the other, and each waits for its end.
class ObjectWriterTest : public OneServerTest {
 protected:
  ObjectWriterTest() {
    const auto bytes = region_.bytes();
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  }

  PutBody body(rdma::MemoryRegion& region, std::size_t length = kWindowBytes) {
    return {.window = {.region = &region, .offset = kOffset, .length = length},
            .crc64nvme = crc64nvme(0, region.bytes().subspan(kOffset, length))};
  }

  PutOutcome put(bool only_if_absent = false) {
    return put_with(
        {.when = only_if_absent ? Precondition::absent() : Precondition::none(), .metadata = {}});
  }
  PutOutcome put_with(PutOptions options) {
    Outcome<PutOutcome> outcome;
    store().put("k", body(region_), std::move(options), soon(), outcome.done());
    return outcome.get();
  }
  PutOutcome put_part(std::size_t length = kWindowBytes) {
    Outcome<PutOutcome> outcome;
    store().upload_part("k", "up/1", 7, body(region_, length), soon(), outcome.done());
    return outcome.get();
  }
  Result<std::string> complete(std::vector<UploadedPart> parts = {{1, kPartEtag, 0}},
                               Precondition when = {}) {
    Outcome<Result<std::string>> outcome;
    store().complete_upload("k", "up/1", std::move(parts), std::move(when), soon(), outcome.done());
    return outcome.get();
  }

  /// Lets the store learn that the endpoint reads parts by RDMA, with one request; what comes then
  /// is answered as given.
  void learn_that_it_reads(const std::vector<fakes::ScriptedAnswer>& then) {
    server_.then(rdma_ok());
    for (const fakes::ScriptedAnswer& answer : then) server_.then(answer);
    ASSERT_TRUE(put_part().etag);
  }

  /// The probe by a part is answered so; its upload is begun and aborted.
  void answer_part_probe(fakes::ScriptedAnswer part) {
    server_.then(upload_created());
    server_.then(std::move(part));
    server_.then({.status = 204});
  }
  /// summaries(), where these came after the probe by a part.
  static std::vector<std::string> after_part_probe(const std::vector<std::string>& more) {
    std::vector<std::string> all = {"POST /train/k?uploads",
                                    "PUT /train/k?partNumber=1&uploadId=up%2F1 token",
                                    "DELETE /train/k?uploadId=up%2F1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// A probe by token is confirmed and found to have stored `bytes`; its removal ends with
  /// `removed`.
  void answer_probe(const std::string& bytes, fakes::ScriptedAnswer removed = {.status = 204}) {
    server_.then(rdma_ok());
    server_.then({.body = bytes});
    server_.then(std::move(removed));
  }

  std::vector<std::string> summaries() const {
    std::vector<std::string> result;
    for (const fakes::SeenRequest& request : server_.seen()) result.push_back(summary(request));
    return result;
  }
  std::string window() const {
    const auto bytes = region_.bytes().subspan(kOffset, kWindowBytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  fakes::FakeRegion region_{kOffset + kWindowBytes + 64};
};

}  // namespace s3rdmafs::s3
