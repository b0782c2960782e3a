// SPDX-License-Identifier: Apache-2.0
#include "target/s3/xml.h"

#include <sstream>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

constexpr const char* kNamespace = "http://s3.amazonaws.com/doc/2006-03-01/";
constexpr const char* kOwner = "s3rdma-target";

}  // namespace

pugi::xml_node start_xml(pugi::xml_document& document, const char* root) {
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node node = document.append_child(root);
  node.append_attribute("xmlns") = kNamespace;
  return node;
}

void add_text(pugi::xml_node parent, const char* name, std::string_view text) {
  parent.append_child(name).text().set(std::string(text).c_str());
}

void add_number(pugi::xml_node parent, const char* name, std::uint64_t number) {
  add_text(parent, name, std::to_string(number));
}

void add_bool(pugi::xml_node parent, const char* name, bool value) {
  add_text(parent, name, value ? "true" : "false");
}

void add_owner(pugi::xml_node parent, const char* name) {
  pugi::xml_node owner = parent.append_child(name);
  add_text(owner, "ID", kOwner);
  add_text(owner, "DisplayName", kOwner);
}

std::string xml_text(const pugi::xml_document& document) {
  std::ostringstream out;
  document.save(out, "", pugi::format_raw);
  return std::move(out).str();
}

Response xml_response(const pugi::xml_document& document) {
  Response response;
  response.set("Content-Type", "application/xml");
  response.body = xml_text(document);
  return response;
}

S3Result<void> parse_xml(pugi::xml_document& document, std::string_view body,
                         std::string_view root) {
  // Full whitespace: a key may begin or end with a blank.
  const auto parsed = document.load_buffer(body.data(), body.size(),
                                           pugi::parse_default | pugi::parse_ws_pcdata_single);
  if (!parsed) {
    return refuse(kMalformedXml, fmt::format("The XML is not well-formed at byte {}: {}.",
                                             parsed.offset, parsed.description()));
  }
  if (document.document_element().name() != root) {
    return refuse(kMalformedXml, fmt::format("The root element must be <{}>.", root));
  }
  return {};
}

Response error_response(const S3Error& error, std::string_view resource) {
  Response response;
  response.status = error.code.status;
  response.headers = error.headers;
  if (error.code.status == 304) return response;
  pugi::xml_document document;
  // S3's errors, unlike its other answers, are in no namespace.
  pugi::xml_node root = start_xml(document, "Error");
  root.remove_attribute("xmlns");
  add_text(root, "Code", error.code.name);
  add_text(root, "Message", error.message);
  add_text(root, "Resource", resource);
  response.set("Content-Type", "application/xml");
  response.body = xml_text(document);
  return response;
}

std::string quoted_etag(std::string_view etag) { return fmt::format("\"{}\"", etag); }

std::string_view unquoted(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"')) {
    etag = etag.substr(1, etag.size() - 2);
  }
  return etag;
}

}  // namespace s3rdmafs::target
