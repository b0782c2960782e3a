// SPDX-License-Identifier: Apache-2.0
//
// How the source is written. The reference shows both "/KEY" and "BUCKET/KEY". Its examples, AWS's
// own Mountpoint and SeaweedFS take the first, which cannot name another object; a server that
// takes the value for a bucket and a key finds a version that does not match.
#include "s3/exchanges/rename/rename_request.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::s3 {

std::string new_client_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

Result<HttpRequest> build_rename(Endpoint& endpoint, std::string_view source, std::string_view key,
                                 const std::string& client_token, NameValues more) {
  RequestSpec spec{.method = HttpMethod::kPut,
                   .key = key,
                   .query = {{"renameObject", ""}},
                   .headers = std::move(more)};
  spec.headers.emplace_back("x-amz-rename-source", "/" + uri_encode(source, /*keep_slash=*/true));
  spec.headers.emplace_back("x-amz-client-token", client_token);
  Result<HttpRequest> request = endpoint.builder.build(std::move(spec));
  if (request) {
    request->text_bytes_max = kErrorTextBytesMax;
    request->send_once = true;  // a resend by libcurl would hide that the first may have worked
  }
  return request;
}

bool refuses_rename(int http_status, const S3Error& error) {
  constexpr auto kCodes = std::to_array<std::string_view>(
      {"NotImplemented", "NotSupported", "MethodNotAllowed", "InvalidArgument", "InvalidRequest"});
  if (http_status == 501 || http_status == 405) return true;
  if (http_status != 400) return false;
  return error.code.empty() || std::ranges::find(kCodes, error.code) != kCodes.end();
}

}  // namespace s3rdmafs::s3
