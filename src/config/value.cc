// SPDX-License-Identifier: Apache-2.0
#include "config/value.h"

#include <algorithm>
#include <charconv>

#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

// Permission bits without set-user-ID and its like: no file here is executed as another user.
constexpr unsigned kModeMax = 0777;

std::unexpected<Error> refuse(std::string_view text, std::string_view why, const Rule& rule) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' {}; expected {}", text, why, expectation(rule)));
}

template <class T>
bool parse_number(std::string_view text, int base, T& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && stop == text.data() + text.size();
}

template <class T>
std::string_view name_of(const Choice<T>& choice, T value) {
  const auto found =
      std::ranges::find(choice.names, value, &std::pair<std::string_view, T>::second);
  return found == choice.names.end() ? "" : found->first;
}

// The types a rule takes in the mount file.
struct TypeAccepter {
  ValueType type;

  bool operator()(const Boolean&) const { return type == ValueType::kBoolean; }
  bool operator()(const Integer&) const { return type == ValueType::kInteger; }
  bool operator()(const Size&) const {
    return type == ValueType::kString || type == ValueType::kInteger;
  }
  bool operator()(const SizeOrAuto&) const {
    return type == ValueType::kString || type == ValueType::kInteger;
  }
  bool operator()(const TextList&) const { return type == ValueType::kStrings; }
  bool operator()(const auto&) const { return type == ValueType::kString; }
};

struct Expecter {
  std::string operator()(const Text&) const { return "text in quotes"; }
  std::string operator()(const TextList& rule) const {
    return fmt::format("up to {} texts in quotes, separated by commas and in brackets",
                       rule.items_max);
  }
  std::string operator()(const Boolean&) const { return "true or false"; }
  std::string operator()(const Mode&) const {
    return "permission bits in octal and in quotes, such as \"0444\"";
  }
  std::string operator()(const HexKey&) const {
    return "1 to 16 hexadecimal digits in quotes, such as \"0xffeeddcc\"";
  }
  std::string operator()(const Integer& rule) const {
    return fmt::format("a whole number from {} to {}", rule.min, rule.max);
  }
  std::string operator()(const Size& rule) const {
    const std::string steps =
        rule.multiple == 1 ? "" : fmt::format(" in steps of {}", format_size(rule.multiple));
    return fmt::format("a size from {} to {}{}", format_size(rule.min), format_size(rule.max),
                       steps);
  }
  std::string operator()(const SizeOrAuto& rule) const {
    return fmt::format("\"auto\" or a size from {} to {}", format_size(rule.min),
                       format_size(rule.max));
  }
  std::string operator()(const Duration& rule) const {
    return fmt::format("a duration from {} to {}", format_duration(rule.min),
                       format_duration(rule.max));
  }
  template <class T>
  std::string operator()(const Choice<T>& rule) const {
    std::string names;
    for (const auto& [name, value] : rule.names) {
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name);
    }
    return "one of " + names;
  }
};

struct Setter {
  std::string_view text;
  MountConfig& config;

  Result<void> operator()(const Text& rule) const {
    Result<std::string> checked = rule.check(text);
    if (!checked) return std::unexpected(checked.error());
    rule.field(config) = *std::move(checked);
    return {};
  }

