// SPDX-License-Identifier: Apache-2.0
//
// A token is made for every RDMA request, so the text is written in place, with one allocation.
#include "rdma/mlx5/dc_token.h"

#include <span>

#include <openssl/evp.h>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::mlx5 {
namespace {

constexpr std::size_t kTokenBytes = 16 + 8 + 8 + 4 + 6 + 1 + 32 + 6;  // six colons
constexpr std::size_t kOlderTokenBytes = kTokenBytes + 1 + 16 + 1 + 16;
constexpr std::size_t kBase64Bytes = (kTokenBytes + 2) / 3 * 4;
static_assert(kTokenBytes == 81 && kOlderTokenBytes == 115, "s3rdmafs-protocol(7), TOKENS");
static_assert(kTokenBytes % 3 == 0, "its base64 form has no padding");

constexpr std::string_view kDigits = "0123456789abcdef";

/// Writes fields one after another, a colon between them.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& text) : text_(text) {}

  void number(std::uint64_t value, unsigned digits) {
    separate();
    for (unsigned left = digits; left > 0; --left) text_ += kDigits[value >> (left - 1) * 4 & 0xF];
  }
  void bytes(std::span<const std::uint8_t> values) {
    separate();
    for (const std::uint8_t value : values) {
      text_ += kDigits[value >> 4];
      text_ += kDigits[value & 0xF];
    }
  }

 private:
  void separate() {
    if (!text_.empty()) text_ += ':';
  }

  std::string& text_;
};

/// Reads them back. The first field that is wrong is the error; the fields after it read as zero.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  std::uint64_t number(std::string_view name, unsigned digits) {
    std::uint64_t value = 0;
    const std::string_view field = take(name, digits);
    for (const char c : field) value = value << 4 | digit(name, c);
    return value;
  }
  void bytes(std::string_view name, std::span<std::uint8_t> values) {
    const std::string_view field = take(name, values.size() * 2);
    if (field.empty()) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          static_cast<std::uint8_t>(digit(name, field[2 * i]) << 4 | digit(name, field[2 * i + 1]));
    }
  }
  [[nodiscard]] std::string_view wrong_field() const { return wrong_field_; }

 private:
  std::string_view take(std::string_view name, std::size_t digits) {
    const std::size_t separator = is_first_ ? 0 : 1;
    const bool is_separated = is_first_ || rest_.starts_with(':');
    is_first_ = false;
    if (!is_separated || rest_.size() < separator + digits) {
      blame(name);
      return {};
    }
    const std::string_view field = rest_.substr(separator, digits);
    rest_.remove_prefix(separator + digits);
    return field;
  }
  unsigned digit(std::string_view name, char c) {
    const std::size_t value = kDigits.find(c);
    if (value == std::string_view::npos) blame(name);
    return static_cast<unsigned>(value & 0xF);
  }
  void blame(std::string_view name) {
    if (wrong_field_.empty()) wrong_field_ = name;
  }

  std::string_view rest_;
  bool is_first_ = true;
  std::string_view wrong_field_;
};

std::string to_base64(const std::string& text) {
  std::string result(kBase64Bytes + 1, '\0');  // EVP ends it with a zero
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(result.data()),
                  reinterpret_cast<const unsigned char*>(text.data()),
                  static_cast<int>(text.size()));
  result.resize(kBase64Bytes);
  return result;
}

Result<std::string> from_base64(std::string_view text) {
  std::string result(kTokenBytes, '\0');
  if (text.size() != kBase64Bytes ||
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(result.data()),
                      reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) != static_cast<int>(kTokenBytes)) {
    return fail(ErrorCode::kInvalidArgument, "the token is not base64 of 81 characters");
  }
  return result;
}

}  // namespace

std::string DcToken::to_text(DcTokenForm form) const {
  std::string text;
  text.reserve(form == DcTokenForm::k115 ? kOlderTokenBytes : kTokenBytes);
  FieldWriter write(text);
  write.number(window_address, 16);
  write.number(window_bytes, 8);
  write.number(rkey, 8);
  write.number(target.lid, 4);
  write.number(target.dct_number, 6);
  write.number(target.has_gid ? 1 : 0, 1);
  write.bytes(target.gid);
  if (form == DcTokenForm::k115) {
    write.number(window_address, 16);
    write.number(window_bytes, 16);
  }
  if (form == DcTokenForm::kBase64) return to_base64(text);
  return text;
}

Result<DcToken> DcToken::parse(std::string_view text, DcTokenForm form) {
  if (form == DcTokenForm::kBase64) {
    const Result<std::string> decoded = from_base64(text);
    if (!decoded) return std::unexpected(decoded.error());
    return parse(*decoded, DcTokenForm::k81);
  }
  const std::size_t expected = form == DcTokenForm::k115 ? kOlderTokenBytes : kTokenBytes;
  if (text.size() != expected) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the token has {} characters, not {}", text.size(), expected));
  }
  DcToken token;
  FieldReader read(text);
  token.window_address = read.number("address", 16);
  token.window_bytes = static_cast<std::uint32_t>(read.number("size", 8));
  token.rkey = static_cast<std::uint32_t>(read.number("rkey", 8));
  token.target.lid = static_cast<std::uint16_t>(read.number("lid", 4));
  token.target.dct_number = static_cast<std::uint32_t>(read.number("dct number", 6));
  const std::uint64_t gid_flag = read.number("gid flag", 1);
  token.target.has_gid = gid_flag == 1;
  read.bytes("gid", token.target.gid);
  std::string_view wrong = read.wrong_field();
  if (wrong.empty() && gid_flag > 1) wrong = "gid flag";
  if (form == DcTokenForm::k115 && wrong.empty()) {
    const bool is_same_window = read.number("suffix", 16) == token.window_address &&
                                read.number("suffix", 16) == token.window_bytes;
    wrong = read.wrong_field();
    if (wrong.empty() && !is_same_window) wrong = "suffix";
  }
  if (!wrong.empty()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("the token's {} is malformed", wrong));
  }
  return token;
}

}  // namespace s3rdmafs::rdma::mlx5
