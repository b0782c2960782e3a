// SPDX-License-Identifier: Apache-2.0
// A target whose clients' memory are strings, for tests of requests that carry a token.
#pragma once

#include <ostream>
#include <string>
#include <utility>

#include "fakes/rdma/fake_transfer_service.h"
#include "target_fixture.h"

namespace s3rdmafs::target {

class RdmaTargetTest : public TargetTest {
 protected:
  // In the form of this server's own fabrics, which every behaviour takes.
  static constexpr const char* kToken = "shm:window";

  RdmaTargetTest() {
    write_file(folder("bucket/key"), "0123456789");
    write_file(folder("bucket/empty"), "");
    services_->rdma = &service_;
    services_->faults = &faults_;
  }

  void behave_as(std::string_view name) { services_->behaviour = find_behaviour(name).value(); }

  Response request(const std::string& method, const std::string& target, const std::string& token,
                   NameValues headers = {}) {
    headers.emplace_back(services_->behaviour.token_header, token);
    Request made = make_request({.method = method,
                                 .target = target,
                                 .headers = std::move(headers),
                                 .payload_hash = std::string(s3::kUnsignedPayload)});
    made.hang_up = [this] { ++hang_ups_; };
    return send(std::move(made), "");
  }
  Response get(const std::string& token, NameValues headers = {}) {
    return request("GET", "/bucket/key", token, std::move(headers));
  }
  Response put(const std::string& token, NameValues headers = {}) {
    return request("PUT", "/bucket/new", token, std::move(headers));
  }

  /// Begins an upload of /bucket/new and returns the address of its first part.
  std::string part_address(NameValues headers = {}) {
    const Response begun =
        send({.method = "POST", .target = "/bucket/new?uploads", .headers = std::move(headers)});
    return "/bucket/new?partNumber=1&uploadId=" + between(body(begun), "<UploadId>", "</UploadId>");
  }

  /// An answer, as far as a client learns from it what became of the transfer.
  struct Told {
    int status;
    std::string reply, count;
    bool operator==(const Told&) const = default;
    friend void PrintTo(const Told& told, std::ostream* out) {
      *out << "HTTP " << told.status << ", reply '" << told.reply << "', count '" << told.count
           << "'";
    }
  };
  static Told told(const Response& response) {
    return {response.status, reply(response), count(response)};
  }
  /// The answer to a GET that has the object in its body.
  Told get_in_body(const std::string& token) {
    const Response response = get(token);
    EXPECT_EQ(body(response), "0123456789");
    return told(response);
  }
  static std::string reply(const Response& response) {
    return header(response, "x-amz-rdma-reply");
  }
  static std::string count(const Response& response) {
    return header(response, "x-amz-rdma-bytes-transferred");
  }
  [[nodiscard]] bool is_stored() const { return std::filesystem::exists(folder("bucket/new")); }

  fakes::FakeTransferService service_;
  Faults faults_{registry_};
  int hang_ups_ = 0;
};

}  // namespace s3rdmafs::target
