// SPDX-License-Identifier: Apache-2.0
#include "credentials/role_keys.h"

#include <utility>

#include <pugixml.hpp>

#include "config/read_file.h"
#include "credentials/http_call.h"
#include "credentials/keys_document.h"
#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/sigv4.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::credentials {
namespace {

constexpr std::string_view kFormType = "application/x-www-form-urlencoded; charset=utf-8";

/// The headers that sign the form.
std::vector<std::string> signed_headers(const Sts& sts, const std::string& form,
                                        const s3::Credentials& keys, const Clock& clock) {
  const std::string date = s3::amz_date(clock.wall_now());
  const s3::SigningScope scope{.date = date.substr(0, 8), .region = sts.region, .service = "sts"};
  s3::SignedRequest request{
      .method = "POST",
      .encoded_path = "/",
      .query = {},
      .headers = {{"content-type", std::string(kFormType)}, {"x-amz-date", date}},
      .payload_hash = s3::sha256_hex(form)};
  if (!keys.session_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", keys.session_token);
  }
  std::vector<std::string> headers;
  for (const auto& [name, value] : request.headers) {
    if (name != "content-type") headers.push_back(fmt::format("{}: {}", name, value));
  }
  request.headers.emplace_back("host", s3::host_of_url(sts.url));
  headers.push_back("Authorization: " +
                    s3::authorization(request, keys.access_key_id,
                                      s3::signing_key(keys.secret_access_key, scope), date, scope));
  return headers;
}

/// The element of this name, wherever it stands: servers put it into different envelopes.
pugi::xml_node find_element(const pugi::xml_document& document, const char* name) {
  return document.find_node(
      [name](const pugi::xml_node& node) { return std::string_view(node.name()) == name; });
}

Result<FetchedKeys> read_answer(const Sts& sts, const HttpAnswer& answer) {
  pugi::xml_document document;
  const bool is_xml = static_cast<bool>(
      document.load_buffer(answer.body.data(), answer.body.size(), pugi::parse_default));
  if (answer.status != 200) {
    const pugi::xml_node error = find_element(document, "Error");
    const std::string said =
        fmt::format("{} {}", error.child_value("Code"), error.child_value("Message"));
    const bool is_throttled = std::string_view(error.child_value("Code")).starts_with("Throttl");
    return fail(is_throttled           ? ErrorCode::kThrottled
                : answer.status >= 500 ? ErrorCode::kUnreachable
                                       : ErrorCode::kAccessDenied,
                fmt::format("{}: status {}{}", sts.url, answer.status,
                            error ? ", " + said : std::string()));
  }
  const pugi::xml_node keys = find_element(document, "Credentials");
  FetchedKeys fetched{.keys = {.access_key_id = keys.child_value("AccessKeyId"),
                               .secret_access_key = keys.child_value("SecretAccessKey"),
                               .session_token = keys.child_value("SessionToken")}};
  if (!is_xml || fetched.keys.access_key_id.empty() || fetched.keys.secret_access_key.empty()) {
    return fail(ErrorCode::kProtocol, sts.url + ": the answer has no keys; is this an STS?");
  }
  const std::string_view end = keys.child_value("Expiration");
  if (end.empty()) return fetched;
  fetched.end = parse_time(end);
  if (!fetched.end) {
    return fail(ErrorCode::kProtocol, sts.url + ": the answer's Expiration is not a time");
  }
  return fetched;
}

Result<FetchedKeys> ask(const Sts& sts, std::string form, std::vector<std::string> headers,
                        const std::stop_token& stop) {
  headers.push_back("Content-Type: " + std::string(kFormType));
  const auto answer = call_http({.method = "POST",
                                 .url = sts.url + "/",
                                 .headers = std::move(headers),
                                 .body = std::move(form),
                                 .connection = sts.connection},
                                stop);
  if (!answer) return std::unexpected(answer.error());
  return read_answer(sts, *answer);
}

}  // namespace

Result<FetchedKeys> WebIdentityKeys::fetch(const std::stop_token& stop) {
  const auto file = config::read_small_file(source_.token_file);
  if (!file) return std::unexpected(file.error());
  const std::string token(ascii_trimmed(file->text));
  if (token.empty()) {
    return fail(ErrorCode::kConfig, source_.token_file.string() + ": the token file is empty");
  }
  return ask(sts_,
             s3::encode_fields({{"Action", "AssumeRoleWithWebIdentity"},
                                {"Version", "2011-06-15"},
                                {"RoleArn", source_.role_arn},
                                {"RoleSessionName", source_.session_name},
                                {"WebIdentityToken", token}}),
             {}, stop);
}

Result<FetchedKeys> RoleKeys::fetch(const std::stop_token& stop) {
  const auto signer = signer_->fetch(stop);
  if (!signer) return std::unexpected(signer.error());
  s3::NameValues fields{{"Action", "AssumeRole"},
                        {"Version", "2011-06-15"},
                        {"RoleArn", role_.role_arn},
                        {"RoleSessionName", role_.session_name}};
  if (!role_.external_id.empty()) fields.emplace_back("ExternalId", role_.external_id);
  std::string form = s3::encode_fields(fields);
  auto headers = signed_headers(sts_, form, signer->keys, clock_);
  return ask(sts_, std::move(form), std::move(headers), stop);
}

}  // namespace s3rdmafs::credentials
