// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "s3rdmafs/s3/uri.h"
#include "target/s3/dates.h"
#include "target/s3/operation.h"
#include "target/s3/operations.h"
#include "target/s3/uploads/multipart.h"
#include "target/s3/xml.h"

namespace s3rdmafs::target {
namespace {

struct UploadQuery {
  std::string prefix, delimiter, key_marker, id_marker;
  std::uint64_t max = kPageEntriesMax;
  bool url_encoded = false;

  /// Whether an upload stands on an earlier page.
  [[nodiscard]] bool is_before(const MultipartUpload& upload) const {
    const std::string& key = upload.plan().key;
    if (key != key_marker) return key < key_marker;
    return id_marker.empty();
  }
  [[nodiscard]] std::string shown(const std::string& key) const {
    return url_encoded ? s3::uri_encode(key, /*keep_slash=*/true) : key;
  }
};

/// The common prefix an upload is rolled up into; empty if it is listed itself.
std::string rolled_up(const UploadQuery& query, const std::string& key) {
  if (query.delimiter.empty()) return {};
  const std::size_t at = key.find(query.delimiter, query.prefix.size());
  return at == std::string::npos ? std::string() : key.substr(0, at + query.delimiter.size());
}

void add_upload(pugi::xml_node root, const UploadQuery& query, const MultipartUpload& upload) {
  pugi::xml_node node = root.append_child("Upload");
  add_text(node, "Key", query.shown(upload.plan().key));
  add_text(node, "UploadId", upload.id());
  add_owner(node, "Initiator");
  add_owner(node, "Owner");
  add_text(node, "StorageClass", "STANDARD");
  add_text(node, "Initiated", iso_date(upload.started()));
  if (upload.plan().checksum) {
    add_text(node, "ChecksumAlgorithm", checksum_algorithm(upload.plan().checksum->kind));
  }
}

/// Writes one page of uploads below `root`. Uploads are few: every page walks all of them.
void write_uploads(pugi::xml_node root, const UploadQuery& query,
                   const std::vector<MultipartUpload>& uploads) {
  std::vector<std::string> prefixes;
  const MultipartUpload* last = nullptr;
  std::uint64_t count = 0;
  bool is_truncated = false;
  // Of one key's uploads, those that follow the marker in the list.
  bool behind_id = query.id_marker.empty();
  for (const MultipartUpload& upload : uploads) {
    const std::string& key = upload.plan().key;
    if (!key.starts_with(query.prefix)) continue;
    if (!query.key_marker.empty() && query.is_before(upload)) continue;
    if (key == query.key_marker && !behind_id) {
      behind_id = upload.id() == query.id_marker;
      continue;
    }
    const std::string common = rolled_up(query, key);
    if (!common.empty() &&
        (common == query.key_marker || (!prefixes.empty() && prefixes.back() == common))) {
      continue;
    }
    if (count == query.max) {
      is_truncated = true;
      break;
    }
    ++count;
    last = &upload;
    if (common.empty()) {
      add_upload(root, query, upload);
    } else {
      prefixes.push_back(common);
    }
  }
  for (const std::string& common : prefixes) {
    add_text(root.append_child("CommonPrefixes"), "Prefix", query.shown(common));
  }
  add_bool(root, "IsTruncated", is_truncated);
  if (is_truncated && last != nullptr) {
    const std::string common = rolled_up(query, last->plan().key);
    add_text(root, "NextKeyMarker", query.shown(common.empty() ? last->plan().key : common));
    if (common.empty()) add_text(root, "NextUploadIdMarker", last->id());
  }
}

}  // namespace

S3Result<Response> list_multipart_uploads(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  const auto text = [&](const char* name) { return call.request.parameter(name).value_or(""); };
  auto max = number_parameter(call.request, "max-uploads", kPageEntriesMax);
  if (!max) return pass_on(max);
  const UploadQuery query{.prefix = text("prefix"),
                          .delimiter = text("delimiter"),
                          .key_marker = text("key-marker"),
                          .id_marker = text("upload-id-marker"),
                          .max = std::min(*max, kPageEntriesMax),
                          .url_encoded = text("encoding-type") == "url"};
  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, "ListMultipartUploadsResult");
  add_text(root, "Bucket", call.bucket);
  add_text(root, "KeyMarker", query.shown(query.key_marker));
  add_text(root, "UploadIdMarker", query.id_marker);
  if (!query.prefix.empty()) add_text(root, "Prefix", query.shown(query.prefix));
  if (!query.delimiter.empty()) add_text(root, "Delimiter", query.shown(query.delimiter));
  add_number(root, "MaxUploads", query.max);
  if (query.url_encoded) add_text(root, "EncodingType", "url");
  auto uploads = MultipartUpload::list(services.store, call.bucket);
  if (services.behaviour.lists_uploads_by_exact_key) {
    std::erase_if(uploads,
                  [&](const MultipartUpload& upload) { return upload.plan().key != query.prefix; });
  }
  write_uploads(root, query, uploads);
  return xml_response(document);
}

S3Result<Response> list_parts(const Services& services, const Call& call) {
  auto upload = open_upload(services, call);
  if (!upload) return pass_on(upload);
  auto parts = upload->parts();
  if (!parts) return pass_on(parts);
  auto max = number_parameter(call.request, "max-parts", kPageEntriesMax);
  if (!max) return pass_on(max);
  auto marker = number_parameter(call.request, "part-number-marker", 0);
  if (!marker) return pass_on(marker);
  std::erase_if(*parts, [&](const StoredPart& part) { return part.number <= *marker; });
  const std::size_t page = std::min<std::uint64_t>({*max, kPageEntriesMax, parts->size()});

  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, "ListPartsResult");
  add_text(root, "Bucket", call.bucket);
  add_text(root, "Key", call.key);
  add_text(root, "UploadId", upload->id());
  add_owner(root, "Initiator");
  add_owner(root, "Owner");
  add_text(root, "StorageClass", "STANDARD");
  add_number(root, "PartNumberMarker", *marker);
  add_number(root, "MaxParts", std::min(*max, kPageEntriesMax));
  add_bool(root, "IsTruncated", page < parts->size());
  if (page > 0) add_number(root, "NextPartNumberMarker", (*parts)[page - 1].number);
  const auto& checksum = upload->plan().checksum;
  if (checksum) {
    add_text(root, "ChecksumAlgorithm", checksum_algorithm(checksum->kind));
    add_text(root, "ChecksumType", checksum->is_composite ? "COMPOSITE" : "FULL_OBJECT");
  }
  for (const StoredPart& part : std::span(*parts).first(page)) {
    pugi::xml_node node = root.append_child("Part");
    add_number(node, "PartNumber", part.number);
    add_text(node, "LastModified", iso_date(part.modified));
    add_text(node, "ETag", quoted_etag(part.etag));
    add_number(node, "Size", part.size_bytes);
    if (checksum && !part.checksum_hex.empty()) {
      add_text(node, checksum_element(checksum->kind).c_str(),
               to_base64(from_hex(part.checksum_hex).value_or("")));
    }
  }
  return xml_response(document);
}

}  // namespace s3rdmafs::target
