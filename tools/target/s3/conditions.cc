// SPDX-License-Identifier: Apache-2.0
#include "target/s3/conditions.h"

#include <algorithm>

#include "target/s3/dates.h"
#include "target/s3/xml.h"

namespace s3rdmafs::target {

bool etag_list_matches(std::string_view list, std::string_view etag) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (item == "*" || unquoted(item) == etag) return true;
  }
  return false;
}

S3Result<void> check_conditions(const Request& request, std::string_view header_prefix,
                                std::string_view etag, std::time_t modified) {
  const auto header = [&](std::string_view name) {
    return request.header(std::string(header_prefix) + std::string(name));
  };
  const auto date = [&](std::string_view name) {
    const auto text = header(name);
    return text ? parse_http_date(*text) : std::nullopt;
  };
  if (const auto match = header("if-match")) {
    if (!etag_list_matches(*match, etag)) return refuse(kPreconditionFailed);
  } else if (const auto since = date("if-unmodified-since"); since && modified > *since) {
    return refuse(kPreconditionFailed);
  }
  bool is_unchanged = false;
  if (const auto none_match = header("if-none-match")) {
    is_unchanged = etag_list_matches(*none_match, etag);
  } else if (const auto since = date("if-modified-since")) {
    is_unchanged = modified <= *since;
  }
  if (!is_unchanged) return {};
  if (!header_prefix.empty()) return refuse(kPreconditionFailed);
  auto error = refuse(kNotModified);
  error.error().headers = {{"ETag", quoted_etag(etag)}, {"Last-Modified", http_date(modified)}};
  return error;
}

S3Result<WriteConditions> write_conditions(const Behaviour& behaviour, const Request& request,
                                           KeyChange change) {
  const auto match = request.header("if-match");
  const auto none_match = request.header("if-none-match");
  if (none_match.value_or("*") != "*") {
    return refuse(kNotImplemented, "If-None-Match of a write can only be \"*\".");
  }
  const bool is_refused = (match && behaviour.if_match == Conditions::kRefused) ||
                          (none_match && behaviour.if_none_match == Conditions::kRefused);
  if (is_refused) {
    return refuse(kNotImplemented,
                  "A header you provided implies functionality that is not implemented.");
  }
  WriteConditions conditions;
  if (behaviour.only_puts_compare && change != KeyChange::kPut) return conditions;
  if (behaviour.if_match == Conditions::kCompared) conditions.if_match = match;
  conditions.only_if_absent = none_match && behaviour.if_none_match == Conditions::kCompared;
  return conditions;
}

}  // namespace s3rdmafs::target
