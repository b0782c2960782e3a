// SPDX-License-Identifier: Apache-2.0
// A copy is read and hashed like an upload: the new object needs an MD5 and perhaps another
// checksum, so there are no blocks to be had without reading them.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/s3/uri.h"
#include "target/s3/conditions.h"
#include "target/s3/dates.h"
#include "target/s3/operations.h"
#include "target/s3/range.h"
#include "target/s3/uploads/multipart.h"
#include "target/s3/uploads/upload.h"
#include "target/s3/uploads/upload_part.h"
#include "target/s3/xml.h"
#include "target/store/key_path.h"

namespace s3rdmafs::target {
namespace {

// Stays in a core's cache between reading, hashing and writing.
constexpr std::size_t kPieceBytes = 256 * kKiB;

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

S3Result<void> copy_bytes(const OpenObject& source, const ByteRange& range, UploadBody& body) {
  std::vector<std::byte> piece(std::min<std::uint64_t>(range.length_bytes, kPieceBytes));
  std::uint64_t done_bytes = 0;
  while (done_bytes < range.length_bytes) {
    const std::size_t wanted =
        std::min<std::uint64_t>(piece.size(), range.length_bytes - done_bytes);
    const ssize_t got = ::pread(source.fd.get(), piece.data(), wanted,
                                static_cast<off_t>(range.offset_bytes + done_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return refuse_errno("read the copy's source", got < 0 ? errno : EIO);
    if (auto taken = body.receive(std::span(piece).first(static_cast<std::size_t>(got))); !taken) {
      return taken;
    }
    done_bytes += static_cast<std::uint64_t>(got);
  }
  return {};
}

/// The checksum the copy gets: the one asked for, or of the source's kind.
std::optional<ChecksumKind> copy_checksum(const Request& request, const Metadata& source) {
  if (auto algorithm = request.header("x-amz-checksum-algorithm")) {
    return checksum_of_algorithm(*algorithm);
  }
  if (source.checksums.empty()) return std::nullopt;
  return checksum_of_header(source.checksums.front().first);
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
  auto body =
      UploadBody::start(services, call, copy_checksum(call.request, source->object.metadata));
  if (!body) return pass_on(body);
  const ByteRange all{.offset_bytes = 0, .length_bytes = source->object.size_bytes};
  if (auto copied = copy_bytes(source->object, all, *body); !copied) return pass_on(copied);
  auto summary = body->finish(Request{}, {});
  if (!summary) return pass_on(summary);
  Metadata metadata;
  if (services.behaviour.compares_checksums) metadata.checksums = summary->checksums;
  metadata.headers = copied_headers(call.request, source->object.metadata, directive == "COPY");
  metadata.etag = object_etag(services, encrypted_digest(metadata.headers, summary->md5_hex),
                              summary->size_bytes);
  if (auto stored =
          publish_object(services, call, *bucket, body->file(), metadata, KeyChange::kCopy);
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
  auto body = UploadBody::start(services, call, part_checksum(*upload));
  if (!body) return pass_on(body);
  if (auto copied = copy_bytes(source->object, range, *body); !copied) return pass_on(copied);
  auto summary = body->finish(Request{}, {});
  if (!summary) return pass_on(summary);
  if (auto stored = store_part(*upload, *number, *summary, *body); !stored) return pass_on(stored);
  const auto now = std::chrono::system_clock::to_time_t(services.clock.wall_now());
  return copy_response("CopyPartResult", summary->md5_hex, {.tv_sec = now, .tv_nsec = 0},
                       summary->checksums);
}

}  // namespace s3rdmafs::target
