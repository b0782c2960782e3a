// SPDX-License-Identifier: Apache-2.0
// The first vectors are AWS's own: "Signature Calculations for the Authorization Header:
// Transferring Payload in Multiple Chunks", the upload of chunkObject.txt.
#include "target/auth/chunked_decoder.h"

#include <gtest/gtest.h>

namespace s3rdmafs::target {
namespace {

ChunkSigning aws_example_signing() {
  const s3::SigningScope scope{.date = "20130524", .region = "us-east-1"};
  return {.key = s3::signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", scope),
          .scope = scope,
          .amz_date = "20130524T000000Z",
          .seed_signature = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"};
}

std::string aws_example_body() {
  return "10000;chunk-signature="
         "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n" +
         std::string(65536, 'a') +
         "\r\n400;chunk-signature="
         "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n" +
         std::string(1024, 'a') +
         "\r\n0;chunk-signature="
         "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n";
}

struct Decoded {
  std::string bytes;
  std::optional<S3Error> error;
  NameValues trailers;
};

/// Feeds `body` in pieces of `piece` bytes, as a network would.
Decoded decode(ChunkedDecoder::Form form, std::string_view body, std::size_t piece = 4096) {
  ChunkedDecoder decoder(std::move(form));
  Decoded decoded;
  const auto sink = [&](std::span<const std::byte> bytes) -> S3Result<void> {
    decoded.bytes.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  };
  while (!body.empty()) {
    const std::string_view now = body.substr(0, piece);
    body.remove_prefix(now.size());
    if (auto taken = decoder.receive(std::as_bytes(std::span(now)), sink); !taken) {
      decoded.error = taken.error();
      return decoded;
    }
  }
  if (auto finished = decoder.finish(); !finished) decoded.error = finished.error();
  decoded.trailers = decoder.trailers();
  return decoded;
}

ChunkedDecoder::Form signed_form() {
  return {.signing = aws_example_signing(), .has_trailers = false, .decoded_bytes = 66560};
}

TEST(ChunkedDecoder, AcceptsTheSignaturesOfAwsExampleInPiecesOfAnySize) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    const Decoded decoded = decode(signed_form(), aws_example_body(), piece);
    EXPECT_FALSE(decoded.error) << decoded.error->message;
    EXPECT_EQ(decoded.bytes, std::string(66560, 'a'));
  }
}

TEST(ChunkedDecoder, RefusesAChunkWithOneByteChanged) {
  std::string body = aws_example_body();
  body[66'000] = 'b';  // inside the second chunk
  const Decoded decoded = decode(signed_form(), body);
  ASSERT_TRUE(decoded.error);
  EXPECT_EQ(decoded.error->code.name, "SignatureDoesNotMatch");
}

TEST(ChunkedDecoder, RefusesABodyWithoutItsLastChunk) {
  std::string body = aws_example_body();
  body.resize(body.rfind("0;chunk-signature"));
  const Decoded decoded = decode(signed_form(), body);
  ASSERT_TRUE(decoded.error);
  EXPECT_EQ(decoded.error->code.name, "IncompleteBody");
}

TEST(ChunkedDecoder, RefusesUnsignedChunksWhereSignedOnesWereAnnounced) {
  const Decoded decoded = decode(signed_form(), "1\r\na\r\n0\r\n\r\n");
  ASSERT_TRUE(decoded.error);
  EXPECT_EQ(decoded.error->code.name, "SignatureDoesNotMatch");
}

TEST(ChunkedDecoder, ReadsUnsignedTrailersAfterTheBody) {
  const Decoded decoded = decode({.signing = {}, .has_trailers = true, .decoded_bytes = 5},
                                 "5\r\nhello\r\n0\r\nX-Amz-Checksum-Crc32c: mnG7TA==\r\n\r\n", 3);
  EXPECT_FALSE(decoded.error) << decoded.error->message;
  EXPECT_EQ(decoded.bytes, "hello");
  EXPECT_EQ(decoded.trailers, (NameValues{{"x-amz-checksum-crc32c", "mnG7TA=="}}));
}

TEST(ChunkedDecoder, ChecksTheSignatureOfTrailers) {
  ChunkSigning signing = aws_example_signing();
  const auto chain = [&](std::string_view kind, const std::string& covered) {
    signing.seed_signature =
        s3::signature(signing.key, std::string(kind) + "\n" + signing.amz_date + "\n" +
                                       signing.scope.to_string() + "\n" + signing.seed_signature +
                                       "\n" + covered);
    return signing.seed_signature;
  };
  const std::string empty = s3::sha256_hex("");
  const std::string first =
      chain("AWS4-HMAC-SHA256-PAYLOAD", empty + "\n" + s3::sha256_hex("hello"));
  const std::string last = chain("AWS4-HMAC-SHA256-PAYLOAD", empty + "\n" + empty);
  const std::string trailer =
      chain("AWS4-HMAC-SHA256-TRAILER", s3::sha256_hex("x-amz-checksum-crc32c:mnG7TA==\n"));
  const auto body = [&](const std::string& value) {
    return "5;chunk-signature=" + first + "\r\nhello\r\n0;chunk-signature=" + last +
           "\r\nx-amz-checksum-crc32c:" + value + "\r\nx-amz-trailer-signature:" + trailer +
           "\r\n\r\n";
  };
  const ChunkedDecoder::Form form{
      .signing = aws_example_signing(), .has_trailers = true, .decoded_bytes = 5};
  EXPECT_FALSE(decode(form, body("mnG7TA==")).error);
  const Decoded changed = decode(form, body("AAAAAA=="));
  ASSERT_TRUE(changed.error);
  EXPECT_EQ(changed.error->code.name, "SignatureDoesNotMatch");
}

TEST(ChunkedDecoder, RefusesMoreAndLessThanTheDecodedLength) {
  const ChunkedDecoder::Form form{.signing = {}, .has_trailers = false, .decoded_bytes = 5};
  EXPECT_FALSE(decode(form, "5\r\nhello\r\n0\r\n\r\n").error);
  EXPECT_TRUE(decode(form, "6\r\nhello!\r\n0\r\n\r\n").error);
  EXPECT_TRUE(decode(form, "4\r\nhell\r\n0\r\n\r\n").error);
  EXPECT_TRUE(decode(form, "ffffffffffffffff\r\nhello").error);
}

TEST(ChunkedDecoder, RefusesGarbage) {
  const ChunkedDecoder::Form form{.signing = {}, .has_trailers = false, .decoded_bytes = 5};
  EXPECT_TRUE(decode(form, "five\r\nhello\r\n0\r\n\r\n").error);
  EXPECT_TRUE(decode(form, "5\r\nhelloXX\r\n0\r\n\r\n").error);
  EXPECT_TRUE(decode(form, std::string(10'000, '0')).error);
  EXPECT_TRUE(decode(form, "5\r\nhello\r\n0\r\n\r\nmore\r\n").error);
}

}  // namespace
}  // namespace s3rdmafs::target
