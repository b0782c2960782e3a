// SPDX-License-Identifier: Apache-2.0
// How long requests took, by operation, fabric and size.
#include "s3/request_times.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reader_fixture.h"
#include "s3/wire/request.h"

namespace s3rdmafs::s3 {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

TEST(OperationOf, IsWhatMethodKeyQueryAndHeadersSay) {
  const NameValues part{{"partNumber", "1"}, {"uploadId", "u"}};
  const NameValues upload{{"uploadId", "u"}};
  const NameValues uploads{{"uploads", ""}};
  const NameValues source{{"x-amz-copy-source", "/b/k"}};
  const auto name = [](const RequestSpec& spec) { return kOperationNames[operation_of(spec)]; };
  EXPECT_EQ(name({.method = HttpMethod::kHead, .key = "k"}), "head");
  EXPECT_EQ(name({.key = "k"}), "get");
  EXPECT_EQ(name({.key = "", .query = {{"list-type", "2"}}}), "list");
  EXPECT_EQ(name({.key = "", .query = uploads}), "list_uploads");
  EXPECT_EQ(name({.key = "k", .query = upload}), "list_parts");
  EXPECT_EQ(name({.method = HttpMethod::kPut, .key = "k"}), "put");
  EXPECT_EQ(name({.method = HttpMethod::kPut, .key = "k", .headers = source}), "copy");
  EXPECT_EQ(name({.method = HttpMethod::kPut, .key = "k", .query = part}), "upload_part");
  EXPECT_EQ(name({.method = HttpMethod::kPut, .key = "k", .query = part, .headers = source}),
            "upload_part_copy");
  EXPECT_EQ(name({.method = HttpMethod::kPost, .key = "k", .query = uploads}), "create_upload");
  EXPECT_EQ(name({.method = HttpMethod::kPost, .key = "k", .query = upload}), "complete_upload");
  EXPECT_EQ(name({.method = HttpMethod::kDelete, .key = "k", .query = upload}), "abort_upload");
  EXPECT_EQ(name({.method = HttpMethod::kDelete, .key = "k"}), "delete");
}

class RequestTimesTest : public testing::Test {
 protected:
  void ended(Operation operation, bool has_token, int status, std::uint64_t body_bytes) {
    HttpResponse response;
    response.status = status;
    response.body_bytes = body_bytes;
    times_.on_outcome({.operation = operation, .has_token = has_token, .at = {}}, response,
                      /*bytes=*/100'000, std::chrono::steady_clock::time_point(milliseconds(20)));
  }
  [[nodiscard]] std::string text() const { return registry_.prometheus_text(); }

  metrics::Registry registry_;
  RequestTimes times_{registry_, "shm"};
};

TEST_F(RequestTimesTest, ATransferIsCountedUnderTheWayItsBytesWentAndItsSize) {
  ended(Operation::kGet, /*has_token=*/true, 206, 0);
  ended(Operation::kGet, /*has_token=*/true, 206, 100'000);
  ended(Operation::kUploadPart, /*has_token=*/true, 200, 0);
  const std::string seen = text();
  EXPECT_THAT(seen, HasSubstr(R"(_count{operation="get",fabric="shm",size="<=1MiB"} 1)"));
  EXPECT_THAT(seen, HasSubstr(R"(_count{operation="get",fabric="http",size="<=1MiB"} 1)"))
      << "the server sent the bytes although it had a token";
  EXPECT_THAT(seen, HasSubstr(R"(_count{operation="upload_part",fabric="shm",size="<=1MiB"} 1)"));
  EXPECT_THAT(seen, HasSubstr(R"(size="<=1MiB",le="0.02048"} 1)"
                              "\n"));
}

TEST_F(RequestTimesTest, OtherOperationsHaveNoSize) {
  ended(Operation::kList, /*has_token=*/false, 200, 5000);
  EXPECT_THAT(text(), HasSubstr(R"(_count{operation="list",fabric="http"} 1)"));
}

TEST_F(RequestTimesTest, AnAnswerThatSaysNoCountsAndAFaultOfTheServerDoesNot) {
  ended(Operation::kHead, /*has_token=*/false, 404, 0);
  ended(Operation::kHead, /*has_token=*/false, 503, 0);
  times_.on_outcome({.operation = Operation::kHead, .at = {}}, std::unexpected(HttpFailure{}), 0,
                    {});
  EXPECT_THAT(text(), HasSubstr(R"(_count{operation="head",fabric="http"} 1)"));
}

class StoreTimesTest : public ObjectReaderTest {};

TEST_F(StoreTimesTest, EachAttemptIsMeasuredAndRetriesAreNotOne) {
  server_.then(fakes::error_answer(503, "SlowDown"));
  server_.then(rdma_answer());
  EXPECT_EQ(get().value(), Path::kRdma);
  const std::string seen = metrics_.prometheus_text();
  EXPECT_THAT(
      seen,
      HasSubstr(R"(s3_request_seconds_count{operation="get",fabric="rdma",size="<=4KiB"} 1)"));
  EXPECT_THAT(seen, Not(HasSubstr(R"(operation="head")"
                                  ",fabric")));
}

}  // namespace
}  // namespace s3rdmafs::s3
