// SPDX-License-Identifier: Apache-2.0
// A target with a bucket, and multipart uploads to it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "target_fixture.h"

namespace s3rdmafs::target {

class UploadsTest : public TargetTest {
 protected:
  using Listed = std::vector<std::pair<int, std::string>>;  ///< numbers and ETags

  UploadsTest() { std::filesystem::create_directories(folder("bucket")); }

  Response put(const std::string& key, const std::string& content, NameValues headers = {}) {
    return send({.method = "PUT",
                 .target = "/bucket/" + key,
                 .headers = std::move(headers),
                 .body = content});
  }
  /// Returns the id.
  std::string begin(NameValues headers = {}, const std::string& key = "big") {
    return between(body(send({.method = "POST",
                              .target = "/bucket/" + key + "?uploads",
                              .headers = std::move(headers)})),
                   "<UploadId>", "<");
  }
  Ask part(const std::string& id, int number, std::string content, NameValues headers = {},
           const std::string& key = "big") {
    return {
        .method = "PUT",
        .target = "/bucket/" + key + "?uploadId=" + id + "&partNumber=" + std::to_string(number),
        .headers = std::move(headers),
        .body = std::move(content)};
  }
  /// Returns the ETag.
  std::string put_part(const std::string& id, int number, const std::string& content) {
    return header(send(part(id, number, content)), "ETag");
  }
  Response complete(const std::string& id, const Listed& parts, NameValues headers = {},
                    const std::string& key = "big") {
    std::string xml = "<CompleteMultipartUpload>";
    for (const auto& [number, etag] : parts) {
      xml += "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>" + etag +
             "</ETag></Part>";
    }
    return send({.method = "POST",
                 .target = "/bucket/" + key + "?uploadId=" + id,
                 .headers = std::move(headers),
                 .body = xml + "</CompleteMultipartUpload>"});
  }
  const std::string large_ = std::string(5 * 1024 * 1024, 'a');  // the least that S3 takes
};

}  // namespace s3rdmafs::target
