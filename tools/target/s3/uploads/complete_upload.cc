// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <span>

#include "s3rdmafs/base/log.h"
#include "target/digest/crc_combine.h"
#include "target/digest/etag.h"
#include "target/s3/operations.h"
#include "target/s3/uploads/multipart.h"
#include "target/s3/uploads/upload.h"
#include "target/s3/xml.h"
#include "target/store/copy_bytes.h"

namespace s3rdmafs::target {
namespace {

/// Compares the client's list with what was stored. Errors: S3's, for each way they can differ.
S3Result<std::vector<StoredPart>> choose_parts(const Services& services,
                                               const MultipartUpload& upload,
                                               const std::string& body) {
  pugi::xml_document document;
  if (auto parsed = parse_xml(document, body, "CompleteMultipartUpload"); !parsed) {
    return pass_on(parsed);
  }
  auto stored = upload.parts();
  if (!stored) return pass_on(stored);
  std::vector<StoredPart> chosen;
  for (const pugi::xml_node listed : document.document_element().children("Part")) {
    const unsigned number = listed.child("PartNumber").text().as_uint();
    if (number < 1 || number > kPartNumberMax) return refuse(kInvalidPart);
    if (!chosen.empty() && number <= chosen.back().number) return refuse(kInvalidPartOrder);
    const auto part = std::ranges::lower_bound(*stored, number, {}, &StoredPart::number);
    const std::string_view etag = listed.child("ETag").text().get();
    if (part == stored->end() || part->number != number || unquoted(etag) != part->etag) {
      return refuse(kInvalidPart, fmt::format("Part {} was not uploaded with this ETag.", number));
    }
    if (upload.plan().checksum && services.behaviour.compares_checksums) {
      const std::string element = checksum_element(upload.plan().checksum->kind);
      const std::string_view claimed = listed.child(element.c_str()).text().get();
      if (!claimed.empty() && from_base64(claimed) != from_hex(part->checksum_hex)) {
        return refuse(kInvalidPart, fmt::format("Part {} has another checksum.", number));
      }
    }
    chosen.push_back(*part);
  }
  if (chosen.empty()) return refuse(kMalformedXml, "No <Part> to complete the upload from.");
  for (std::size_t i = 0; i + 1 < chosen.size(); ++i) {
    if (chosen[i].size_bytes < kPartMinBytes) {
      return refuse(kEntityTooSmall,
                    fmt::format("Part {} has {} bytes; all but the last need {}.", chosen[i].number,
                                chosen[i].size_bytes, kPartMinBytes));
    }
  }
  return chosen;
}

std::string etag_of(const Services& services, const std::vector<StoredPart>& parts) {
  std::vector<EtagPart> etags;
  etags.reserve(parts.size());
  for (const StoredPart& part : parts) {
    etags.push_back({.etag = part.etag, .size_bytes = part.size_bytes});
  }
  return multipart_etag(services.etags, etags);
}

std::string object_checksum(const UploadChecksum& plan, const std::vector<StoredPart>& parts) {
  if (!plan.is_composite) {
    std::string whole = from_hex(parts.front().checksum_hex).value_or("");
    for (std::size_t i = 1; i < parts.size(); ++i) {
      whole = combine_crc(plan.kind, whole, from_hex(parts[i].checksum_hex).value_or(""),
                          parts[i].size_bytes)
                  .value_or("");
    }
    return to_base64(whole);
  }
  Checksum of_checksums(plan.kind);
  for (const StoredPart& part : parts) {
    const std::string raw = from_hex(part.checksum_hex).value_or("");
    of_checksums.update(std::as_bytes(std::span(raw)));
  }
  return fmt::format("{}-{}", to_base64(of_checksums.finish()), parts.size());
}

S3Result<Metadata> describe(const Services& services, const Call& call,
                            const MultipartUpload& upload, const std::vector<StoredPart>& parts) {
  Metadata metadata;
  metadata.headers = upload.plan().headers;
  for (const StoredPart& part : parts) metadata.part_sizes.push_back(part.size_bytes);
  const std::uint64_t size_bytes =
      std::accumulate(metadata.part_sizes.begin(), metadata.part_sizes.end(), std::uint64_t{0});
  metadata.etag = object_etag(services, etag_of(services, parts), size_bytes);
  if (const auto& plan = upload.plan().checksum; plan && services.behaviour.compares_checksums) {
    const std::string_view header = checksum_header(plan->kind);
    const std::string computed = object_checksum(*plan, parts);
    const auto claimed = call.request.header(header);
    if (claimed && *claimed != computed) {
      return refuse(kBadDigest, fmt::format("The parts do not make up {}.", header));
    }
    metadata.checksums.emplace_back(header, computed);
    metadata.checksums_are_composite = plan->is_composite;
  }
  return metadata;
}

S3Result<void> assemble(const Services& services, const Call& call, const MultipartUpload& upload,
                        const std::vector<StoredPart>& parts, Metadata& metadata) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  if (auto shared = upload.shared_file(parts)) {
    auto published = publish_object(services, call, *bucket, *shared, metadata, KeyChange::kPut);
    if (!published) shared->keep();
    return published;
  }
  auto file = services.store.stage_file();
  if (!file) return pass_on(file);
  for (const StoredPart& part : parts) {
    auto bytes = upload.open_part(part);
    if (!bytes) return pass_on(bytes);
    auto copied = append_range(bytes->fd.get(), bytes->offset_bytes, part.size_bytes, file->fd());
    if (!copied) return copied;
  }
  return publish_object(services, call, *bucket, *file, metadata, KeyChange::kPut);
}

}  // namespace

S3Result<Response> complete_multipart_upload(const Services& services, const Call& call) {
  if (auto good = check_upload_headers(services, call.request); !good) return pass_on(good);
  auto upload = open_upload(services, call);
  if (!upload) return pass_on(upload);
  auto parts = choose_parts(services, *upload, call.document);
  if (!parts) return pass_on(parts);
  auto metadata = describe(services, call, *upload, *parts);
  if (!metadata) return pass_on(metadata);
  if (auto claimed = upload->claim(); !claimed) return pass_on(claimed);
  if (auto assembled = assemble(services, call, *upload, *parts, *metadata); !assembled) {
    upload->release();
    return pass_on(assembled);
  }
  upload->remove();

  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, "CompleteMultipartUploadResult");
  add_text(root, "Location", call.request.encoded_path);
  add_text(root, "Bucket", call.bucket);
  add_text(root, "Key", call.key);
  add_text(root, "ETag", quoted_etag(metadata->etag));
  if (const auto& plan = upload->plan().checksum; plan && !metadata->checksums.empty()) {
    add_text(root, checksum_element(plan->kind).c_str(), metadata->checksums.front().second);
    add_text(root, "ChecksumType", plan->is_composite ? "COMPOSITE" : "FULL_OBJECT");
  }
  return xml_response(document);
}

}  // namespace s3rdmafs::target
