// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cerrno>

#include "s3rdmafs/base/log.h"
#include "target/s3/conditions.h"
#include "target/s3/uploads/body_upload.h"
#include "target/s3/xml.h"
#include "target/store/key_path.h"

namespace s3rdmafs::target {
namespace {

class PutObject final : public BodyUpload {
 public:
  PutObject(const Services& services, const Call& call, Bucket bucket, UploadBody body,
            std::optional<RdmaProposal> proposal)
      : BodyUpload(services, call, std::move(body), std::move(proposal)),
        bucket_(std::move(bucket)) {}

  S3Result<void> receive(std::span<const std::byte> bytes) override {
    if (call().key.ends_with('/')) {
      return refuse(kInvalidArgument,
                    "This server keeps objects as files: a key that ends in \"/\" is a folder and "
                    "cannot have content.");
    }
    return BodyUpload::receive(bytes);
  }

 private:
  S3Result<Response> store(const BodySummary& summary) override {
    Metadata metadata;
    metadata.headers = kept_headers(call().request);
    metadata.etag = object_etag(services(), encrypted_digest(metadata.headers, summary.etag),
                                summary.size_bytes);
    if (services().behaviour.compares_checksums) metadata.checksums = summary.checksums;
    if (auto stored =
            publish_object(services(), call(), bucket_, body().file(), metadata, KeyChange::kPut);
        !stored) {
      return pass_on(stored);
    }
    Response response;
    response.set("ETag", quoted_etag(metadata.etag));
    for (const auto& [name, value] : metadata.checksums) response.set(name, value);
    if (!metadata.checksums.empty()) response.set("x-amz-checksum-type", "FULL_OBJECT");
    return response;
  }

  Bucket bucket_;
};

}  // namespace

S3Result<void> publish_object(const Services& services, const Call& call, const Bucket& bucket,
                              StagedFile& file, Metadata& metadata, KeyChange change) {
  auto conditions = write_conditions(services.behaviour, call.request, change);
  if (!conditions) return pass_on(conditions);
  const std::string& key = call.key;
  const bool is_folder = key.ends_with('/');
  if (!is_folder) {
    if (auto saved = save_metadata(file.fd(), metadata); !saved) return saved;
  }
  {
    const MutexLock lock(services.store.key_locks().of(call.bucket, key));
    if (conditions->if_match) {
      auto current = bucket.open_object(key);
      if (!current) return pass_on(current);
      if (!etag_list_matches(*conditions->if_match, current->metadata.etag)) {
        return refuse(kPreconditionFailed);
      }
    }
    if (is_folder) {
      if (conditions->only_if_absent && bucket.open_object(key)) return refuse(kPreconditionFailed);
      return bucket.put_folder(key, metadata);
    }
    if (auto put = bucket.put(key, file, conditions->only_if_absent); !put) return put;
  }
  // A file system without extended attributes keeps no ETag: then it is made from the identity of
  // the file, and the rename that published it has just changed that.
  struct stat status{};
  if (::fstat(file.fd(), &status) != 0) return refuse_errno("fstat", errno);
  metadata.etag = load_metadata(file.fd(), status).etag;
  return {};
}

S3Result<std::unique_ptr<Upload>> start_put_object(const Services& services, const Call& call) {
  if (auto good = check_new_key(call.key); !good) return pass_on(good);
  if (auto good = check_upload_headers(services, call.request); !good) return pass_on(good);
  auto proposal = RdmaProposal::read(services, call, FaultOperation::kPut);
  if (!proposal) return pass_on(proposal);
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  auto file = services.store.stage_file();
  if (!file) return pass_on(file);
  return std::make_unique<PutObject>(
      services, call, std::move(*bucket),
      UploadBody::start(services, call, std::nullopt, std::move(*file)), std::move(*proposal));
}

}  // namespace s3rdmafs::target
