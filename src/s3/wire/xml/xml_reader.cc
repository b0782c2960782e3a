// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/xml/xml_reader.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <functional>
#include <set>

#include <pugixml.hpp>

#include "s3/wire/response_headers.h"
#include "s3/wire/server_text.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::s3 {
namespace {

/// Some servers (AWS, MinIO) write a space as "+" here, and all write "+" as "%2B".
Result<std::string> decode_name(const char* text, bool is_encoded) {
  if (!is_encoded) return std::string(text);
  std::string spaced;
  for (const char c : std::string_view(text)) {
    if (c == '+') {
      spaced += "%20";
    } else {
      spaced += c;
    }
  }
  return uri_decode(spaced);
}

/// "2009-10-12T17:50:30.000Z"; the fraction does not matter to a file's mtime.
bool parse_iso8601(const char* text, std::chrono::system_clock::time_point& time) {
  std::tm parts{};
  const char* rest = ::strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return false;
  time = nearest_time(::timegm(&parts));
  return true;
}

Result<ObjectInfo> parse_object(const pugi::xml_node& node, bool is_encoded) {
  ObjectInfo info;
  Result<std::string> key = decode_name(node.child_value("Key"), is_encoded);
  if (!key || key->empty()) return fail(ErrorCode::kProtocol, "the listing has an unreadable key");
  info.key = std::move(*key);
  const std::string_view size = node.child_value("Size");
  const auto [stop, error] =
      std::from_chars(size.data(), size.data() + size.size(), info.size_bytes);
  if (size.empty() || error != std::errc() || stop != size.data() + size.size()) {
    return fail(ErrorCode::kProtocol, "the listing has no size for key '" + info.key + "'");
  }
  if (!parse_iso8601(node.child_value("LastModified"), info.modified)) {
    return fail(ErrorCode::kProtocol, "the listing has no date for key '" + info.key + "'");
  }
  info.etag = node.child_value("ETag");
  if (!is_header_value(info.etag)) {
    return fail(ErrorCode::kProtocol,
                "the listing has an unusable ETag for key '" + info.key + "'");
  }
  if (!info.etag.empty()) info.etag = quoted_etag(info.etag);
  return info;
}

// Only a broken server lists a name twice in one page. The first entry counts.
template <class Named, class KeyOf>
void drop_repeated(std::vector<Named>& named, KeyOf key_of) {
  // In a correct listing each name is after the one before it.
  const auto not_after = [&](const Named& one, const Named& next) {
    return std::invoke(key_of, next) <= std::invoke(key_of, one);
  };
  if (std::ranges::adjacent_find(named, not_after) == named.end()) return;
  std::set<std::string, std::less<>> seen;
  std::erase_if(named,
                [&](const Named& one) { return !seen.insert(std::invoke(key_of, one)).second; });
}

Result<std::string> parse_child(std::string_view xml, const char* root, const char* child) {
  pugi::xml_document document;
  static_cast<void>(document.load_buffer(xml.data(), xml.size()));
  std::string value = document.child(root).child_value(child);
  if (value.empty()) {
    return fail(ErrorCode::kProtocol,
                std::string("the answer is not a ") + root + " with " + child);
  }
  return value;
}

Result<std::string> usable_etag(Result<std::string> etag) {
  if (etag && !is_header_value(*etag)) {
    return fail(ErrorCode::kProtocol, "the answer has an unusable ETag");
  }
  // Some servers leave the quotes out here, and not in headers; ETags are compared as text.
  if (etag) etag = quoted_etag(*etag);
  return etag;
}

}  // namespace

