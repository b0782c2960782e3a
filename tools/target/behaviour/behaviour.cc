// SPDX-License-Identifier: Apache-2.0
#include "target/behaviour/behaviour.h"

#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

// NooBaa's own codes, as its source has them.
constexpr S3Code kNoobaaInvalidToken{"S3InvalidRdmaToken", 400, kInvalidRdmaToken.message};
constexpr S3Code kNoobaaNotSupported{"S3RdmaNotSupported", 501, kNotImplemented.message};
constexpr S3Code kNoobaaIoError{"S3RdmaIoError", 500, kRdmaTransferFailed.message};

// AIStor answers 500 to a token of another length, with both lengths in its message.
constexpr S3Code kAistorInvalidToken{"InternalError", 500, kInvalidRdmaToken.message};

// NooBaa keeps objects of this size in its database and never opens a buffer for them.
constexpr std::uint64_t kNoobaaInBodyBytesMax = 4 * kKiB;

constexpr std::array kBehaviours = std::to_array<Behaviour>({
    // The draft specification of October 2025.
    {.name = "spec"},
    // MinIO AIStor from RELEASE.2026-08-07T18-34-35Z on.
    {.name = "aistor",
     .has_bytes_on_put = false,
     .needs_part_checksum = true,
     .token_form = TokenForm::kLength81,
     .lists_uploads_by_exact_key = true,
     .renames = Renames::kIgnored,
     .decline = DeclineStyle::kReply501WithError,
     .bad_token = kAistorInvalidToken},
    {.name = "noobaa",
     .agent = "cuobj",
     .sends_empty_by_rdma = true,
     .in_body_bytes_max = kNoobaaInBodyBytesMax,
     .oversize = Oversize::kTruncated,
     .token_form = TokenForm::kWidths,
     .compares_checksums = false,
     .decline = DeclineStyle::kError,
     .declined = kNoobaaNotSupported,
     .bad_token = kNoobaaInvalidToken,
     .transfer_failed = kNoobaaIoError},
    // Its limit is libcuobjserver's for one operation.
    {.name = "versitygw",
     .always_replies_200 = true,
     .takes_parts = false,
     .transfer_bytes_max = kGiB,
     .token_form = TokenForm::kTwoHexFields,
     .decline = DeclineStyle::kError,
     .bad_token = kInvalidRequest,
     .too_long = kInternalError,
     .transfer_failed = kInternalError},
    // Dell ObjectScale: whatever fails is HTTP 500 without a word about RDMA.
    {.name = "ecs",
     .token_header = "x-rdma-info",
     .has_bytes_on_get = false,
     .has_bytes_on_put = false,
     .always_replies_200 = true,
     .decline = DeclineStyle::kError,
     .declined = kInternalError,
     .bad_token = kInternalError,
     .too_long = kInternalError,
     .transfer_failed = kInternalError},
    // HyperStore: its own client requires the count of a GET only.
    {.name = "cloudian", .has_bytes_on_put = false},
    {.name = "scality", .token_header = "x-scal-rdma"},
    // An emulated NIC's server (ROCm/rocm-ernic #154), for clients of hipObject.
    {.name = "rocm-ernic", .bytes_header = "x-amz-rdma-bytes", .token_form = TokenForm::kHipObject},
    // The proposal of Ceph's pull request #71209.
    {.name = "ceph-osd-direct", .stripe_bytes = kMiB},
    // Servers whose S3 differs.
    {.name = "weak-etags", .has_weak_etags = true},
    {.name = "no-delimiter", .ignores_delimiter = true},
    {.name = "repeated-tokens", .repeats_tokens = true},
    // Servers that compare fewer conditions, or copy less.
    {.name = "no-if-match", .if_match = Conditions::kIgnored},
    {.name = "put-conditions-only", .only_puts_compare = true},
    {.name = "no-conditions",
     .if_match = Conditions::kIgnored,
     .if_none_match = Conditions::kIgnored,
     .renames = Renames::kIgnored},
    {.name = "refused-conditions",
     .if_match = Conditions::kRefused,
     .if_none_match = Conditions::kRefused},
    {.name = "no-part-copy", .copies_parts = false},
    // Amazon S3 for directory buckets, and SeaweedFS since August 2026.
    {.name = "rename-object", .renames = Renames::kServed},
    // Any S3 server without RDMA: the object in the body of a GET, an empty object for a PUT.
    {.name = "plain", .ignores_tokens = true, .renames = Renames::kIgnored},
});

}  // namespace

std::span<const Behaviour> behaviours() { return kBehaviours; }

std::optional<Behaviour> find_behaviour(std::string_view name) {
  const auto* found = std::ranges::find(kBehaviours, name, &Behaviour::name);
  if (found == kBehaviours.end()) return std::nullopt;
  return *found;
}

std::string behaviour_names() {
  return fmt::format("{}", fmt::join(std::views::transform(kBehaviours, &Behaviour::name), ", "));
}

}  // namespace s3rdmafs::target
