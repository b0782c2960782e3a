// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/bucket_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3/wire/request.h"

namespace s3rdmafs::s3 {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;

using Header = std::pair<std::string, std::string>;

// The key and its MD5, as `printf '%032d' 0 | openssl md5 -binary | base64` gives it.
constexpr const char* kKey = "MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=";
constexpr const char* kKeyMd5 = "zZ5FnqcIqUjVwvWmyog4zw==";

struct Requests {
  RequestSpec list{.key = "", .query = {{"list-type", "2"}}};
  RequestSpec get{.key = "k"};
  RequestSpec head{.method = HttpMethod::kHead, .key = "k"};
  RequestSpec put{.method = HttpMethod::kPut, .key = "k"};
  RequestSpec create{.method = HttpMethod::kPost, .key = "k", .query = {{"uploads", ""}}};
  RequestSpec part{
      .method = HttpMethod::kPut, .key = "k", .query = {{"partNumber", "1"}, {"uploadId", "u"}}};
  RequestSpec complete{.method = HttpMethod::kPost, .key = "k", .query = {{"uploadId", "u"}}};
  RequestSpec parts{.key = "k", .query = {{"uploadId", "u"}}};
  RequestSpec copy{
      .method = HttpMethod::kPut, .key = "k", .headers = {{"x-amz-copy-source", "/b/a"}}};
  RequestSpec remove{.method = HttpMethod::kDelete, .key = "k"};
};

NameValues added(const BucketTerms& terms, RequestSpec spec) {
  const std::size_t own = spec.headers.size();
  BucketHeaders(terms).add_to(spec);
  return {spec.headers.begin() + static_cast<std::ptrdiff_t>(own), spec.headers.end()};
}

TEST(BucketHeaders, AddNothingWithoutTerms) {
  EXPECT_THAT(added({}, Requests{}.put), IsEmpty());
  EXPECT_THAT(added({}, Requests{}.list), IsEmpty());
}

TEST(BucketHeaders, NameThePayerAndTheOwnerInEachRequest) {
  const BucketTerms terms{.requester_pays = true, .expected_owner = "111122223333"};
  const Requests requests;
  for (const RequestSpec& spec : {requests.list, requests.get, requests.part, requests.remove}) {
    EXPECT_THAT(added(terms, spec),
                ElementsAre(Header("x-amz-request-payer", "requester"),
                            Header("x-amz-expected-bucket-owner", "111122223333")));
  }
}

TEST(BucketHeaders, SayHowNewObjectsAreStoredWhereTheyBegin) {
  const BucketTerms terms{
      .storage_class = "STANDARD_IA", .encryption = Encryption::kSseKms, .kms_key = "key"};
  const Requests requests;
  for (const RequestSpec& spec : {requests.put, requests.create, requests.copy}) {
    EXPECT_THAT(added(terms, spec),
                ElementsAre(Header("x-amz-storage-class", "STANDARD_IA"),
                            Header("x-amz-server-side-encryption", "aws:kms"),
                            Header("x-amz-server-side-encryption-aws-kms-key-id", "key")));
  }
  for (const RequestSpec& spec : {requests.get, requests.head, requests.part, requests.complete,
                                  requests.parts, requests.list, requests.remove}) {
    EXPECT_THAT(added(terms, spec), IsEmpty());
  }
  EXPECT_THAT(added({.encryption = Encryption::kSseS3}, requests.put),
              ElementsAre(Header("x-amz-server-side-encryption", "AES256")));
}

TEST(BucketHeaders, LeaveTheStorageClassThatAnObjectKeeps) {
  RequestSpec spec = Requests{}.put;
  spec.headers = {{"x-amz-storage-class", "GLACIER_IR"}};
  EXPECT_THAT(added({.storage_class = "STANDARD_IA"}, spec), IsEmpty());
}

TEST(BucketHeaders, BringACustomersKeyWhereverBytesAreReadOrWritten) {
  const BucketTerms terms{.encryption = Encryption::kSseC, .customer_key = kKey};
  const Requests requests;
  const NameValues expected{{"x-amz-server-side-encryption-customer-algorithm", "AES256"},
                            {"x-amz-server-side-encryption-customer-key", kKey},
                            {"x-amz-server-side-encryption-customer-key-md5", kKeyMd5}};
  for (const RequestSpec& spec : {requests.get, requests.head, requests.put, requests.create,
                                  requests.part, requests.complete}) {
    EXPECT_THAT(added(terms, spec), testing::ElementsAreArray(expected));
  }
  EXPECT_THAT(
      added(terms, requests.copy),
      IsSupersetOf({Header("x-amz-copy-source-server-side-encryption-customer-key", kKey),
                    Header("x-amz-copy-source-server-side-encryption-customer-key-md5", kKeyMd5),
                    Header("x-amz-server-side-encryption-customer-key", kKey)}));
  for (const RequestSpec& spec : {requests.list, requests.parts, requests.remove}) {
    EXPECT_THAT(added(terms, spec), Not(Contains(Pair(testing::_, kKey)))) << "it stays here";
  }
}

}  // namespace
}  // namespace s3rdmafs::s3
