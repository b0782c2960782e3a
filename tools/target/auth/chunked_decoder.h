// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "target/auth/payload_decoder.h"

namespace s3rdmafs::target {

/// Content-Encoding: aws-chunked, in its three forms:
///
///   STREAMING-AWS4-HMAC-SHA256-PAYLOAD           "SIZE;chunk-signature=HEX\r\n" data "\r\n" ...
///   STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER   the same, signed headers after the last chunk
///   STREAMING-UNSIGNED-PAYLOAD-TRAILER           "SIZE\r\n" data "\r\n" ..., unsigned headers
///
/// Each chunk's signature covers the one before it, so none can be left out, added or moved.
/// Source: AWS, "Signature Calculations for the Authorization Header: Transferring Payload in
/// Multiple Chunks" and its pages on trailers.
class ChunkedDecoder final : public PayloadDecoder {
 public:
  struct Form {
    std::optional<ChunkSigning> signing;  ///< nothing: unsigned
    bool has_trailers = false;
    std::uint64_t decoded_bytes = 0;  ///< x-amz-decoded-content-length
  };
  explicit ChunkedDecoder(Form form);

  [[nodiscard]] S3Result<void> receive(std::span<const std::byte> bytes, const Sink& sink) override;
  [[nodiscard]] S3Result<void> finish() override;
  [[nodiscard]] const NameValues& trailers() const override { return trailers_; }

 private:
  enum class State { kSize, kData, kDataEnd, kTrailer, kDone };

  S3Result<void> take_line(std::string_view line);
  S3Result<void> take_size(std::string_view line);
  S3Result<void> take_trailer(std::string_view line);
  S3Result<void> end_chunk();
  S3Result<void> check_trailer_signature();
  S3Result<void> check_signature(std::string_view kind, std::string_view covered,
                                 std::string_view claimed);

  Form form_;
  State state_ = State::kSize;
  std::string line_;  // an unfinished line
  std::uint64_t chunk_left_bytes_ = 0;
  std::uint64_t received_bytes_ = 0;
  bool is_last_chunk_ = false;
  std::string chunk_signature_;
  std::optional<Hash> chunk_hash_;
  NameValues trailers_;
  std::string trailer_text_;  // canonical: the text that the trailer signature covers
  std::string trailer_signature_;
};

}  // namespace s3rdmafs::target
