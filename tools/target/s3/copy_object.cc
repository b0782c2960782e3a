// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/s3/uri.h"
#include "target/s3/conditions.h"
#include "target/s3/dates.h"
#include "target/s3/operations.h"
#include "target/s3/range.h"
#include "target/s3/uploads/copied_body.h"
#include "target/s3/uploads/multipart.h"
#include "target/s3/uploads/upload.h"
#include "target/s3/uploads/upload_part.h"
#include "target/s3/xml.h"
#include "target/store/key_path.h"

namespace s3rdmafs::target {
namespace {

struct Source {
  std::string bucket, key;
  OpenObject object;
};

S3Result<Source> open_source(const Services& services, const Call& call) {
  const std::string header = call.request.header_or("x-amz-copy-source", "");
  const std::size_t question = std::min(header.find('?'), header.size());
  if (question < header.size() && header.substr(question) != "?versionId=null") {
    return refuse(kNotImplemented, "This server keeps one version of an object.");
  }
  const auto decoded = s3::uri_decode(std::string_view(header).substr(0, question));
  if (!decoded) return refuse(kInvalidArgument, "x-amz-copy-source cannot be decoded.");
  std::string_view path = *decoded;
  if (path.starts_with('/')) path.remove_prefix(1);
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos || slash + 1 == path.size()) {
    return refuse(kInvalidArgument, "x-amz-copy-source must be BUCKET/KEY.");
  }
  Source source;
  source.bucket = path.substr(0, slash);
  source.key = path.substr(slash + 1);
  auto bucket = services.store.open_bucket(source.bucket);
  if (!bucket) return pass_on(bucket);
  auto object = bucket->open_object(source.key);
  if (!object) return pass_on(object);
  if (auto good = check_conditions(call.request, "x-amz-copy-source-", object->metadata.etag,
                                   object->modified.tv_sec);
      !good) {
    return pass_on(good);
  }
  const auto& kept = object->metadata.headers;
  if (auto good = check_customer_key(call.request, "x-amz-copy-source-", kept); !good) {
    return pass_on(good);
  }
  if (auto good = check_not_archived(kept); !good) return pass_on(good);
  source.object = std::move(*object);
  return source;
}

/// Encryption and storage class are the request's, whatever else is copied.
NameValues copied_headers(const Request& request, const Metadata& source, bool copies) {
  NameValues headers = kept_headers(request);
  if (!copies) return headers;
  std::erase_if(headers, [](const auto& header) { return !is_storage_header(header.first); });
  for (const auto& header : source.headers) {
    if (!is_storage_header(header.first)) headers.push_back(header);
  }
  return headers;
}

/// The checksum the copy gets: the one asked for, or of the source's kind.
std::optional<ChecksumKind> copy_checksum(const Request& request, const Metadata& source) {
  if (auto algorithm = request.header("x-amz-checksum-algorithm")) {
    return checksum_of_algorithm(*algorithm);
  }
  if (source.checksums.empty()) return std::nullopt;
  return checksum_of_header(source.checksums.front().first);
}

/// The length for MultipartUpload::stage_part(). A range that begins with a hole has a file of its
/// own, where the hole can stay one (append_range).
std::optional<std::uint64_t> placed_bytes(const OpenObject& source, const ByteRange& range) {
  const auto begin = static_cast<off_t>(range.offset_bytes);
  const bool has_hole = ::lseek(source.fd.get(), begin, SEEK_DATA) != begin;
  return has_hole ? std::nullopt : std::optional(range.length_bytes);
}

Response copy_response(const char* root_name, const std::string& etag, const timespec& modified,
                       const NameValues& checksums) {
  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, root_name);
  add_text(root, "LastModified", iso_date(modified));
  add_text(root, "ETag", quoted_etag(etag));
  for (const auto& [name, value] : checksums) {
    if (const auto kind = checksum_of_header(name)) {
      add_text(root, checksum_element(*kind).c_str(), value);
    }
  }
  return xml_response(document);
}

}  // namespace

