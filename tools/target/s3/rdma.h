// SPDX-License-Identifier: Apache-2.0
// The server's side of protocol.md sections 1.2 to 1.4: what the headers say; the bytes are the
// TransferService's.
#pragma once

#include <optional>
#include <string>

#include "target/s3/services.h"

namespace s3rdmafs::target {

/// The token of a request that proposes RDMA. Errors: kAccessDenied if the signature does not cover
/// it (whoever changed it on the way would choose which memory is written).
[[nodiscard]] S3Result<std::optional<std::string>> rdma_token(const Call& call);

/// Whether no fabric here serves the token: the request is answered as if it had none, and says so.
[[nodiscard]] bool is_declined(const Services& services, const std::optional<std::string>& token);

/// How a failed transfer is told: InvalidRDMAToken or RDMATransferFailed.
[[nodiscard]] std::unexpected<S3Error> refuse_transfer(const Error& error);

/// Marks a response as done by RDMA.
void set_rdma_reply(Response& response, std::uint64_t bytes_transferred);
/// Marks a response as declined: the body carries the data (GET) or nothing was stored (PUT).
void set_rdma_declined(Response& response);

}  // namespace s3rdmafs::target
