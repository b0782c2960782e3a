// SPDX-License-Identifier: Apache-2.0
#include "config/text_checks.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>

#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

std::unexpected<Error> refuse(std::string_view text, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' {}", text, why));
}

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool consists_of(std::string_view text, std::string_view others) {
  return std::ranges::all_of(
      text, [&](char c) { return is_alphanumeric(c) || others.find(c) != std::string_view::npos; });
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && stop == text.data() + text.size() && port >= 1 && port <= 65535;
}

// A host name, an IPv4 address, or an IPv6 address in brackets (RFC 3986 section 3.2.2).
bool is_host(std::string_view text) {
  if (text.starts_with('[')) {
    return text.size() > 2 && text.ends_with(']') &&
           consists_of(text.substr(1, text.size() - 2), ":.%-");
  }
  return !text.empty() && consists_of(text, ".-_");
}

// An IPv6 address in brackets.
bool is_ip_address(std::string_view text) {
  const bool is_v6 = text.size() > 2 && text.starts_with('[') && text.ends_with(']');
  const std::string address(is_v6 ? text.substr(1, text.size() - 2) : text);
  in6_addr parsed{};
  return ::inet_pton(is_v6 ? AF_INET6 : AF_INET, address.c_str(), &parsed) == 1;
}

}  // namespace

Result<std::string> any_text(std::string_view text) { return std::string(text); }

Result<std::string> check_header_text(std::string_view text) {
  // Not shown: it may be a secret.
  if (std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7F; })) {
    return fail(ErrorCode::kInvalidArgument,
                "the value contains a line break or another control character; remove it");
  }
  return std::string(text);
}

// The looser rule that S3 had in us-east-1 before 2018 and other servers still have: 3 to 255
// letters, digits, ".", "-" and "_". The server itself refuses what its own rule does not allow.
Result<std::string> check_header_name(std::string_view text) {
  std::string name = ascii_lower(text);
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  if (name.empty() || name.find_first_not_of(kAllowed) != std::string::npos) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is not the name of a header; expected letters, digits and '-', such as "
                    "\"x-amz-rdma-token\"",
                    text));
  }
  return name;
}

Result<std::string> check_bucket_name(std::string_view text) {
  if (text.starts_with("s3://") || text.find('/') != std::string_view::npos) {
    return refuse(
        text, "is not a bucket name; give the name alone, and a prefix of keys in bucket.prefix");
  }
  if (text.size() < 3 || text.size() > 255 || !consists_of(text, ".-_") ||
      !is_alphanumeric(text.front()) || !is_alphanumeric(text.back())) {
    return refuse(text,
                  "is not a bucket name; expected 3 to 255 letters, digits, \".\", \"-\" or "
                  "\"_\", with a letter or digit at both ends");
  }
  return std::string(text);
}

Result<std::string> check_prefix(std::string_view text) {
  if (text.starts_with('/')) {
    return refuse(text, "begins with \"/\", as no key does; write it like \"data/train/\"");
  }
  // 1024 bytes is the longest key S3 has, and something must be left for the names below.
  if (text.size() > 1000) return refuse(text, "is longer than 1000 bytes");
  std::string prefix(text);
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  // Such a key could never be a path (see vfs/file_system.h), so the mount would stay empty.
  if (("/" + prefix).find("//") != std::string::npos ||
      ("/" + prefix).find("/./") != std::string::npos ||
      ("/" + prefix).find("/../") != std::string::npos) {
    return refuse(text, "has an empty, \".\" or \"..\" component, which no path can have");
  }
  return prefix;
}

Result<std::string> check_glob(std::string_view text) {
  if (text.ends_with('/')) text.remove_suffix(1);
  if (text.empty()) {
    return refuse(text, "is empty; expected a path or pattern below the mount point");
  }
  const std::string framed = (text.starts_with('/') ? "" : "/") + std::string(text) + "/";
  if (framed.find("//") != std::string::npos || framed.find("/./") != std::string::npos ||
      framed.find("/../") != std::string::npos) {
    return refuse(text, "has an empty, \".\" or \"..\" component, which no path can have");
  }
  return std::string(text);
}

Result<std::string> check_endpoint_url(std::string_view text) {
  constexpr std::string_view kExpected =
      "expected http:// or https://, a host and an optional port, such as "
      "\"https://s3.example.org:9000\"";
  std::string_view rest = text;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else {
    return refuse(text, fmt::format("does not begin with http:// or https://; {}", kExpected));
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#") != std::string_view::npos) {
    return refuse(text,
                  fmt::format("contains a path; the name of the bucket goes into bucket.name: {}",
                              kExpected));
  }
  if (rest.find('@') != std::string_view::npos) {
    return refuse("the URL",
                  fmt::format("contains a user name; keys go into [credentials]: {}", kExpected));
  }
  const std::size_t bracket = rest.find(']');
  const std::size_t colon = rest.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (!is_host(rest.substr(0, colon))) {
    return refuse(text, fmt::format("has no valid host; {}", kExpected));
  }
  if (colon != std::string_view::npos && !is_port(rest.substr(colon + 1))) {
    return refuse(text, fmt::format("has no valid port; {}", kExpected));
  }
  return std::string(text.substr(0, text.size() - (text.ends_with('/') ? 1 : 0)));
}