Result<ListPage> parse_list_page(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    return fail(ErrorCode::kProtocol, std::string("the listing is not XML: ") +
                                          parsed.description() + " at byte " +
                                          std::to_string(parsed.offset));
  }
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!root) return fail(ErrorCode::kProtocol, "the listing is not a ListBucketResult");
  const bool is_encoded = std::string_view(root.child_value("EncodingType")) == "url";

  ListPage page;
  for (const pugi::xml_node node : root.children("Contents")) {
    Result<ObjectInfo> info = parse_object(node, is_encoded);
    if (!info) return std::unexpected(std::move(info.error()));
    page.objects.push_back(std::move(*info));
  }
  for (const pugi::xml_node node : root.children("CommonPrefixes")) {
    Result<std::string> prefix = decode_name(node.child_value("Prefix"), is_encoded);
    if (!prefix || prefix->empty()) {
      return fail(ErrorCode::kProtocol, "the listing has an unreadable prefix");
    }
    page.common_prefixes.push_back(std::move(*prefix));
  }
  drop_repeated(page.objects, &ObjectInfo::key);
  drop_repeated(page.common_prefixes, std::identity());
  if (std::string_view(root.child_value("IsTruncated")) == "true") {
    page.next_token = root.child_value("NextContinuationToken");
    // A request without it would begin again from the first page, without end.
    if (page.next_token.empty()) {
      return fail(ErrorCode::kProtocol, "the listing is truncated but has no continuation token");
    }
  }
  return page;
}

Result<std::string> parse_upload_id(std::string_view xml) {
  return parse_child(xml, "InitiateMultipartUploadResult", "UploadId");
}

Result<UploadsPage> parse_uploads_page(std::string_view xml) {
  pugi::xml_document document;
  const bool is_xml =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
  const pugi::xml_node root = document.child("ListMultipartUploadsResult");
  if (!is_xml || !root) {
    return fail(ErrorCode::kProtocol, "the answer is not a ListMultipartUploadsResult");
  }
  const bool is_encoded = std::string_view(root.child_value("EncodingType")) == "url";
  UploadsPage page;
  for (const pugi::xml_node node : root.children("Upload")) {
    UploadsPage::Upload upload{.key = {}, .id = node.child_value("UploadId"), .initiated = {}};
    Result<std::string> key = decode_name(node.child_value("Key"), is_encoded);
    if (!key || key->empty() || upload.id.empty() ||
        !parse_iso8601(node.child_value("Initiated"), upload.initiated)) {
      continue;
    }
    upload.key = std::move(*key);
    page.uploads.push_back(std::move(upload));
  }
  if (std::string_view(root.child_value("IsTruncated")) != "true") return page;
  Result<std::string> next_key = decode_name(root.child_value("NextKeyMarker"), is_encoded);
  if (next_key) page.next_key = std::move(*next_key);
  page.next_id = root.child_value("NextUploadIdMarker");
  return page;
}

Result<bool> parse_has_parts(std::string_view xml) {
  pugi::xml_document document;
  const bool is_xml{document.load_buffer(xml.data(), xml.size())};
  const pugi::xml_node root = document.child("ListPartsResult");
  if (!is_xml || !root) return fail(ErrorCode::kProtocol, "the answer is not a ListPartsResult");
  return static_cast<bool>(root.child("Part"));
}

Result<std::string> parse_completed_etag(std::string_view xml) {
  return usable_etag(parse_child(xml, "CompleteMultipartUploadResult", "ETag"));
}

Result<std::string> parse_copied_etag(std::string_view xml) {
  Result<std::string> etag = parse_child(xml, "CopyObjectResult", "ETag");
  return usable_etag(etag ? std::move(etag) : parse_child(xml, "CopyPartResult", "ETag"));
}

std::string parse_completed_crc64nvme(std::string_view xml) {
  pugi::xml_document document;
  static_cast<void>(document.load_buffer(xml.data(), xml.size()));
  const pugi::xml_node root = document.child("CompleteMultipartUploadResult");
  const std::string sum = root.child_value("ChecksumCRC64NVME");
  // "-N" at its end means a checksum of N parts' checksums, even if the type does not say so.
  const bool is_of_parts = std::string_view(root.child_value("ChecksumType")) == "COMPOSITE" ||
                           sum.find('-') != std::string::npos;
  return is_of_parts ? "" : sum;
}

S3Error parse_error(std::string_view xml) {
  pugi::xml_document document;
  if (!document.load_buffer(xml.data(), xml.size())) return {};
  const pugi::xml_node root = document.child("Error");
  return {.code = root.child_value("Code"), .message = root.child_value("Message")};
}

}  // namespace s3rdmafs::s3
