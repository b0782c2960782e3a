// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/copy/copy_request.h"

#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::s3 {

NameValues copy_source_headers(const Endpoint& endpoint, const CopySource& source) {
  return {{"x-amz-copy-source", "/" + uri_encode(endpoint.builder.bucket(), /*keep_slash=*/false) +
                                    "/" + uri_encode(source.key, /*keep_slash=*/true)},
          {"x-amz-copy-source-if-match", quoted_etag(source.etag)}};
}

void finish_copy_request(HttpRequest& request, std::uint64_t length_bytes) {
  request.text_bytes_max = kErrorTextBytesMax;
  request.send_once = true;  // a resend by libcurl would hide that the first may have worked
  request.extra_time = copy_time(length_bytes);
}

S3Error copy_error(const HttpResponse& response) { return parse_error(response.text); }

bool is_copy_unsupported(const HttpResponse& response, const S3Error& error) {
  return response.status == 501 || response.status == 405 || error.code == "NotImplemented" ||
         error.code == "MethodNotAllowed";
}

}  // namespace s3rdmafs::s3
