// SPDX-License-Identifier: Apache-2.0
#include "journal/record.h"

#include <charconv>
#include <cstdint>
#include <span>

#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/field.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::journal {
namespace {

constexpr std::size_t kChecksumDigits = 8;

template <class Number>
std::optional<Number> hex_number(std::string_view digits) {
  Number number = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  if (failed != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::uint32_t checksum_of(std::string_view text) {
  return crc32c(0, std::as_bytes(std::span(text)));
}

}  // namespace

std::string line_of(const Record& record) {
  std::size_t length = kChecksumDigits + record.kind.size() + 2;
  for (const std::string& field : record.fields) length += field.size() + 1;
  std::string line(kChecksumDigits, '0');
  line.reserve(length);  // more where something is escaped
  line += '\t';
  line += escaped_field(record.kind);
  for (const std::string& field : record.fields) {
    line += '\t';
    line += escaped_field(field);
  }
  const std::uint32_t checksum = checksum_of(std::string_view(line).substr(kChecksumDigits));
  fmt::format_to(line.begin(), "{:08x}", checksum);
  line += '\n';
  return line;
}

std::optional<Record> parse_line(std::string_view line) {
  if (line.size() <= kChecksumDigits + 1 || line[kChecksumDigits] != '\t') return std::nullopt;
  const auto checksum = hex_number<std::uint32_t>(line.substr(0, kChecksumDigits));
  std::string_view rest = line.substr(kChecksumDigits);
  if (checksum != checksum_of(rest)) return std::nullopt;

  Record record;
  bool is_kind = true;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the tab
    const std::size_t end = rest.find('\t');
    auto field = unescaped_field(rest.substr(0, end));
    if (!field) return std::nullopt;
    if (is_kind) {
      record.kind = std::move(*field);
    } else {
      record.fields.push_back(std::move(*field));
    }
    is_kind = false;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  }
  return record;
}

}  // namespace s3rdmafs::journal
