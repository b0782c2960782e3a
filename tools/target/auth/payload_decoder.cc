// SPDX-License-Identifier: Apache-2.0
#include "target/auth/payload_decoder.h"

#include <algorithm>
#include <charconv>

#include "s3rdmafs/base/log.h"
#include "target/auth/chunked_decoder.h"

namespace s3rdmafs::target {
namespace {

std::optional<std::uint64_t> parse_length(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return length;
}

/// A body as it is, with or without a hash over the whole of it.
class PlainDecoder final : public PayloadDecoder {
 public:
  PlainDecoder(std::optional<std::uint64_t> length, std::string sha256_hex)
      : length_(length), expected_(std::move(sha256_hex)) {
    if (!expected_.empty()) hash_.emplace(Hash::Kind::kSha256);
  }

  S3Result<void> receive(std::span<const std::byte> bytes, const Sink& sink) override {
    if (hash_) hash_->update(bytes);
    received_bytes_ += bytes.size();
    return sink(bytes);
  }

  S3Result<void> finish() override {
    if (length_ && *length_ != received_bytes_) return refuse(kIncompleteBody);
    if (hash_ && to_hex(hash_->finish()) != expected_) return refuse(kContentSha256Mismatch);
    return {};
  }

  [[nodiscard]] const NameValues& trailers() const override { return none_; }

 private:
  std::optional<std::uint64_t> length_;
  std::string expected_;
  std::optional<Hash> hash_;
  std::uint64_t received_bytes_ = 0;
  NameValues none_;
};

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

S3Result<std::unique_ptr<PayloadDecoder>> make_payload_decoder(const Request& request,
                                                               const Caller& caller) {
  const std::string& form = caller.payload_hash;
  if (form == s3::kUnsignedPayload) {
    return std::make_unique<PlainDecoder>(parse_length(request.header("content-length")), "");
  }
  if (is_sha256_hex(form)) {
    return std::make_unique<PlainDecoder>(parse_length(request.header("content-length")), form);
  }
  const bool is_signed = form == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" ||
                         form == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
  if (!is_signed && form != "STREAMING-UNSIGNED-PAYLOAD-TRAILER") {
    return refuse(kInvalidRequest,
                  fmt::format("x-amz-content-sha256 \"{}\" is not supported.", form));
  }
  if (is_signed && caller.is_anonymous) {
    return refuse(kAccessDenied, "An anonymous request cannot have signed chunks.");
  }
  const auto length = parse_length(request.header("x-amz-decoded-content-length"));
  if (!length) {
    return refuse(kMissingContentLength, "The request needs x-amz-decoded-content-length.");
  }
  ChunkedDecoder::Form chunked;
  if (is_signed) chunked.signing = caller.chunk_signing;
  chunked.has_trailers = form.ends_with("-TRAILER");
  chunked.decoded_bytes = *length;
  return std::make_unique<ChunkedDecoder>(std::move(chunked));
}

}  // namespace s3rdmafs::target
