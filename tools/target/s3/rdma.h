// SPDX-License-Identifier: Apache-2.0
// The server's side of s3rdmafs-protocol(7): the headers, under the chosen behaviour and the faults
// that are switched on. The TransferService moves the bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "target/faults/faults.h"
#include "target/s3/range.h"
#include "target/s3/services.h"
#include "target/s3/uploads/upload.h"

namespace s3rdmafs::target {

/// A request that proposes to move its bytes by RDMA. Used by one thread; borrows the call.
class RdmaProposal {
 public:
  /// Nothing where the request has no token, or this server ignores tokens.
  /// Errors: kAccessDenied if the signature does not cover the token (an attacker who changed it on
  /// the way would choose which memory is written); the behaviour's for a token it does not take;
  /// kNotImplemented for a part where it takes none; kInvalidRequest for a body beside the token.
  [[nodiscard]] static S3Result<std::optional<RdmaProposal>> read(const Services& services,
                                                                  const Call& call,
                                                                  FaultOperation operation);

  /// GET: moves the range into the window, or into the body where this server does so.
  /// @param response  the answer without RDMA, its body not yet set
  [[nodiscard]] S3Result<Response> get(OpenObject object, ByteRange range, Response response);

  /// How many bytes receive() will move, where that is known beforehand.
  [[nodiscard]] std::optional<std::uint64_t> expected_bytes() const;
  /// PUT, UploadPart: moves the window into `body`. Gives an answer where this server declines and
  /// nothing must be stored.
  [[nodiscard]] S3Result<std::optional<Response>> receive(UploadBody& body);
  /// Marks the answer of what receive() took.
  void mark_stored(Response& response, std::uint64_t size_bytes) const;

 private:
  RdmaProposal(const Services& services, const Call& call, std::string token)
      : services_(services), call_(call), token_(std::move(token)) {}

  [[nodiscard]] const Behaviour& behaviour() const { return services_.behaviour; }
  [[nodiscard]] bool declines() const;
  [[nodiscard]] S3Result<Response> decline(Response response) const;
  [[nodiscard]] Response in_body(OpenObject object, ByteRange range, Response response) const;
  [[nodiscard]] S3Result<Response> get_by_rdma(OpenObject object, ByteRange range,
                                               Response response);
  /// How much of a range goes by RDMA: what the token's window and a fault allow.
  [[nodiscard]] S3Result<std::uint64_t> length_by_rdma(std::uint64_t range_bytes) const;
  /// The length without its last stripe if that one is not whole, for a server with stripes.
  [[nodiscard]] std::uint64_t without_last_stripe(std::uint64_t length) const;
  [[nodiscard]] S3Result<std::uint64_t> window_size() const;
  /// Writes the range into the window, with one wrong byte if a fault wants it.
  [[nodiscard]] Result<void> write(int fd, ByteRange range) const;
  [[nodiscard]] Result<void> write_stripes(int fd, std::uint64_t file_offset,
                                           std::uint64_t length) const;
  [[nodiscard]] S3Result<void> transfer(const std::function<Result<void>()>& move);
  [[nodiscard]] std::unexpected<S3Error> refuse_transfer(const Error& error) const;
  void wait_if(FaultKind kind) const;
  void mark_done(Response& response, std::uint64_t bytes, bool has_count) const;

  const Services& services_;
  const Call& call_;
  std::string token_;
  bool is_served_here_ = true;  // false: a token of a NIC that this host has not
  FaultPlan plan_;
};

/// Whether UploadPart lacks the checksum that this server demands of it. Errors: kNotImplemented.
[[nodiscard]] S3Result<void> check_part_checksum(const Services& services, const Call& call,
                                                 std::optional<ChecksumKind> wanted);

}  // namespace s3rdmafs::target
