// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/mount_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs {
namespace {

// Space, tab, line feed and backslash are three octal digits after a backslash.
std::string unescaped(std::string_view text) {
  std::string plain;
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size() &&
        std::ranges::all_of(text.substr(at + 1, 3), is_octal)) {
      plain += static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 +
                                 (text[at + 3] - '0'));
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

std::vector<std::string_view> words_in(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool has_option(std::string_view options, std::string_view wanted) {
  return ("," + std::string(options) + ",").contains("," + std::string(wanted) + ",");
}

Result<std::string> read_table(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("open " + path, errno);
  std::string text;
  std::array<char, 65'536> buffer{};
  while (true) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read " + path, errno);
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

std::vector<MountEntry> parse_mount_table(std::string_view text) {
  std::vector<MountEntry> table;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto words = words_in(text.substr(at, end - at));
    at = end + 1;
    // ID PARENT DEVICE ROOT POINT OPTIONS [TAG...] - TYPE SOURCE OPTIONS
    const auto dash = std::ranges::find(words, std::string_view("-"));
    if (words.size() < 7 || words.end() - dash < 3) continue;
    table.push_back({.point = unescaped(words[4]),
                     .device = std::string(words[2]),
                     .type = unescaped(*(dash + 1)),
                     .source = unescaped(*(dash + 2)),
                     .read_only = has_option(words[5], "ro")});
  }
  return table;
}

Result<std::vector<MountEntry>> mount_table_of(const std::string& process) {
  const auto text = read_table(process + "/mountinfo");
  if (!text) return std::unexpected(text.error());
  return parse_mount_table(*text);
}

Result<std::optional<MountEntry>> mount_on(const std::string& path) {
  auto table = mount_table_of("/proc/self");
  if (!table) return std::unexpected(table.error());
  std::optional<MountEntry> found;
  for (MountEntry& entry : *table) {
    if (entry.point == path) found = std::move(entry);  // later ones are on top
  }
  return found;
}

bool is_ours(const MountEntry& entry) noexcept { return entry.type == "fuse.s3rdma"; }

}  // namespace s3rdmafs