  Result<void> operator()(const TextList& rule) const {
    std::vector<std::string> items;
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view item = rest.substr(0, rest.find(','));
      Result<std::string> checked = rule.check(ascii_trimmed(item));
      if (!checked) return std::unexpected(checked.error());
      if (std::ranges::find(items, *checked) != items.end()) {
        return refuse(*checked, "appears twice", rule);
      }
      items.push_back(*std::move(checked));
      rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    }
    if (items.size() > rule.items_max) return refuse(text, "has too many items", rule);
    rule.field(config) = std::move(items);
    return {};
  }

  Result<void> operator()(const Boolean& rule) const {
    if (text != "true" && text != "false") return refuse(text, "is neither true nor false", rule);
    rule.field(config) = text == "true";
    return {};
  }

  Result<void> operator()(const Integer& rule) const {
    std::int64_t number = 0;
    if (!parse_number(text, 10, number)) return refuse(text, "is not a whole number", rule);
    if (number < std::int64_t{rule.min}) return refuse(text, "is too small", rule);
    if (number > std::int64_t{rule.max}) return refuse(text, "is too large", rule);
    rule.field(config) = static_cast<unsigned>(number);
    return {};
  }

  Result<void> operator()(const Size& rule) const {
    const Result<std::uint64_t> bytes = parse_size(text);
    if (!bytes) return std::unexpected(bytes.error());
    if (*bytes < rule.min) return refuse(text, "is too small", rule);
    if (*bytes > rule.max) return refuse(text, "is too large", rule);
    const std::uint64_t below = round_down(*bytes, rule.multiple);
    if (below != *bytes) {
      const std::string why = fmt::format("is not a multiple of {}; the nearest are {} and {}",
                                          format_size(rule.multiple), format_size(below),
                                          format_size(below + rule.multiple));
      return refuse(text, why, rule);
    }
    rule.field(config) = *bytes;
    return {};
  }

  Result<void> operator()(const SizeOrAuto& rule) const {
    if (text == "auto") {
      rule.field(config) = std::nullopt;
      return {};
    }
    const Result<std::uint64_t> bytes = parse_size(text);
    if (!bytes) return std::unexpected(bytes.error());
    if (*bytes < rule.min) return refuse(text, "is too small", rule);
    if (*bytes > rule.max) return refuse(text, "is too large", rule);
    rule.field(config) = *bytes;
    return {};
  }

  Result<void> operator()(const Duration& rule) const {
    const Result<std::chrono::milliseconds> duration = parse_duration(text);
    if (!duration) return std::unexpected(duration.error());
    if (*duration < rule.min) return refuse(text, "is too short", rule);
    if (*duration > rule.max) return refuse(text, "is too long", rule);
    rule.field(config) = *duration;
    return {};
  }

  Result<void> operator()(const Mode& rule) const {
    unsigned bits = 0;
    if (!parse_number(text, 8, bits)) return refuse(text, "is not an octal number", rule);
    if (bits > kModeMax) return refuse(text, "has more than permission bits", rule);
    rule.field(config) = bits;
    return {};
  }

  // Not shown: it may be a secret.
  Result<void> operator()(const HexKey& rule) const {
    std::string_view digits = text;
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    std::uint64_t key = 0;
    if (!parse_number(digits, 16, key)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the value is not a key; expected {}", expectation(rule)));
    }
    rule.field(config) = key;
    return {};
  }

  template <class T>
  Result<void> operator()(const Choice<T>& rule) const {
    for (const auto& [name, value] : rule.names) {
      if (name != text) continue;
      rule.field(config) = value;
      return {};
    }
    return refuse(text, "is not known", rule);
  }
};

struct Writer {
  MountConfig& config;

  std::string operator()(const Text& rule) const { return toml_string(rule.field(config)); }
  std::string operator()(const TextList& rule) const {
    std::string list;
    for (const std::string& item : rule.field(config)) {
      list += (list.empty() ? "" : ", ") + toml_string(item);
    }
    return "[" + list + "]";
  }
  std::string operator()(const Boolean& rule) const {
    return rule.field(config) ? "true" : "false";
  }
  std::string operator()(const Integer& rule) const { return std::to_string(rule.field(config)); }
  std::string operator()(const Size& rule) const {
    return toml_string(format_size(rule.field(config)));
  }
  std::string operator()(const SizeOrAuto& rule) const {
    const std::optional<std::uint64_t> bytes = rule.field(config);
    return toml_string(bytes ? format_size(*bytes) : "auto");
  }
  std::string operator()(const Duration& rule) const {
    return toml_string(format_duration(rule.field(config)));
  }
  std::string operator()(const Mode& rule) const {
    return toml_string(fmt::format("{:04o}", rule.field(config)));
  }
  std::string operator()(const HexKey& rule) const {
    return toml_string(fmt::format("{:#x}", rule.field(config)));
  }
  template <class T>
  std::string operator()(const Choice<T>& rule) const {
    return toml_string(name_of(rule, rule.field(config)));
  }
};

}  // namespace

bool accepts_type(const Rule& rule, ValueType type) { return std::visit(TypeAccepter{type}, rule); }

std::string expectation(const Rule& rule) { return std::visit(Expecter{}, rule); }

Result<void> set_value(const Key& key, std::string_view text, MountConfig& config) {
  // A NUL would end the value early in every C interface below, and TOML can write one.
  if (text.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument, "the value contains a NUL byte");
  }
  return std::visit(Setter{text, config}, key.rule);
}

std::string toml_value(const Key& key, MountConfig& config) {
  return std::visit(Writer{config}, key.rule);
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\u{:04X}", byte);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace s3rdmafs::config
