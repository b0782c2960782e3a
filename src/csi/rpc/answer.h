// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <csi/rpc/grpc.h>

#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::csi {

/// The status that the specification has for a failure.
[[nodiscard]] grpc::StatusCode status_code_of(ErrorCode code) noexcept;

/// The status of a call, which is logged where it failed.
/// @param call  its name
[[nodiscard]] grpc::Status answer_with(std::string_view call, std::string_view volume,
                                       const Result<void>& result);

/// When a call has to end: a little ahead of its caller's deadline, so that the caller still hears
/// why; 110 s at most, which is less than kubelet waits.
[[nodiscard]] Deadline deadline_of(const grpc::ServerContext& context, const Clock& clock);

}  // namespace s3rdmafs::csi
