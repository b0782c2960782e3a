// SPDX-License-Identifier: Apache-2.0
// gRPC and what it generates, ahead of this project's headers: abseil, which comes along, has
// macros with the names of those in s3rdmafs/base/thread_annotations.h. Include it in angle
// brackets, so that it stays first.
#pragma once

#include <csi.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#undef ACQUIRED_AFTER
#undef ACQUIRED_BEFORE
#undef EXCLUSIVE_LOCK_FUNCTION
#undef GUARDED_BY
#undef LOCK_RETURNED
#undef NO_THREAD_SAFETY_ANALYSIS
#undef PT_GUARDED_BY
#undef SCOPED_LOCKABLE
#undef UNLOCK_FUNCTION
