// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/rdma/shm_wire.h"

#include <charconv>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::rdma::shm {
namespace {

// "shm:" id ":" key ":" offset ":" size
constexpr std::string_view kScheme = "shm:";
constexpr std::size_t kTokenLength = 4 + 32 + 1 + 16 + 1 + 16 + 1 + 8;

// Reads exactly `digits` lower-case hex digits off the front of `text`.
template <class T>
bool take_hex(std::string_view& text, std::size_t digits, T& value) {
  if (text.size() < digits) return false;
  const std::string_view field = text.substr(0, digits);
  if (field.find_first_not_of("0123456789abcdef") != std::string_view::npos) return false;
  std::from_chars(field.data(), field.data() + field.size(), value, 16);
  text.remove_prefix(digits);
  return true;
}

bool take_colon(std::string_view& text) {
  if (!text.starts_with(':')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string Token::to_string() const {
  std::string id;
  for (const std::uint8_t byte : session_id) id += fmt::format("{:02x}", byte);
  return fmt::format("{}{}:{:016x}:{:016x}:{:08x}", kScheme, id, region_key, offset_bytes,
                     size_bytes);
}

std::optional<Token> parse_token(std::string_view text) {
  if (text.size() != kTokenLength || !text.starts_with(kScheme)) return std::nullopt;
  text.remove_prefix(kScheme.size());

  Token token;
  for (std::uint8_t& byte : token.session_id) {
    if (!take_hex(text, 2, byte)) return std::nullopt;
  }
  const bool well_formed = take_colon(text) && take_hex(text, 16, token.region_key) &&
                           take_colon(text) && take_hex(text, 16, token.offset_bytes) &&
                           take_colon(text) && take_hex(text, 8, token.size_bytes);
  if (!well_formed) return std::nullopt;
  return token;
}

std::string default_socket_name(std::uint16_t port) {
  return "@s3rdma-target-" + std::to_string(port);
}

}  // namespace s3rdmafs::rdma::shm
