// SPDX-License-Identifier: Apache-2.0
#include "target/http/message.h"

#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::target {

std::optional<std::string> Request::header(std::string_view name) const {
  std::optional<std::string> joined;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    if (joined) {
      *joined += "," + value;
    } else {
      joined = value;
    }
  }
  return joined;
}

std::string Request::header_or(std::string_view name, std::string_view otherwise) const {
  return header(name).value_or(std::string(otherwise));
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::uint64_t Response::body_bytes() const {
  if (const auto* file = std::get_if<FileBody>(&body)) return file->length_bytes;
  return std::get<std::string>(body).size();
}

std::optional<NameValues> parse_query(std::string_view encoded_query) {
  NameValues parameters;
  while (!encoded_query.empty()) {
    const std::size_t end = std::min(encoded_query.find('&'), encoded_query.size());
    const std::string_view item = encoded_query.substr(0, end);
    encoded_query.remove_prefix(std::min(end + 1, encoded_query.size()));
    if (item.empty()) continue;
    const std::size_t equals = std::min(item.find('='), item.size());
    auto name = s3::uri_decode(item.substr(0, equals));
    auto value = s3::uri_decode(item.substr(std::min(equals + 1, item.size())));
    if (!name || !value) return std::nullopt;
    parameters.emplace_back(std::move(*name), std::move(*value));
  }
  return parameters;
}

}  // namespace s3rdmafs::target
