// SPDX-License-Identifier: Apache-2.0
#include "credentials/sso_keys.h"

#include <array>
#include <cerrno>
#include <utility>

#include <openssl/evp.h>

#include "config/read_file.h"
#include "credentials/http_call.h"
#include "credentials/keys_document.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::credentials {
namespace {

// The AWS tools name the file by the SHA-1 of the session's name, or of the start URL.
std::string file_name_of(const std::string& cache_key) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  ::EVP_Digest(cache_key.data(), cache_key.size(), digest.data(), &length, ::EVP_sha1(), nullptr);
  std::string name;
  for (unsigned i = 0; i < length; ++i) name += fmt::format("{:02x}", digest.at(i));
  return name + ".json";
}

}  // namespace

std::unexpected<Error> SsoKeys::sign_in(std::string_view why) const {
  return fail(ErrorCode::kNoCredentials,
              fmt::format("{}; sign in: aws sso login --profile {}", why, source_.profile));
}

Result<std::string> SsoKeys::read_token() const {
  const auto file = source_.cache_folder / file_name_of(source_.cache_key);
  const auto contents = config::read_small_file(file);
  if (!contents) return sign_in(contents.error().detail);
  auto token = parse_sso_token(contents->text, file.string());
  if (!token) return std::unexpected(token.error());
  if (token->end <= clock_.wall_now()) return sign_in("the sign-in has ended");
  return std::move(token->text);
}

Result<FetchedKeys> SsoKeys::fetch(const std::stop_token& stop) {
  const auto token = read_token();
  if (!token) return std::unexpected(token.error());
  const std::string url = fmt::format("{}/federation/credentials?role_name={}&account_id={}",
                                      source_.portal_url, s3::uri_encode(source_.role_name, false),
                                      s3::uri_encode(source_.account_id, false));
  const auto answer =
      call_http({.url = url, .headers = {"x-amz-sso_bearer_token: " + *token}}, stop);
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 401) return sign_in("the portal does not take the sign-in");
  if (answer->status == 403) {
    return fail(ErrorCode::kAccessDenied,
                fmt::format("{}: the sign-in has no role {} of account {}", source_.portal_url,
                            source_.role_name, source_.account_id));
  }
  if (answer->status != 200) {
    return fail(ErrorCode::kUnreachable,
                fmt::format("{}: status {}", source_.portal_url, answer->status));
  }
  return parse_sso_keys(answer->body, source_.portal_url);
}

}  // namespace s3rdmafs::credentials
