// SPDX-License-Identifier: Apache-2.0
#include "target/behaviour/token_form.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

constexpr std::string_view kLowerHex = "0123456789abcdef";
constexpr std::string_view kHex = "0123456789abcdefABCDEF";

// address, size, rkey, LID, DCT number, "has a GID", GID: s3rdmafs-protocol(7).
constexpr std::array<std::size_t, 7> kFieldWidths{16, 8, 8, 4, 6, 1, 32};
constexpr std::size_t kCuObjectLength = 81;
static_assert(std::accumulate(kFieldWidths.begin(), kFieldWidths.end(), std::size_t{0}) +
                      kFieldWidths.size() - 1 ==
                  kCuObjectLength,
              "fields and colons");

constexpr std::size_t kHipObjectLength = 88;

bool is_all(std::string_view allowed, std::string_view text) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

/// Takes the text up to the next ":" off the front.
std::string_view take_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(':'), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

/// "<88 digits>:<address>:<length>" (s3rdmafs-protocol(7)).
bool is_hip_object_form(std::string_view token) {
  constexpr std::array<std::size_t, 3> kWidths{kHipObjectLength, 16, 16};
  const bool is_good = std::ranges::all_of(kWidths, [&](std::size_t width) {
    const std::string_view field = take_field(token);
    return field.size() == width && is_all(kHex, field);
  });
  return is_good && token.empty();
}

bool begins_with_two_hex_fields(std::string_view token) {
  constexpr std::size_t kAddressDigitsMax = 16;
  const std::string_view address = take_field(token);
  return address.size() <= kAddressDigitsMax && is_all(kHex, address) &&
         is_all(kHex, take_field(token));
}

bool has_exact_widths(std::string_view token) {
  return token.size() == kCuObjectLength &&
         std::ranges::all_of(kFieldWidths, [&](std::size_t width) {
           const std::string_view field = take_field(token);
           return field.size() == width && is_all(kLowerHex, field);
         });
}

}  // namespace

TokenKind token_kind(std::string_view token) {
  if (token.starts_with("shm:") || token.starts_with("rc:")) return TokenKind::kOwn;
  const std::string_view first = token.substr(0, token.find(':'));
  if (first.size() == kHipObjectLength && is_all(kHex, first)) return TokenKind::kHipObject;
  return begins_with_two_hex_fields(token) ? TokenKind::kCuObject : TokenKind::kUnknown;
}

std::string token_fault(TokenForm form, std::string_view token) {
  switch (form) {
    case TokenForm::kOpaque:
      return "";
    case TokenForm::kTwoHexFields:
      if (begins_with_two_hex_fields(token)) return "";
      return "The token does not begin with an address and a size.";
    case TokenForm::kHipObject:
      if (is_hip_object_form(token)) return "";
      return "The token does not have the three fields of hipObject.";
    case TokenForm::kWidths:
      if (has_exact_widths(token)) return "";
      [[fallthrough]];
    case TokenForm::kLength81:
      if (token.size() != kCuObjectLength) {
        return fmt::format("The token has {} characters, expected exactly {}.", token.size(),
                           kCuObjectLength);
      }
      return form == TokenForm::kWidths ? "A field of the token has not its width." : "";
  }
  return "";
}

}  // namespace s3rdmafs::target
