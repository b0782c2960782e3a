// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::target {

/// The faults that can strike a request with a token. Each is consulted at one place
/// of s3/rdma.cc.
enum class FaultKind {
  kDelayRequest,        ///< before the request is read
  kDelayTransfer,       ///< before the transfer
  kDelayAnswer,         ///< after the transfer
  kCutBefore,           ///< the connection is cut, and nothing is moved
  kCutAfter,            ///< all is done, but the connection is cut before the answer
  kLateWrite,           ///< the connection is cut, and the transfer done some time later
  kDuplicateWrite,      ///< the transfer is done, the connection cut, the transfer done once more
  kDecline,             ///< reply 501, and a GET's body is the object
  kDeclineWithoutData,  ///< reply 501, and no body
  kError501,            ///< reply 501 beside the S3 error NotImplemented
  kCorrupt,             ///< one byte changes on the way, and the answer does not say so
  kTruncate,            ///< GET: fewer bytes, and the reply says so
  kWrongCount,          ///< the reply's byte count differs from the bytes moved
  kSuccessWithBody,     ///< GET: a successful reply and a body as well
  kNoReply,             ///< done, but the answer does not say so
  kZeroStore,           ///< PUT: an empty object is stored and the answer says nothing of RDMA
  kGarbageToken,        ///< the reply holds a token, as hipObject's does, but a senseless one
};
inline constexpr std::size_t kFaultKinds = 17;

/// Which requests there are to go wrong.
enum class FaultOperation { kGet, kPut, kPart };

/// One kind as the command line knows it.
struct FaultDescription {
  enum class Argument { kNone, kDuration, kSize, kDifference };

  FaultKind kind;
  std::string_view name;
  Argument argument;
  std::int64_t standard;  ///< where no argument is given: milliseconds or bytes
};
[[nodiscard]] std::span<const FaultDescription> fault_descriptions();
[[nodiscard]] std::string_view fault_name(FaultKind kind);

/// One --fault: KIND[:ARG][@OPERATION][@COUNT].
struct Fault {
  FaultKind kind = FaultKind::kDecline;
  std::int64_t argument = 0;                ///< milliseconds or bytes, as the kind has it
  std::optional<FaultOperation> operation;  ///< nothing: all
  std::uint64_t first = 1;                  ///< the first request of that operation it strikes
  std::uint64_t step = 1;                   ///< and then every step-th; 0: no other

  [[nodiscard]] bool strikes(std::uint64_t request_number) const {
    if (request_number < first) return false;
    return step == 0 ? request_number == first : (request_number - first) % step == 0;
  }
};

/// OPERATION is get, put or part. COUNT is N (the N-th such request only), N+ (from the N-th on) or
/// /N (every N-th). Errors: kInvalidArgument, with the accepted forms.
[[nodiscard]] Result<Fault> parse_fault(std::string_view text);

}  // namespace s3rdmafs::target
