// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>

#include "s3rdmafs/base/log.h"
#include "target/s3/conditions.h"
#include "target/s3/dates.h"
#include "target/s3/operations.h"
#include "target/s3/range.h"
#include "target/s3/rdma.h"
#include "target/s3/xml.h"

namespace s3rdmafs::target {
namespace {

/// The part of an object that is asked for.
struct Selection {
  ByteRange range;
  bool is_partial = false;
  std::size_t parts_count = 0;  ///< by partNumber of a multipart object
};

S3Result<Selection> select_part(const OpenObject& object, const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > 10'000) {
    return refuse(kInvalidArgument, "partNumber must be 1 to 10000.");
  }
  const auto& sizes = object.metadata.part_sizes;
  Selection selection;
  selection.is_partial = object.size_bytes > 0;
  if (sizes.empty()) {
    if (number != 1) return refuse(kInvalidPartNumber);
    selection.range = {.offset_bytes = 0, .length_bytes = object.size_bytes};
    return selection;
  }
  if (number > sizes.size()) return refuse(kInvalidPartNumber);
  for (std::size_t i = 0; i + 1 < number; ++i) selection.range.offset_bytes += sizes[i];
  selection.range.length_bytes = sizes[number - 1];
  selection.parts_count = sizes.size();
  return selection;
}

S3Result<Selection> select_bytes(const Request& request, const OpenObject& object) {
  const auto header = request.header("range");
  if (const auto part = request.parameter("partNumber")) {
    if (header) return refuse(kInvalidRequest, "Range and partNumber exclude each other.");
    return select_part(object, *part);
  }
  Selection whole{.range = {.offset_bytes = 0, .length_bytes = object.size_bytes}};
  if (!header) return whole;
  // RFC 9110 section 13.1.5: a range of another version is useless; the whole of this one is not.
  if (const auto if_range = request.header("if-range");
      if_range && unquoted(*if_range) != object.metadata.etag &&
      *if_range != http_date(object.modified.tv_sec)) {
    return whole;
  }
  auto range = parse_range(*header, object.size_bytes);
  if (!range) return pass_on(range);
  if (!*range) return whole;
  return Selection{.range = **range, .is_partial = true};
}

/// "response-content-type" and its like: a presigned address may rename what it downloads.
void set_kept_headers(Response& response, const Call& call, const Metadata& metadata) {
  constexpr std::array<std::string_view, 6> kOverridable{"cache-control",    "content-disposition",
                                                         "content-encoding", "content-language",
                                                         "content-type",     "expires"};
  bool has_type = false;
  const auto overriding = [&](std::string_view name) -> std::optional<std::string> {
    if (call.caller.is_anonymous) return std::nullopt;  // as S3: only signed requests may
    return call.request.parameter("response-" + std::string(name));
  };
  for (const std::string_view name : kOverridable) {
    if (auto value = overriding(name)) {
      response.set(name, *value);
      has_type |= name == "content-type";
    }
  }
  for (const auto& [name, value] : metadata.headers) {
    if (std::ranges::find(kOverridable, name) != kOverridable.end() && overriding(name)) continue;
    response.set(name, value);
    has_type |= name == "content-type";
  }
  if (!has_type) response.set("Content-Type", "binary/octet-stream");
}

Response describe(const Call& call, const OpenObject& object, const Selection& selection) {
  Response response;
  response.status = selection.is_partial ? 206 : 200;
  response.set("ETag", quoted_etag(object.metadata.etag));
  response.set("Last-Modified", http_date(object.modified.tv_sec));
  response.set("Accept-Ranges", "bytes");
  if (selection.is_partial) {
    response.set("Content-Range", selection.range.content_range(object.size_bytes));
  }
  if (selection.parts_count > 0) {
    response.set("x-amz-mp-parts-count", std::to_string(selection.parts_count));
  }
  set_kept_headers(response, call, object.metadata);
  // A checksum is of the whole object: beside a part of it, clients would compare the wrong bytes.
  if (!selection.is_partial && call.request.header("x-amz-checksum-mode") == "ENABLED") {
    for (const auto& [name, value] : object.metadata.checksums) response.set(name, value);
    if (!object.metadata.checksums.empty()) {
      response.set("x-amz-checksum-type",
                   object.metadata.checksums_are_composite ? "COMPOSITE" : "FULL_OBJECT");
    }
  }
  return response;
}

S3Result<OpenObject> open_for(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  auto object = bucket->open_object(call.key);
  if (!object) return pass_on(object);
  if (auto good = check_customer_key(call.request, "x-amz-", object->metadata.headers); !good) {
    return pass_on(good);
  }
  if (auto good =
          check_conditions(call.request, "", object->metadata.etag, object->modified.tv_sec);
      !good) {
    return pass_on(good);
  }
  return object;
}

}  // namespace

S3Result<Response> get_object(const Services& services, const Call& call) {
  auto proposal = RdmaProposal::read(services, call, FaultOperation::kGet);
  if (!proposal) return pass_on(proposal);
  auto object = open_for(services, call);
  if (!object) return pass_on(object);
  if (auto good = check_not_archived(object->metadata.headers); !good) return pass_on(good);
  auto selection = select_bytes(call.request, *object);
  if (!selection) return pass_on(selection);
  Response response = describe(call, *object, *selection);
  const ByteRange& range = selection->range;
  if (*proposal) return (*proposal)->get(std::move(*object), range, std::move(response));
  services.traffic.http_sent_bytes.add(range.length_bytes);
  response.body = FileBody{.fd = std::move(object->fd),
                           .offset_bytes = range.offset_bytes,
                           .length_bytes = range.length_bytes};
  return response;
}

S3Result<Response> head_object(const Services& services, const Call& call) {
  auto object = open_for(services, call);
  if (!object) return pass_on(object);
  auto selection = select_bytes(call.request, *object);
  if (!selection) return pass_on(selection);
  Response response = describe(call, *object, *selection);
  // The HTTP library sends its length and none of it.
  response.body = FileBody{.fd = std::move(object->fd),
                           .offset_bytes = selection->range.offset_bytes,
                           .length_bytes = selection->range.length_bytes};
  return response;
}

}  // namespace s3rdmafs::target