Result<std::string> check_optional_endpoint_url(std::string_view text) {
  return text.empty() ? std::string() : check_endpoint_url(text);
}

Result<std::string> check_proxy(std::string_view text) {
  if (text == "auto" || text == "none") return std::string(text);
  if (auto url = check_endpoint_url(text)) return url;
  // Not shown: it may have a password.
  return fail(
      ErrorCode::kInvalidArgument,
      "the value is not a proxy; expected \"auto\", \"none\", or http:// or https://, a host "
      "and an optional port, such as \"http://proxy.example.org:3128\"; a proxy with a "
      "password goes into https_proxy of the environment");
}

Result<std::string> check_account(std::string_view text) {
  // Amazon's have 12 digits; other servers have names of users in their place.
  if (!consists_of(text, "-_.$")) return refuse(text, "is not an account, such as 111122223333");
  return std::string(text);
}

Result<std::string> check_storage_class(std::string_view text) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (text.find_first_not_of(kAllowed) != std::string_view::npos) {
    return refuse(text,
                  "is not a storage class; expected capital letters, such as \"STANDARD_IA\"");
  }
  return std::string(text);
}

Result<std::string> check_customer_key(std::string_view text) {
  if (text.empty()) return std::string();
  // 32 bytes are ten groups of three and one of two, which has one "=".
  constexpr std::size_t kLength = 44;
  if (text.size() == kLength && text.ends_with('=') &&
      consists_of(text.substr(0, kLength - 1), "+/")) {
    return std::string(text);
  }
  return fail(ErrorCode::kInvalidArgument,
              "the value is not 32 bytes in base64; make a key with `openssl rand -base64 32`");
}

Result<std::string> check_region(std::string_view text) {
  if (text.empty() || !consists_of(text, "-_")) {
    return refuse(text,
                  "is not a region; expected letters, digits and \"-\", such as \"us-east-1\"");
  }
  return std::string(text);
}

Result<std::string> check_path(std::string_view text) {
  if (!text.empty() && !text.starts_with('/')) {
    return refuse(text, "is not an absolute path; begin it with \"/\"");
  }
  return std::string(text);
}

Result<std::string> check_folder(std::string_view text) {
  if (text != "auto" && !text.starts_with('/')) {
    return refuse(text, "is not a folder; expected \"auto\" or an absolute path");
  }
  return std::string(text);
}

Result<std::string> check_socket(std::string_view text) {
  if (text != "auto" && !text.starts_with('/') && !(text.starts_with('@') && text.size() > 1)) {
    return refuse(text, "is not a socket; expected \"auto\", an absolute path or \"@name\"");
  }
  if (text.size() >= sizeof(sockaddr_un::sun_path)) {
    return refuse(text, fmt::format("is longer than a socket's name can be ({} bytes)",
                                    sizeof(sockaddr_un::sun_path) - 1));
  }
  return std::string(text);
}

Result<std::string> check_gid_index(std::string_view text) {
  std::uint8_t index = 0;  // the range of an address handle
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (text == "auto" || text == "none" ||
      (error == std::errc() && end == text.data() + text.size())) {
    return std::string(text);
  }
  return refuse(
      text,
      "is not an index in a GID table; expected \"auto\", \"none\" or a number from 0 to 255");
}

Result<std::string> check_rails(std::string_view text) {
  std::string rails(text);
  std::erase(rails, ' ');
  std::string_view rest = rails;
  while (true) {
    const std::string_view rail = rest.substr(0, rest.find(','));
    // The characters of device names and of both kinds of IP address.
    if (rail.empty() || !consists_of(rail, "_-.:")) {
      return refuse(text,
                    "is not a list of rails; expected \"auto\", or devices and addresses separated "
                    "by commas, "
                    "such as \"mlx5_0,mlx5_1:2,192.0.2.7\"");
    }
    if (rail.size() == rest.size()) return rails;
    rest.remove_prefix(rail.size() + 1);
  }
}

Result<std::string> check_listen_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) {
    const std::string_view path = text.substr(kUnix.size());
    if (!path.starts_with('/') || path.size() >= sizeof(sockaddr_un::sun_path)) {
      return refuse(text,
                    fmt::format("has no socket; expected \"unix:\" and an absolute path of at "
                                "most {} bytes",
                                sizeof(sockaddr_un::sun_path) - 1));
    }
    return std::string(text);
  }
  const std::size_t colon = text.rfind(':');
  const bool is_address = colon != std::string_view::npos && is_ip_address(text.substr(0, colon)) &&
                          is_port(text.substr(colon + 1));
  if (!text.empty() && !is_address) {
    return refuse(text,
                  "is nothing to listen on; expected an IP address and a port (\"127.0.0.1:9464\", "
                  "\"[::1]:9464\") or \"unix:/PATH\"");
  }
  return std::string(text);
}

Result<std::string> check_log_level(std::string_view text) {
  constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warn", "error"};
  if (std::ranges::find(kLevels, text) == std::end(kLevels)) {
    return refuse(text, "is not a level; expected trace, debug, info, warn or error");
  }
  return std::string(text);
}

}  // namespace s3rdmafs::config
