// SPDX-License-Identifier: Apache-2.0
#include "vfs/metadata/extended_attributes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "s3/wire/base64.h"
#include "s3rdmafs/base/utf8.h"
#include "s3rdmafs/s3/uri.h"
#include "vfs/metadata/user_metadata.h"

namespace s3rdmafs::vfs {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kEntry = "xattr";

/// An object, empty where the metadata has none that can be read.
Json entry_of(const s3::UserMetadata& metadata) {
  const auto found = std::ranges::find(metadata, kEntry, &s3::UserMetadata::value_type::first);
  if (found == metadata.end()) return Json::object();
  const auto text = s3::uri_decode(found->second);
  Json entry = Json::parse(text ? *text : "", nullptr, /*allow_exceptions=*/false);
  return entry.is_object() ? entry : Json::object();
}

std::optional<std::string> value_in(const Json& value) {
  if (!value.is_string()) return std::nullopt;
  return s3::from_base64(value.get_ref<const std::string&>());
}

Result<void> check(const ExtendedAttributeChange& change, bool is_there) {
  using When = ExtendedAttributeChange::When;
  if (is_there && change.when == When::kIsNew) {
    return fail(ErrorCode::kExists, "the attribute '" + change.name + "' exists already");
  }
  const bool must_be_there = !change.value || change.when == When::kIsThere;
  if (!is_there && must_be_there) {
    return fail(ErrorCode::kNoAttribute, "there is no attribute '" + change.name + "'");
  }
  if (utf8_beginning(change.name).size() != change.name.size()) {
    return fail(ErrorCode::kInvalidArgument, "the name of an attribute is not UTF-8");
  }
  return {};
}

}  // namespace

ExtendedAttributes extended_attributes(const s3::UserMetadata& metadata) {
  ExtendedAttributes attributes;
  const Json entry = entry_of(metadata);
  for (const auto& [name, value] : entry.items()) {
    if (!name.starts_with(kUserAttributePrefix) || name.contains('\0')) continue;
    if (auto bytes = value_in(value)) attributes.emplace(name, *std::move(bytes));
  }
  return attributes;
}

Result<void> change_extended_attribute(s3::UserMetadata& metadata,
                                       const ExtendedAttributeChange& change) {
  Json entry = entry_of(metadata);
  const bool is_there = entry.contains(change.name) && value_in(entry[change.name]);
  if (auto may = check(change, is_there); !may) return may;
  if (change.value) {
    entry[change.name] = s3::to_base64(*change.value);
  } else {
    entry.erase(change.name);
  }
  if (entry.empty()) {
    std::erase_if(metadata, [](const auto& one) { return one.first == kEntry; });
  } else {
    set_entry(metadata, kEntry, s3::uri_encode(entry.dump(), /*keep_slash=*/false));
  }
  return {};
}

}  // namespace s3rdmafs::vfs
