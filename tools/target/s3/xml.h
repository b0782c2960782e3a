// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <pugixml.hpp>

#include "target/http/message.h"
#include "target/s3_error.h"

namespace s3rdmafs::target {

/// Starts a document whose root element is in S3's namespace, and returns that element.
pugi::xml_node start_xml(pugi::xml_document& document, const char* root);

void add_text(pugi::xml_node parent, const char* name, std::string_view text);
void add_number(pugi::xml_node parent, const char* name, std::uint64_t number);
void add_bool(pugi::xml_node parent, const char* name, bool value);
/// <Owner> or <Initiator>: there is one, as buckets here have no owners.
void add_owner(pugi::xml_node parent, const char* name);

[[nodiscard]] std::string xml_text(const pugi::xml_document& document);
[[nodiscard]] Response xml_response(const pugi::xml_document& document);

/// Parses a request's body. Errors: kMalformedXml, also if the root element is another one.
[[nodiscard]] S3Result<void> parse_xml(pugi::xml_document& document, std::string_view body,
                                       std::string_view root);

/// The answer to a refused request; HEAD and 304 have none but the status.
[[nodiscard]] Response error_response(const S3Error& error, std::string_view resource);

/// `"etag"`, as headers and XML have it.
[[nodiscard]] std::string quoted_etag(std::string_view etag);
/// Without quotes and without a weak validator's "W/".
[[nodiscard]] std::string_view unquoted(std::string_view etag);

}  // namespace s3rdmafs::target
