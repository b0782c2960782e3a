// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "s3rdmafs/s3/uri.h"
#include "target/digest/digests.h"
#include "target/s3/dates.h"
#include "target/s3/operation.h"
#include "target/s3/operations.h"
#include "target/s3/xml.h"
#include "target/store/key_path.h"
#include "target/store/listing.h"

namespace s3rdmafs::target {
namespace {

/// A listing's parameters as both versions have them.
struct ListCall {
  ListQuery query;
  bool url_encoded = false;

  /// A key as it stands in the answer.
  [[nodiscard]] std::string shown(const std::string& key) const {
    return url_encoded ? s3::uri_encode(key, /*keep_slash=*/true) : key;
  }
};

// Of a server that repeats its continuation tokens: so few that small folders have several pages.
constexpr std::size_t kRepeatingPageKeys = 16;

S3Result<ListCall> parse_list_call(const Behaviour& behaviour, const Request& request) {
  ListCall list;
  list.query.prefix = request.parameter("prefix").value_or("");
  if (!behaviour.ignores_delimiter) {
    list.query.delimiter = request.parameter("delimiter").value_or("");
  }
  const std::string encoding = request.parameter("encoding-type").value_or("");
  if (!encoding.empty() && encoding != "url") {
    return refuse(kInvalidArgument, "encoding-type can only be \"url\".");
  }
  list.url_encoded = list.query.include_non_utf8 = encoding == "url";
  if (const std::string text = request.parameter("max-keys").value_or(""); !text.empty()) {
    std::uint32_t wanted = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wanted);
    if (error != std::errc() || end != text.data() + text.size()) {
      return refuse(kInvalidArgument, "max-keys must be a number from 0.");
    }
    list.query.max_keys = std::min<std::size_t>(wanted, kPageEntriesMax);
  }
  return list;
}

S3Result<ListPage> find_page(const Services& services, const Call& call, const ListCall& list) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  return list_keys(*bucket, services.snapshots, list.query);
}

void write_page(pugi::xml_node root, const Call& call, const ListCall& list, const ListPage& page,
                bool with_owner) {
  add_text(root, "Name", call.bucket);
  add_text(root, "Prefix", list.shown(list.query.prefix));
  if (!list.query.delimiter.empty()) add_text(root, "Delimiter", list.shown(list.query.delimiter));
  add_number(root, "MaxKeys", list.query.max_keys);
  if (list.url_encoded) add_text(root, "EncodingType", "url");
  add_bool(root, "IsTruncated", page.is_truncated);
  for (const ListedObject& object : page.objects) {
    pugi::xml_node contents = root.append_child("Contents");
    add_text(contents, "Key", list.shown(object.key));
    add_text(contents, "LastModified", iso_date(object.modified));
    add_text(contents, "ETag", quoted_etag(object.etag));
    add_number(contents, "Size", object.size_bytes);
    if (with_owner) add_owner(contents, "Owner");
    add_text(contents, "StorageClass", "STANDARD");
  }
  for (const std::string& common : page.common_prefixes) {
    add_text(root.append_child("CommonPrefixes"), "Prefix", list.shown(common));
  }
}

}  // namespace

S3Result<Response> list_objects(const Services& services, const Call& call) {
  auto list = parse_list_call(services.behaviour, call.request);
  if (!list) return pass_on(list);
  list->query.after = call.request.parameter("marker").value_or("");
  auto page = find_page(services, call, *list);
  if (!page) return pass_on(page);
  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, "ListBucketResult");
  write_page(root, call, *list, *page, /*with_owner=*/true);
  add_text(root, "Marker", list->shown(list->query.after));
  // S3 sends it only with a delimiter, as the last key says it otherwise; clients take both.
  if (page->is_truncated) add_text(root, "NextMarker", list->shown(page->last));
  return xml_response(document);
}

S3Result<Response> list_objects_v2(const Services& services, const Call& call) {
  auto list = parse_list_call(services.behaviour, call.request);
  if (!list) return pass_on(list);
  const bool repeats_tokens = services.behaviour.repeats_tokens;
  if (repeats_tokens) list->query.max_keys = std::min(list->query.max_keys, kRepeatingPageKeys);
  const auto token = call.request.parameter("continuation-token");
  const std::string start_after = call.request.parameter("start-after").value_or("");
  list->query.after = start_after;
  if (token) {
    // Opaque to clients; hexadecimal, so that no client's escaping can spoil it.
    const auto after = from_hex(*token);
    if (!after || after->empty()) {
      return refuse(kInvalidArgument, "The continuation token provided is incorrect");
    }
    list->query.after = *after;
  }
  auto page = find_page(services, call, *list);
  if (!page) return pass_on(page);
  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, "ListBucketResult");
  const bool with_owner = call.request.parameter("fetch-owner") == "true";
  write_page(root, call, *list, *page, with_owner);
  add_number(root, "KeyCount", page->objects.size() + page->common_prefixes.size());
  if (!start_after.empty()) add_text(root, "StartAfter", list->shown(start_after));
  if (token) add_text(root, "ContinuationToken", *token);
  if (page->is_truncated) {
    add_text(root, "NextContinuationToken", repeats_tokens && token ? *token : to_hex(page->last));
  }
  return xml_response(document);
}

}  // namespace s3rdmafs::target