S3Result<Response> copy_object(const Services& services, const Call& call) {
  if (auto good = check_new_key(call.key); !good) return pass_on(good);
  if (auto good = check_upload_headers(services, call.request, KeyChange::kCopy); !good) {
    return pass_on(good);
  }
  const std::string directive = call.request.header_or("x-amz-metadata-directive", "COPY");
  if (directive != "COPY" && directive != "REPLACE") {
    return refuse(kInvalidArgument, "x-amz-metadata-directive can be COPY or REPLACE.");
  }
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  auto source = open_source(services, call);
  if (!source) return pass_on(source);
  if (directive == "COPY" && source->bucket == call.bucket && source->key == call.key) {
    return refuse(kInvalidRequest,
                  "This copy request is illegal because it is trying to copy an object to itself "
                  "without changing the object's metadata.");
  }
  if (call.key.ends_with('/') && source->object.size_bytes > 0) {
    return refuse(kInvalidArgument,
                  "This server keeps objects as files: a key that ends in \"/\" is a folder and "
                  "cannot have content.");
  }
  auto file = services.store.stage_file();
  if (!file) return pass_on(file);
  UploadBody body = UploadBody::start(
      services, call, copy_checksum(call.request, source->object.metadata), std::move(*file));
  const ByteRange all{.offset_bytes = 0, .length_bytes = source->object.size_bytes};
  auto summary = copy_body(services, source->object, all, body);
  if (!summary) return pass_on(summary);
  Metadata metadata;
  if (services.behaviour.compares_checksums) metadata.checksums = summary->checksums;
  metadata.headers = copied_headers(call.request, source->object.metadata, directive == "COPY");
  metadata.etag =
      object_etag(services, encrypted_digest(metadata.headers, summary->etag), summary->size_bytes);
  if (auto stored =
          publish_object(services, call, *bucket, body.file(), metadata, KeyChange::kCopy);
      !stored) {
    return pass_on(stored);
  }
  auto copy = bucket->open_object(call.key);
  if (!copy) return pass_on(copy);
  return copy_response("CopyObjectResult", metadata.etag, copy->modified, metadata.checksums);
}

S3Result<Response> upload_part_copy(const Services& services, const Call& call) {
  if (!services.behaviour.copies_parts) return refuse(kNotImplemented);
  auto number = part_number(call.request);
  if (!number) return pass_on(number);
  auto upload = open_upload(services, call);
  if (!upload) return pass_on(upload);
  if (auto good = check_customer_key(call.request, "x-amz-", upload->plan().headers); !good) {
    return pass_on(good);
  }
  auto source = open_source(services, call);
  if (!source) return pass_on(source);
  ByteRange range{.offset_bytes = 0, .length_bytes = source->object.size_bytes};
  if (const auto header = call.request.header("x-amz-copy-source-range")) {
    auto parsed = parse_range(*header, source->object.size_bytes);
    if (!parsed || !*parsed) {
      return refuse(kInvalidArgument,
                    "x-amz-copy-source-range must be bytes=FIRST-LAST inside the source.");
    }
    range = **parsed;
  }
  auto file = upload->stage_part(services.store, *number, placed_bytes(source->object, range));
  if (!file) return pass_on(file);
  UploadBody body = UploadBody::start(services, call, part_checksum(*upload), std::move(*file));
  auto summary = copy_body(services, source->object, range, body);
  if (!summary) return pass_on(summary);
  if (auto stored = store_part(*upload, *number, *summary, body); !stored) return pass_on(stored);
  const auto now = std::chrono::system_clock::to_time_t(services.clock.wall_now());
  return copy_response("CopyPartResult", summary->etag, {.tv_sec = now, .tv_nsec = 0},
                       summary->checksums);
}

}  // namespace s3rdmafs::target
