// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/read_trace.h"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <utility>

#include "s3rdmafs/base/field.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::string_view kFirstLine =
    "# s3rdmafs trace 1: milliseconds bytes etag key, by first open";

std::string_view cut_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

template <class Number>
bool cut_number(std::string_view& text, Number& number) {
  const std::string_view word = cut_word(text);
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
  return failed == std::errc() && end == word.data() + word.size();
}

}  // namespace

std::string to_line(const TracedOpen& open) {
  return fmt::format("{} {} {} {}", open.at.count(), open.version.size_bytes,
                     escaped_field(open.version.etag), escaped_field(open.version.key));
}

Result<TracedOpen> parse_line(std::string_view line) {
  TracedOpen open;
  std::int64_t milliseconds = 0;
  const bool has_numbers =
      cut_number(line, milliseconds) && cut_number(line, open.version.size_bytes);
  auto etag = unescaped_field(cut_word(line));
  auto key = unescaped_field(line);
  if (!has_numbers || !etag || etag->empty() || !key || key->empty()) {
    return fail(ErrorCode::kProtocol, "it is not 'milliseconds bytes etag key'");
  }
  open.at = std::chrono::milliseconds(milliseconds);
  open.version.etag = std::move(*etag);
  open.version.key = std::move(*key);
  return open;
}

ReadTrace::ReadTrace() : text_(std::string(kFirstLine) + '\n') {}

void ReadTrace::add(const TracedOpen& open) {
  if (!keys_.insert(open.version.key).second) return;
  text_ += to_line(open) + '\n';
  bytes_ += open.version.size_bytes;
}

Result<std::vector<s3::ObjectInfo>> load_trace(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail_errno("the trace " + path, errno);
  std::string line;
  if (!std::getline(file, line) || line != kFirstLine) {
    return fail(ErrorCode::kProtocol,
                fmt::format("{}: it is not a trace; 's3rdmafs warm --record' writes one", path));
  }
  std::vector<s3::ObjectInfo> versions;
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    auto open = parse_line(line);
    if (!open) {
      return fail(open.error().code, fmt::format("{}:{}: {}", path, number, open.error().detail));
    }
    versions.push_back(std::move(open->version));
  }
  if (file.bad()) return fail_errno("reading the trace " + path, errno);
  return versions;
}

}  // namespace s3rdmafs::daemon
