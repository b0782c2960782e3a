// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace s3rdmafs::rdma {

/// The answer to one request with an x-amz-rdma-token: facts only, so that the rule needs
/// no HTTP library. The answer was complete; a broken exchange never gets here. Borrows its text.
struct ReplyFacts {
  int http_status = 0;
  std::optional<std::string_view> reply;              ///< x-amz-rdma-reply, as received
  std::optional<std::string_view> bytes_transferred;  ///< "N" or "N/total", as received
  std::uint64_t body_bytes = 0;                       ///< of the HTTP body that arrived
  std::uint64_t expected_bytes = 0;                   ///< what the token's window holds; at least 1
  std::string_view s3_error_code = {};                ///< of the error document; empty: none
  /// Of the answer's Content-Length header; nothing: it had none.
  std::optional<std::uint64_t> content_length = {};
  /// GET: success needs no count if Content-Length is 0 (rdma.byte_count = "optional"). The request
  /// must have had a Range, so that there is but one length to mean.
  bool is_count_optional = false;
};

/// The meaning of such an answer.
enum class Verdict {
  kDoneByRdma,         ///< the window holds (GET) or the server took (PUT) exactly the bytes
  kBodyCarriesData,    ///< GET: the HTTP body is the data, all of it
  kRetryWithoutToken,  ///< the server would not or did not: the same request by HTTP
  kTokenRejected,      ///< as above, and the server takes no token of ours: a configuration fault
  kTransferFailed,     ///< the server tried and failed: again, better without the token
  kTruncated,          ///< fewer bytes than asked for
  kCorrupt,            ///< the answer contradicts itself: these bytes must not be used
  kS3Error,            ///< an ordinary S3 error that has nothing to do with the token
};

struct Decision {
  Verdict verdict;
  std::string_view reason;  ///< a fixed word, good as a metric's label: "declined"
};

/// The client's decision rule, told in s3rdmafs-protocol(7); every peer's behaviour there
/// is a row of tests/unit/rdma/reply_rule_test.cc. Reentrant.
///
/// Success needs the reply header *and* the byte count, unless the mount file says otherwise: some
/// servers never send a count. A reply's number need not equal the HTTP status: versitygw answers
/// HTTP 206 with reply 200.
[[nodiscard]] Decision judge_get(const ReplyFacts& facts);

/// The same for PUT and UploadPart, whose body was empty. A server without RDMA answers plain 200
/// and has then stored an object of zero bytes: the reason is "stored_empty", and the caller must
/// repair the object.
[[nodiscard]] Decision judge_put(const ReplyFacts& facts);

}  // namespace s3rdmafs::rdma
