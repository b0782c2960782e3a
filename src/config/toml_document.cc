// SPDX-License-Identifier: Apache-2.0
// The only file that includes toml++, which is heavy. Header-only and without exceptions, so that
// a broken file is a value, whatever way the system's shared library was built.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// 3.3.0 asserts, on the user's input, that a header begins with a key: "[.a]" or "[=]" would abort.
// The code after the assertion reports exactly that as an error, so assertions are off here. (This
// relies on -UNDEBUG, see the top meson.build: with NDEBUG they would become promises to the
// optimiser.)
#define TOML_ASSERT(condition) static_assert(true)
#ifdef NDEBUG
#error "config/toml_document.cc must be compiled without NDEBUG"
#endif

#include "config/toml_document.h"

#include <algorithm>
#include <tuple>
#include <type_traits>

#include <toml++/toml.h>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

Position position_of(const toml::source_region& source) {
  return {.line = source.begin.line, .column = source.begin.column};
}

std::string_view type_name_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "string";
    case toml::node_type::integer:
      return "integer";
    case toml::node_type::boolean:
      return "boolean";
    case toml::node_type::floating_point:
      return "float";
    case toml::node_type::array:
      return "array";
    case toml::node_type::table:
      return "table";
    default:
      return "date or time";
  }
}

// Not of text with a comma in it, which the joined spelling could not tell from two items.
bool holds_strings(const toml::array& array) {
  return std::ranges::all_of(array, [](const toml::node& item) {
    return item.is_string() && item.as_string()->get().find(',') == std::string::npos;
  });
}

TomlEntry entry_of(std::string_view section, const toml::key& key, const toml::node& node) {
  TomlEntry entry{.section = std::string(section),
                  .name = std::string(key.str()),
                  .type = ValueType::kOther,
                  .type_name = type_name_of(node),
                  .text = {},
                  .name_position = position_of(key.source()),
                  .value_position = position_of(node.source())};
  if (const auto* string = node.as_string()) {
    entry.type = ValueType::kString;
    entry.text = string->get();
  } else if (const auto* integer = node.as_integer()) {
    entry.type = ValueType::kInteger;
    entry.text = std::to_string(integer->get());
  } else if (const auto* boolean = node.as_boolean()) {
    entry.type = ValueType::kBoolean;
    entry.text = boolean->get() ? "true" : "false";
  } else if (const auto* array = node.as_array(); array != nullptr && holds_strings(*array)) {
    entry.type = ValueType::kStrings;
    for (const toml::node& item : *array) {
      entry.text += (&item == &array->front() ? "" : ",") + item.as_string()->get();
    }
  }
  return entry;
}

// False where it is an array of other things than tables.
bool add_tables(const toml::key& key, const toml::node& node, TomlDocument& document) {
  const toml::array* const array = node.as_array();
  if (array == nullptr || !array->is_array_of_tables()) return false;
  for (const toml::node& element : *array) {
    TomlTable& table = document.tables.emplace_back(
        std::string(key.str()), position_of(element.source()), std::vector<TomlEntry>());
    for (const auto& [name, value] : *element.as_table()) {
      table.entries.push_back(entry_of(key.str(), name, value));
    }
  }
  return true;
}

}  // namespace

Result<TomlDocument> parse_toml(std::string_view text, std::string_view name) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const Position position = position_of(parsed.error().source());
    return fail(ErrorCode::kConfig, fmt::format("{}:{}:{}: {}", name, position.line,
                                                position.column, parsed.error().description()));
  }

  TomlDocument document;
  for (const auto& [key, node] : parsed.table()) {
    const toml::table* const table = node.as_table();
    if (table == nullptr) {
      if (add_tables(key, node, document)) continue;
      document.entries.push_back(entry_of("", key, node));
      continue;
    }
    document.sections.push_back(
        {.name = std::string(key.str()), .position = position_of(key.source())});
    for (const auto& [name_in_section, value] : *table) {
      document.entries.push_back(entry_of(key.str(), name_in_section, value));
    }
  }
  // toml++ sorts by name; errors are easier to follow from the top of the file to its end.
  std::ranges::sort(document.entries, {}, [](const TomlEntry& entry) {
    return std::tuple(entry.name_position.line, entry.name_position.column);
  });
  return document;
}

}  // namespace s3rdmafs::config
