// SPDX-License-Identifier: Apache-2.0
#include "credentials/keys_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <string>

#include <nlohmann/json.hpp>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::credentials {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kYear2200 = 7'258'118'400;  // in seconds since 1970

/// A member that is a text; empty where it is null or not there. Errors: it is something else.
Result<std::string> text_in(const Json& object, const char* name, std::string_view where) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  return fail(ErrorCode::kProtocol, fmt::format("{}: {} is not a text", where, name));
}

/// Minutes east of Greenwich, of "Z", "+01:00" or "-0130"; nothing for other texts.
std::optional<int> offset_minutes(std::string_view text) {
  if (text == "Z" || text.empty()) return 0;
  std::string digits(text.substr(1));
  std::erase(digits, ':');
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  if ((text[0] != '+' && text[0] != '-') || digits.size() != 4 || !is_number) return std::nullopt;
  const int minutes = static_cast<int>(number / 100 * 60 + number % 100);
  return text[0] == '-' ? -minutes : minutes;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text) {
  const std::string whole(text);
  std::tm parts{};
  const char* rest = ::strptime(whole.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  if (*rest == '.') {
    ++rest;
    while (*rest >= '0' && *rest <= '9') ++rest;
  }
  const auto offset = offset_minutes(rest);
  if (!offset) return std::nullopt;
  // Keys "without" an end have the year 9999 or 1, which nanoseconds do not reach.
  const std::int64_t seconds = ::timegm(&parts) - std::int64_t{*offset} * 60;
  return std::chrono::system_clock::time_point(
      std::chrono::seconds(std::clamp(seconds, std::int64_t{0}, kYear2200)));
}

namespace {

Result<Json> parse_object(std::string_view json, std::string_view where) {
  Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (document.is_object()) return document;
  return fail(ErrorCode::kProtocol, fmt::format("{}: expected a JSON object with keys", where));
}

Result<FetchedKeys> keys_in(const Json& document, std::string_view where) {
  std::array<std::string, 5> texts;
  constexpr std::array kNames{"AccessKeyId", "SecretAccessKey", "SessionToken", "Token",
                              "Expiration"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    auto text = text_in(document, kNames[i], where);
    if (!text) return std::unexpected(std::move(text.error()));
    texts[i] = std::move(*text);
  }
  auto& [id, secret, session_token, token, end] = texts;
  if (id.empty() || secret.empty()) {
    return fail(ErrorCode::kProtocol,
                fmt::format("{}: it has no {}", where, id.empty() ? kNames[0] : kNames[1]));
  }
  FetchedKeys fetched{.keys = {.access_key_id = id,
                               .secret_access_key = secret,
                               .session_token = session_token.empty() ? token : session_token}};
  if (end.empty()) return fetched;
  fetched.end = parse_time(end);
  if (!fetched.end) {
    return fail(ErrorCode::kProtocol,
                fmt::format("{}: Expiration is not a time, as in 2026-11-23T18:15:00Z", where));
  }
  return fetched;
}

}  // namespace

Result<FetchedKeys> parse_keys(std::string_view json, std::string_view where) {
  const auto document = parse_object(json, where);
  if (!document) return std::unexpected(document.error());
  return keys_in(*document, where);
}

Result<FetchedKeys> parse_process_keys(std::string_view json) {
  constexpr std::string_view kWhere = "credential_process";
  const auto document = parse_object(json, kWhere);
  if (!document) return std::unexpected(document.error());
  const auto version = document->find("Version");
  if (version == document->end() || !version->is_number_integer() || *version != 1) {
    return fail(ErrorCode::kProtocol, "credential_process: its output has no \"Version\": 1");
  }
  return keys_in(*document, kWhere);
}

Result<SsoToken> parse_sso_token(std::string_view json, std::string_view where) {
  const auto document = parse_object(json, where);
  if (!document) return std::unexpected(document.error());
  auto token = text_in(*document, "accessToken", where);
  const auto end = text_in(*document, "expiresAt", where);
  if (!token) return std::unexpected(token.error());
  if (!end) return std::unexpected(end.error());
  const auto ends_at = parse_time(*end);
  const bool is_one_line = token->find_first_of("\r\n") == std::string::npos;
  if (token->empty() || !is_one_line || !ends_at) {
    return fail(ErrorCode::kProtocol,
                fmt::format("{}: expected accessToken and expiresAt, the time of its end", where));
  }
  return SsoToken{.text = *std::move(token), .end = *ends_at};
}

Result<FetchedKeys> parse_sso_keys(std::string_view json, std::string_view where) {
  const auto document = parse_object(json, where);
  if (!document) return std::unexpected(document.error());
  const auto role = document->find("roleCredentials");
  if (role == document->end() || !role->is_object()) {
    return fail(ErrorCode::kProtocol, fmt::format("{}: it has no roleCredentials", where));
  }
  std::array<std::string, 3> texts;
  constexpr std::array kNames{"accessKeyId", "secretAccessKey", "sessionToken"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    auto text = text_in(*role, kNames.at(i), where);
    if (!text) return std::unexpected(text.error());
    if (text->empty()) {
      return fail(ErrorCode::kProtocol, fmt::format("{}: it has no {}", where, kNames.at(i)));
    }
    texts.at(i) = *std::move(text);
  }
  const auto end = role->find("expiration");
  if (end == role->end() || !end->is_number_integer()) {
    return fail(ErrorCode::kProtocol, fmt::format("{}: expiration is not a number", where));
  }
  const std::int64_t seconds =
      std::clamp(end->get<std::int64_t>() / 1000, std::int64_t{0}, kYear2200);
  return FetchedKeys{
      .keys = {.access_key_id = texts[0], .secret_access_key = texts[1], .session_token = texts[2]},
      .end = std::chrono::system_clock::time_point(std::chrono::seconds(seconds))};
}

}  // namespace s3rdmafs::credentials
