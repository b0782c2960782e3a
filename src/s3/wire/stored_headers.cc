// SPDX-License-Identifier: Apache-2.0
#include "s3/wire/stored_headers.h"

#include <algorithm>
#include <string>

#include "s3/wire/response_headers.h"

namespace s3rdmafs::s3 {
namespace {

constexpr std::string_view kStorageClass = "x-amz-storage-class";
constexpr std::string_view kStoredHeaders[] = {
    "cache-control", "content-disposition", "content-encoding", "content-language", "content-type",
    "expires",       kStorageClass};

/// Without the encoding of an upload's body, which some servers keep with the object. A request
/// that has it must have such a body.
std::string encoding_of_object(std::string_view value) {
  constexpr std::string_view kOfUpload = "aws-chunked";
  std::string kept;
  while (!value.empty()) {
    std::string_view one = value.substr(0, value.find(','));
    value.remove_prefix(std::min(one.size() + 1, value.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.empty() || one == kOfUpload) continue;
    if (!kept.empty()) kept += ", ";
    kept += one;
  }
  return kept;
}

}  // namespace

bool is_stored_header(std::string_view name) {
  return std::ranges::find(kStoredHeaders, name) != std::end(kStoredHeaders);
}

void take_stored_header(StoredHeaders& headers, std::string_view name, std::string_view value) {
  const std::string kept =
      name == "content-encoding" ? encoding_of_object(value) : std::string(value);
  if (kept.empty()) return;
  const auto found = std::ranges::find(headers, name, &StoredHeaders::value_type::first);
  if (found == headers.end()) {
    headers.emplace_back(name, kept);
  } else {
    found->second += ", " + kept;
  }
}

std::string storage_class_of(const StoredHeaders& headers) {
  const auto found = std::ranges::find(headers, kStorageClass, &StoredHeaders::value_type::first);
  return found == headers.end() ? "" : found->second;
}

void add_stored_headers(NameValues& request, const StoredHeaders& headers) {
  for (const auto& header : headers) request.push_back(header);
  if (std::ranges::find(headers, "content-type", &StoredHeaders::value_type::first) ==
      headers.end()) {
    request.emplace_back("content-type", "application/octet-stream");
  }
}

}  // namespace s3rdmafs::s3
