// SPDX-License-Identifier: Apache-2.0
// A whole target over a folder of its own, without HTTP: requests go to the S3Handler as the HTTP
// library would hand them over.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "s3rdmafs/s3/sigv4.h"
#include "s3rdmafs/s3/uri.h"
#include "target/s3/s3_handler.h"

namespace s3rdmafs::target {

/// A folder that is gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "s3rdma-target-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TargetTest : public testing::Test {
 protected:
  static constexpr const char* kAccessKey = "AKIDTEST";
  static constexpr const char* kSecretKey = "secret";

  TargetTest() {
    Keys keys;
    EXPECT_TRUE(keys.add(std::string(kAccessKey) + ":" + kSecretKey));
    services_.emplace(Services{.store = Store::open(root_.path().string()).value(),
                               .keys = std::move(keys),
                               .region = {},
                               .domain = "s3.local",
                               .anonymous_read = false,
                               .terms = {},
                               .rdma = nullptr,
                               .clock = clock_,
                               .snapshots = snapshots_,
                               .traffic = traffic_});
  }

  /// The content of one request; `target` is path and query as on the wire.
  struct Ask {
    std::string method;
    std::string target;
    NameValues headers = {};
    std::string body = {};
    std::optional<std::string> payload_hash = {};  ///< the body's own if not given
    bool sign = true;
  };

  Request make_request(const Ask& ask) const {
    Request request;
    request.method = ask.method;
    const std::size_t question = std::min(ask.target.find('?'), ask.target.size());
    request.encoded_path = ask.target.substr(0, question);
    request.path = s3::uri_decode(request.encoded_path).value();
    request.query =
        parse_query(std::string_view(ask.target).substr(std::min(question + 1, ask.target.size())))
            .value();
    request.headers = ask.headers;
    request.headers.emplace_back("content-length", std::to_string(ask.body.size()));
    if (!request.header("host")) request.headers.emplace_back("host", "127.0.0.1:9000");
    if (ask.sign) sign(request, ask.payload_hash.value_or(s3::sha256_hex(ask.body)));
    return request;
  }

  /// Signs every header, as of the fake clock's time.
  void sign(Request& request, const std::string& payload_hash) const {
    const std::string amz_date = "20231114T221320Z";  // where FakeClock begins
    const s3::SigningScope scope{.date = "20231114", .region = "us-east-1"};
    request.headers.emplace_back("x-amz-date", amz_date);
    request.headers.emplace_back("x-amz-content-sha256", payload_hash);
    const s3::SignedRequest part{.method = request.method,
                                 .encoded_path = s3::uri_encode(request.path, true),
                                 .query = request.query,
                                 .headers = request.headers,
                                 .payload_hash = payload_hash};
    const std::string signature =
        s3::signature(s3::signing_key(kSecretKey, scope),
                      s3::string_to_sign(amz_date, scope, s3::canonical_request(part)));
    request.headers.emplace_back(
        "authorization",
        "AWS4-HMAC-SHA256 Credential=" + std::string(kAccessKey) + "/" + scope.to_string() +
            ", SignedHeaders=" + s3::signed_header_names(part) + ", Signature=" + signature);
  }

  Response send(const Ask& ask) { return send(make_request(ask), ask.body); }

  Response send(Request request, std::string_view body) {
    auto exchange = S3Handler(*services_).begin(std::move(request));
    if (!body.empty()) exchange->receive(std::as_bytes(std::span(body)));
    return exchange->finish();
  }

  static std::string header(const Response& response, std::string_view name) {
    for (const auto& [key, value] : response.headers) {
      if (key == name) return value;
    }
    return "";
  }

  static std::string body(const Response& response) {
    const auto* file = std::get_if<FileBody>(&response.body);
    if (file == nullptr) return std::get<std::string>(response.body);
    std::string text(file->length_bytes, '\0');
    EXPECT_EQ(
        ::pread(file->fd.get(), text.data(), text.size(), static_cast<off_t>(file->offset_bytes)),
        static_cast<ssize_t>(text.size()));
    return text;
  }

  /// The <Code> of an error's body.
  static std::string code(const Response& response) {
    return between(body(response), "<Code>", "</Code>");
  }

  static std::string between(const std::string& text, std::string_view from, std::string_view to) {
    const std::size_t begin = text.find(from);
    if (begin == std::string::npos) return "";
    const std::size_t inside = begin + from.size();
    return text.substr(inside, text.find(to, inside) - inside);
  }

  [[nodiscard]] std::filesystem::path folder(const std::string& name) const {
    return root_.path() / name;
  }

  TemporaryFolder root_;
  fakes::FakeClock clock_;
  SnapshotCache snapshots_{clock_};
  metrics::Registry registry_;
  Traffic traffic_{registry_};
  std::optional<Services> services_;
};

}  // namespace s3rdmafs::target
