// SPDX-License-Identifier: Apache-2.0
// The attribute's text:
//
//   v 1
//   size 1048576
//   mtime 1732147200 123456789
//   etag 9e107d9d372bb6826bd81d3542a419d6-2
//   parts 5242880x199 123
//   composite
//   h content-type text/plain
//   c x-amz-checksum-crc32c yZRlqg==
//
// Header values hold no line breaks (the HTTP library refuses them), so lines need no quoting.
#include "target/store/metadata.h"

#include <sys/stat.h>

#include <charconv>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

std::string encode_parts(const std::vector<std::uint64_t>& sizes) {
  // Runs of equal sizes: uploads have thousands of equal parts, an attribute has 4 KiB on ext4.
  std::string text;
  for (std::size_t i = 0; i < sizes.size();) {
    std::size_t end = i;
    while (end < sizes.size() && sizes[end] == sizes[i]) ++end;
    text += fmt::format(" {}x{}", sizes[i], end - i);
    i = end;
  }
  return text;
}

template <class T>
bool parse_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string_view next_word(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::vector<std::uint64_t> decode_parts(std::string_view text) {
  // As many parts as S3 allows; more means that the text is damaged.
  constexpr std::size_t kPartsMax = 10'000;
  std::vector<std::uint64_t> sizes;
  while (!text.empty()) {
    std::string_view run = next_word(text, ' ');
    std::uint64_t size = 0;
    std::size_t count = 0;
    if (!parse_number(next_word(run, 'x'), size) || !parse_number(run, count) ||
        count > kPartsMax - sizes.size()) {
      return {};
    }
    sizes.insert(sizes.end(), count, size);
  }
  return sizes;
}

}  // namespace

FileStamp FileStamp::of(const struct stat& status) {
  return {.size_bytes = static_cast<std::uint64_t>(status.st_size), .modified = status.st_mtim};
}

std::string encode_metadata(const Metadata& metadata, const FileStamp& stamp) {
  std::string text = fmt::format("v 1\nsize {}\nmtime {} {}\netag {}\n", stamp.size_bytes,
                                 stamp.modified.tv_sec, stamp.modified.tv_nsec, metadata.etag);
  if (!metadata.part_sizes.empty()) text += "parts" + encode_parts(metadata.part_sizes) + "\n";
  if (metadata.checksums_are_composite) text += "composite\n";
  for (const auto& [name, value] : metadata.headers) text += fmt::format("h {} {}\n", name, value);
  for (const auto& [name, value] : metadata.checksums) {
    text += fmt::format("c {} {}\n", name, value);
  }
  return text;
}

std::optional<Metadata> decode_metadata(std::string_view text, const FileStamp& now) {
  if (!text.starts_with("v 1\n")) return std::nullopt;
  Metadata metadata;
  FileStamp then;
  while (!text.empty()) {
    std::string_view line = next_word(text, '\n');
    const std::string_view kind = next_word(line, ' ');
    if (kind == "size") {
      if (!parse_number(line, then.size_bytes)) return std::nullopt;
    } else if (kind == "mtime") {
      const std::string_view seconds = next_word(line, ' ');
      if (!parse_number(seconds, then.modified.tv_sec) ||
          !parse_number(line, then.modified.tv_nsec)) {
        return std::nullopt;
      }
    } else if (kind == "etag") {
      metadata.etag = line;
    } else if (kind == "parts") {
      metadata.part_sizes = decode_parts(line);
    } else if (kind == "composite") {
      metadata.checksums_are_composite = true;
    } else if (kind == "h" || kind == "c") {
      const std::string_view name = next_word(line, ' ');
      (kind == "h" ? metadata.headers : metadata.checksums).emplace_back(name, line);
    }
  }
  const bool same_file = then.size_bytes == now.size_bytes &&
                         then.modified.tv_sec == now.modified.tv_sec &&
                         then.modified.tv_nsec == now.modified.tv_nsec;
  if (!same_file) {
    metadata.etag.clear();
    metadata.checksums.clear();
    metadata.checksums_are_composite = false;
    metadata.part_sizes.clear();
  }
  return metadata;
}

std::string synthesized_etag(const struct stat& status) {
  const std::string identity =
      fmt::format("{} {} {}.{} {}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
                  status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
  return s3::sha256_hex(identity).substr(0, 32) + "-1";
}

}  // namespace s3rdmafs::target
