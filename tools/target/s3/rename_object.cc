// SPDX-License-Identifier: Apache-2.0
// RenameObject. Source: Amazon S3 API reference, "RenameObject" (directory buckets, June 2025): the
// new key is in the address, the old one in a header; conditions of both; a token that makes a
// repetition harmless; an empty answer. ETag, metadata and times stay. Keys that end in "/" have
// none.
//
// The source is "/KEY", as in the reference's examples and as Mountpoint sends it. SeaweedFS, which
// also takes BUCKET/KEY, reads a literal key first too.
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"
#include "target/s3/conditions.h"
#include "target/s3/operations.h"
#include "target/store/key_path.h"

namespace s3rdmafs::target {
namespace {

constexpr std::size_t kTokenMax = 64;

S3Result<std::string> source_key(const Call& call) {
  const auto header = call.request.header("x-amz-rename-source");
  const auto decoded = header ? s3::uri_decode(*header) : Result<std::string>("");
  if (!decoded) return refuse(kInvalidArgument, "x-amz-rename-source cannot be decoded.");
  std::string key = *decoded;
  if (key.starts_with('/')) key.erase(0, 1);
  if (key.empty()) return refuse(kInvalidArgument, "x-amz-rename-source must be a key.");
  if (key.ends_with('/') || call.key.ends_with('/')) {
    return refuse(kInvalidRequest, "A key that ends in \"/\" cannot be renamed.");
  }
  if (key == call.key) return refuse(kInvalidRequest, "A key cannot be renamed to itself.");
  return key;
}

/// All that makes one request another one.
std::string request_text(const Call& call, const std::string& source) {
  std::string text = call.bucket + "\n" + call.key + "\n" + source;
  for (const char* const name : {"if-match", "if-none-match", "x-amz-rename-source-if-match",
                                 "x-amz-rename-source-if-none-match"}) {
    text += "\n" + call.request.header_or(name, "");
  }
  return text;
}

S3Result<void> rename_locked(const Call& call, const Bucket& bucket, const std::string& source,
                             const WriteConditions& conditions) {
  auto object = bucket.open_object(source);
  if (!object) return pass_on(object);
  if (auto good = check_conditions(call.request, "x-amz-rename-source-", object->metadata.etag,
                                   object->modified.tv_sec);
      !good) {
    return good;
  }
  if (conditions.if_match) {
    auto current = bucket.open_object(call.key);
    if (!current) return pass_on(current);
    if (!etag_list_matches(*conditions.if_match, current->metadata.etag)) {
      return refuse(kPreconditionFailed);
    }
  }
  // The ETag of a file that was not put here is made of its identity, which a rename changes.
  if (auto kept = save_metadata(object->fd.get(), object->metadata); !kept) return kept;
  return bucket.rename(source, call.key, conditions.only_if_absent);
}

}  // namespace

S3Result<Response> rename_object(const Services& services, const Call& call) {
  if (auto good = check_new_key(call.key); !good) return pass_on(good);
  auto source = source_key(call);
  if (!source) return pass_on(source);
  const std::string token = call.request.header_or("x-amz-client-token", "");
  if (token.size() > kTokenMax) return refuse(kInvalidArgument, "The client token is too long.");
  auto conditions = write_conditions(services.behaviour, call.request, KeyChange::kCopy);
  if (!conditions) return pass_on(conditions);
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  const std::string text = request_text(call, *source);
  const KeyPairLock lock(services.store.key_locks(), call.bucket, *source, call.key);
  RenameTokens& tokens = services.store.rename_tokens();
  const auto known = token.empty() ? RenameTokens::Known::kNew : tokens.find(token, text);
  if (known == RenameTokens::Known::kOtherRequest) return refuse(kIdempotencyParameterMismatch);
  if (known == RenameTokens::Known::kSameRequest) return Response{};
  if (auto renamed = rename_locked(call, *bucket, *source, *conditions); !renamed) {
    return pass_on(renamed);
  }
  if (!token.empty()) tokens.made(token, text);
  return Response{};
}

}  // namespace s3rdmafs::target
