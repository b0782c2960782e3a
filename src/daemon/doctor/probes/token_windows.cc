// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/probes/token_windows.h"

#include <algorithm>
#include <charconv>
#include <string>

#include <openssl/evp.h>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/rdma/rc_wire.h"

namespace s3rdmafs::daemon::doctor {
namespace {

constexpr std::size_t kDcTokenBytes = 81;  // rdma/mlx5/dc_token.h

// The text that the token encodes in base64; empty where it is not base64.
std::string decode(std::string_view text) {
  std::string decoded(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  return length < 0 ? std::string() : decoded;
}

std::optional<std::uint64_t> hexadecimal(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

// addr:size:rkey:..., 16, 8 and 8 digits.
std::optional<TokenWindow> window_of_dc(std::string_view token) {
  if (token.size() < kDcTokenBytes || token[16] != ':' || token[25] != ':') return std::nullopt;
  const auto address = hexadecimal(token.substr(0, 16));
  const auto rkey = hexadecimal(token.substr(26, 8));
  if (!address || !rkey) return std::nullopt;
  return TokenWindow{.address = *address, .rkey = *rkey};
}

bool overlap(const TokenWindow& one, const TokenWindow& other, std::uint64_t length) {
  const auto [low, high] = std::minmax(one.address, other.address);
  return high - low < length;
}

}  // namespace

std::optional<TokenWindow> window_of(std::string_view token, config::DcTokenForm form) {
  if (token.starts_with("rc:")) {
    const auto parsed = rdma::rc::parse_object_token(token);
    if (!parsed) return std::nullopt;
    return TokenWindow{.address = parsed->address, .rkey = parsed->rkey};
  }
  if (form == config::DcTokenForm::kBase64) return window_of_dc(decode(token));
  return window_of_dc(token);
}

Finding judge_fence(const std::vector<TokenWindow>& windows, std::uint64_t length) {
  bool has_same_key = false;
  bool is_alive = false;
  for (std::size_t later = 1; later < windows.size(); ++later) {
    for (std::size_t before = 0; before < later; ++before) {
      if (windows[before].rkey != windows[later].rkey) continue;
      has_same_key = true;
      is_alive = is_alive || overlap(windows[before], windows[later], length);
    }
  }
  Finding finding;
  const std::size_t fences = windows.size() - 1;
  finding.evidence = toml::table{{"fences", static_cast<std::int64_t>(fences)},
                                 {"reuses_keys", has_same_key},
                                 {"reuses_key_and_address", is_alive}};
  if (is_alive) {
    finding.level = Level::kFail;
    finding.seen = fmt::format(
        "an old token stays valid: in {} fences this NIC gave the same key for the same address "
        "again",
        fences);
    finding.advice =
        "set rdma.mode = \"off\" and report this: a late write can change bytes that were read";
  } else if (has_same_key) {
    finding.level = Level::kNote;
    finding.seen = fmt::format(
        "the NIC reuses keys ({} fences), but addresses differ, so old tokens are dead", fences);
  } else {
    finding.seen = fmt::format("the NIC makes a new key after each of {} fences", fences);
  }
  return finding;
}

}  // namespace s3rdmafs::daemon::doctor
