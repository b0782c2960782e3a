// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "s3rdmafs/base/units.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// How a server says that it will not move a request's bytes by RDMA.
enum class DeclineStyle {
  kReply501,           ///< HTTP 200 and reply 501: a GET's body is the object, a PUT stored nothing
  kReply501WithError,  ///< reply 501 beside an S3 error: no object, no body
  kError,              ///< an S3 error without a reply header
};

/// The form that a server demands of tokens that no fabric of this host made, i.e. of NICs' tokens.
enum class TokenForm {
  kOpaque,        ///< nothing
  kTwoHexFields,  ///< the first two fields are hexadecimal numbers
  kLength81,      ///< exactly 81 characters
  kWidths,        ///< exactly 81 characters, each field with its width and in lower-case hex
  kHipObject,     ///< hipObject's endpoint of 88 digits, an address and a length: three fields
};

/// How a server treats If-Match, or If-None-Match, of a request that changes a key.
enum class Conditions {
  kCompared,
  kIgnored,  ///< in silence
  kRefused,  ///< HTTP 501
};

/// What a server makes of RenameObject (PUT ?renameObject).
enum class Renames {
  kServed,
  kRefused,  ///< HTTP 501
  kIgnored,  ///< in silence: it is a PUT of an empty object. So MinIO's router (cmd/api-router.go)
};

/// The answer to a GET that is longer than the token's window.
enum class Oversize {
  kRefused,
  kTruncated,  ///< silently min(window, range)
};

/// How one real server differs from the others where the protocol leaves it open: one row of
/// s3rdmafs-protocol(7), SERVERS. Where nothing is known of a server, the row says what the draft
/// specification says. Plain data; the code that consults it is s3/rdma.cc.
struct Behaviour {
  std::string_view name;

  // Headers.
  std::string_view token_header = "x-amz-rdma-token";
  std::string_view reply_header = "x-amz-rdma-reply";
  std::string_view bytes_header = "x-amz-rdma-bytes-transferred";
  std::string_view agent = {};  ///< the only x-amz-rdma-agent it takes, and echoes; empty: any
  bool has_bytes_on_get = true;
  bool has_bytes_on_put = true;

  // Success.
  bool always_replies_200 = false;   ///< else the reply is the HTTP status
  bool sends_empty_by_rdma = false;  ///< an empty object gets a reply header too

  // Operations without RDMA.
  bool ignores_tokens = false;          ///< a server that never heard of RDMA
  bool takes_parts = true;              ///< else UploadPart with a token is NotImplemented
  bool needs_part_checksum = false;     ///< where the upload was begun with an algorithm
  std::uint64_t in_body_bytes_max = 0;  ///< a GET of no more goes in the body, without reply header
  std::uint64_t transfer_bytes_max = std::numeric_limits<std::uint64_t>::max();
  /// Not 0: a GET that is longer is moved by a writer for each whole stripe, and what is left of
  /// it comes in the body, beside a reply header and the count of what was moved.
  std::uint64_t stripe_bytes = 0;
  Oversize oversize = Oversize::kRefused;
  TokenForm token_form = TokenForm::kOpaque;

  // Differences apart from RDMA.
  bool compares_checksums = true;  ///< else it neither compares nor keeps x-amz-checksum- headers
  bool has_weak_etags = false;     ///< size and second alone: they repeat
  bool ignores_delimiter = false;
  bool repeats_tokens = false;              ///< of listings: the next one is the one that was sent
  bool lists_uploads_by_exact_key = false;  ///< ListMultipartUploads takes its prefix for a key
  Conditions if_match = Conditions::kCompared;       ///< of all requests that change a key
  Conditions if_none_match = Conditions::kCompared;  ///< the same
  bool only_puts_compare = false;       ///< CopyObject and DeleteObject ignore both conditions
  bool copies_parts = true;             ///< else UploadPartCopy is NotImplemented
  Renames renames = Renames::kRefused;  ///< no server with RDMA is known to serve it

  // How it says so.
  DeclineStyle decline = DeclineStyle::kReply501;
  S3Code declined = kNotImplemented;  ///< of the styles with an error
  S3Code bad_token = kInvalidRdmaToken;
  S3Code too_long = kInvalidRdmaToken;  ///< more than transfer_bytes_max or the window
  S3Code transfer_failed = kRdmaTransferFailed;
};

/// Every behaviour there is; the first one is the default.
[[nodiscard]] std::span<const Behaviour> behaviours();

/// The one of that name. Nothing for an unknown name.
[[nodiscard]] std::optional<Behaviour> find_behaviour(std::string_view name);

/// "spec, aistor, ...", for help and errors.
[[nodiscard]] std::string behaviour_names();

}  // namespace s3rdmafs::target
