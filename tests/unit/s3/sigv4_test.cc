// SPDX-License-Identifier: Apache-2.0
// The vectors are AWS's own, from "Signature Calculations for the Authorization Header" and
// "Examples of the complete Signature Version 4 signing process" of the Amazon S3 API reference.
#include "s3rdmafs/s3/sigv4.h"

#include <gtest/gtest.h>

namespace s3rdmafs::s3 {
namespace {

constexpr std::string_view kSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
constexpr std::string_view kDate = "20130524T000000Z";
constexpr std::string_view kEmptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const SigningScope kScope{.date = "20130524", .region = "us-east-1"};

std::string sign(const SignedRequest& request) {
  return signature(signing_key(kSecret, kScope),
                   string_to_sign(kDate, kScope, canonical_request(request)));
}

SignedRequest example(std::string method, std::string path, NameValues query, NameValues more) {
  SignedRequest request{.method = std::move(method),
                        .encoded_path = std::move(path),
                        .query = std::move(query),
                        .headers = {{"Host", "examplebucket.s3.amazonaws.com"},
                                    {"x-amz-date", std::string(kDate)},
                                    {"x-amz-content-sha256", std::string(kEmptyHash)}},
                        .payload_hash = std::string(kEmptyHash)};
  request.headers.insert(request.headers.end(), more.begin(), more.end());
  return request;
}

TEST(SigV4, SignsAwsGetObjectExample) {
  const SignedRequest request = example("GET", "/test.txt", {}, {{"Range", "bytes=0-9"}});
  EXPECT_EQ(signed_header_names(request), "host;range;x-amz-content-sha256;x-amz-date");
  EXPECT_EQ(sign(request), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4, SignsAwsPutObjectExample) {
  SignedRequest request = example(
      "PUT", "/test%24file.text", {},
      {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}});
  request.payload_hash = sha256_hex("Welcome to Amazon S3.");
  request.headers[2].second = request.payload_hash;
  EXPECT_EQ(request.payload_hash,
            "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_EQ(sign(request), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SigV4, SignsAwsGetBucketLifecycleExample) {
  EXPECT_EQ(sign(example("GET", "/", {{"lifecycle", ""}}, {})),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(SigV4, SignsAwsListObjectsExampleWhateverTheOrderOfTheQuery) {
  EXPECT_EQ(sign(example("GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {})),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4, SignsAwsChunkedUploadSeedAndFirstChunk) {
  SignedRequest request = example("PUT", "/examplebucket/chunkObject.txt", {},
                                  {{"x-amz-storage-class", "REDUCED_REDUNDANCY"},
                                   {"Content-Encoding", "aws-chunked"},
                                   {"x-amz-decoded-content-length", "66560"},
                                   {"Content-Length", "66824"}});
  request.headers[0].second = "s3.amazonaws.com";
  request.payload_hash = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
  request.headers[2].second = request.payload_hash;
  const std::string seed = sign(request);
  EXPECT_EQ(seed, "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9");

  std::string to_sign = "AWS4-HMAC-SHA256-PAYLOAD\n";
  to_sign += std::string(kDate) + "\n" + kScope.to_string() + "\n" + seed + "\n";
  to_sign += std::string(kEmptyHash) + "\n" + sha256_hex(std::string(65536, 'a'));
  EXPECT_EQ(signature(signing_key(kSecret, kScope), to_sign),
            "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648");
}

TEST(SigV4, DerivesAwsSigningKeyExample) {
  const SigningKey key = signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                     {.date = "20150830", .region = "us-east-1", .service = "iam"});
  std::string hex;
  for (const std::byte byte : key) {
    hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4U];
    hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15U];
  }
  EXPECT_EQ(hex, "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9");
}

TEST(SigV4, FoldsSpacesAndJoinsRepeatedHeaders) {
  const SignedRequest request{.method = "GET",
                              .encoded_path = "/",
                              .query = {},
                              .headers = {{"X-Two", "  b \t c "}, {"x-one", "1"}, {"x-two", "d"}},
                              .payload_hash = "HASH"};
  EXPECT_EQ(canonical_request(request), "GET\n/\n\nx-one:1\nx-two:b c,d\n\nx-one;x-two\nHASH");
}

TEST(SigV4, SortsTheQueryByItsEncodedText) {
  // "a%2F" sorts before "a-", although '/' (0x2F) comes after '-' (0x2D).
  const SignedRequest request{.method = "GET",
                              .encoded_path = "/",
                              .query = {{"a-", "1"}, {"a/", "2"}, {"a-", "0"}},
                              .headers = {},
                              .payload_hash = "HASH"};
  EXPECT_EQ(canonical_request(request), "GET\n/\na%2F=2&a-=0&a-=1\n\n\nHASH");
}

// The control: whatever the vectors agree on must depend on every part.
TEST(SigV4, AnotherHeaderValueGivesAnotherSignature) {
  EXPECT_NE(sign(example("GET", "/test.txt", {}, {{"Range", "bytes=0-8"}})),
            sign(example("GET", "/test.txt", {}, {{"Range", "bytes=0-9"}})));
}

}  // namespace
}  // namespace s3rdmafs::s3
