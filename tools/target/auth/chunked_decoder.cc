// SPDX-License-Identifier: Apache-2.0
#include "target/auth/chunked_decoder.h"

#include <algorithm>
#include <charconv>

#include <openssl/crypto.h>

#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

// A size, an extension and a signature are under 120 bytes, a trailer under 200.
constexpr std::size_t kLineMaxBytes = 4096;
// S3 knows a handful of trailers; more would only fill memory.
constexpr std::size_t kTrailersMax = 16;

std::unexpected<S3Error> malformed(std::string_view what) {
  return refuse(kIncompleteBody, fmt::format("The aws-chunked body is malformed: {}.", what));
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

ChunkedDecoder::ChunkedDecoder(Form form) : form_(std::move(form)) {}

S3Result<void> ChunkedDecoder::receive(std::span<const std::byte> bytes, const Sink& sink) {
  while (!bytes.empty()) {
    if (state_ == State::kDone) return malformed("bytes after the end");
    if (state_ == State::kData) {
      const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), chunk_left_bytes_));
      if (chunk_hash_) chunk_hash_->update(piece);
      if (auto taken = sink(piece); !taken) return taken;
      bytes = bytes.subspan(piece.size());
      chunk_left_bytes_ -= piece.size();
      if (chunk_left_bytes_ == 0) state_ = State::kDataEnd;
      continue;
    }
    const auto newline = std::ranges::find(bytes, std::byte{'\n'});
    const auto length = static_cast<std::size_t>(newline - bytes.begin());
    line_.append(reinterpret_cast<const char*>(bytes.data()), length);
    if (line_.size() > kLineMaxBytes) return malformed("a line is too long");
    if (newline == bytes.end()) return {};
    bytes = bytes.subspan(length + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    const std::string line = std::exchange(line_, std::string());
    if (auto taken = take_line(line); !taken) return taken;
  }
  return {};
}

S3Result<void> ChunkedDecoder::take_line(std::string_view line) {
  switch (state_) {
    case State::kSize:
      return take_size(line);
    case State::kDataEnd:
      if (!line.empty()) return malformed("a chunk is longer than its size");
      return end_chunk();
    case State::kTrailer:
      return take_trailer(line);
    case State::kData:
    case State::kDone:
      break;
  }
  return malformed("bytes after the end");
}

S3Result<void> ChunkedDecoder::take_size(std::string_view line) {
  const std::string_view size = line.substr(0, line.find(';'));
  const auto [end, error] =
      std::from_chars(size.data(), size.data() + size.size(), chunk_left_bytes_, 16);
  if (error != std::errc() || end != size.data() + size.size()) {
    return malformed("a chunk's size is not a hexadecimal number");
  }
  if (chunk_left_bytes_ > form_.decoded_bytes - received_bytes_) {
    return malformed("more bytes than x-amz-decoded-content-length says");
  }
  received_bytes_ += chunk_left_bytes_;
  if (form_.signing) {
    constexpr std::string_view kExtension = ";chunk-signature=";
    if (!line.substr(size.size()).starts_with(kExtension)) {
      return refuse(kSignatureDoesNotMatch, "A chunk of the body has no signature.");
    }
    chunk_signature_ = line.substr(size.size() + kExtension.size());
    chunk_hash_.emplace(Hash::Kind::kSha256);
  }
  is_last_chunk_ = chunk_left_bytes_ == 0;
  if (!is_last_chunk_) {
    state_ = State::kData;
    return {};
  }
  return end_chunk();
}

S3Result<void> ChunkedDecoder::end_chunk() {
  if (form_.signing) {
    const std::string covered =
        fmt::format("{}\n{}", s3::sha256_hex(""), to_hex(chunk_hash_->finish()));
    if (auto good = check_signature("AWS4-HMAC-SHA256-PAYLOAD", covered, chunk_signature_); !good) {
      return good;
    }
  }
  // An empty line ends the trailers, of which there may be none.
  state_ = is_last_chunk_ ? State::kTrailer : State::kSize;
  return {};
}

S3Result<void> ChunkedDecoder::take_trailer(std::string_view line) {
  if (line.empty()) {
    state_ = State::kDone;
    return {};
  }
  const std::size_t colon = line.find(':');
  if (!form_.has_trailers || colon == std::string_view::npos || trailers_.size() == kTrailersMax) {
    return malformed("a trailing header was not expected");
  }
  std::string name = ascii_lower(trim(line.substr(0, colon)));
  const std::string value(trim(line.substr(colon + 1)));
  if (name == "x-amz-trailer-signature") {
    trailer_signature_ = value;
    return {};
  }
  trailer_text_ += fmt::format("{}:{}\n", name, value);
  trailers_.emplace_back(std::move(name), value);
  return {};
}

S3Result<void> ChunkedDecoder::finish() {
  // Some clients leave out the very last line break.
  if (state_ == State::kTrailer && !line_.empty()) {
    const std::string line = std::exchange(line_, std::string());
    if (auto taken = take_trailer(line); !taken) return taken;
  }
  const bool at_end = state_ == State::kDone || state_ == State::kTrailer;
  if (!at_end || received_bytes_ != form_.decoded_bytes) {
    return refuse(kIncompleteBody,
                  fmt::format("The body ended after {} of {} bytes.",
                              received_bytes_ - chunk_left_bytes_, form_.decoded_bytes));
  }
  return form_.signing && form_.has_trailers ? check_trailer_signature() : S3Result<void>{};
}

S3Result<void> ChunkedDecoder::check_trailer_signature() {
  return check_signature("AWS4-HMAC-SHA256-TRAILER", s3::sha256_hex(trailer_text_),
                         trailer_signature_);
}

S3Result<void> ChunkedDecoder::check_signature(std::string_view kind, std::string_view covered,
                                               std::string_view claimed) {
  ChunkSigning& signing = *form_.signing;
  const std::string expected = s3::signature(
      signing.key, fmt::format("{}\n{}\n{}\n{}\n{}", kind, signing.amz_date,
                               signing.scope.to_string(), signing.seed_signature, covered));
  if (expected.size() != claimed.size() ||
      ::CRYPTO_memcmp(expected.data(), claimed.data(), expected.size()) != 0) {
    return refuse(kSignatureDoesNotMatch, "A chunk of the body does not match its signature.");
  }
  signing.seed_signature = expected;
  return {};
}

}  // namespace s3rdmafs::target
