// SPDX-License-Identifier: Apache-2.0
// Names in little memory.
//
// A ListedName takes some 280 bytes: strings of their own for name, key and ETag, and members that
// no listed name has. A directory of a million names must be held while it is open (see
// directory_snapshot.cc), so here each takes a record of 24 bytes, and its text stands with that of
// its page. The key follows from the name. Most ETags are an MD5 sum in hexadecimal, which takes 16
// bytes instead of 34.
#include "vfs/directories/name_store.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace s3rdmafs::vfs {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kPackedBytes = 16;

/// The bytes of an ETag of 32 digits in quotes; nothing for any other.
std::optional<std::string> pack_etag(std::string_view etag) {
  if (etag.size() != 2 * kPackedBytes + 2 || !etag.starts_with('"') || !etag.ends_with('"')) {
    return std::nullopt;
  }
  std::string packed;
  for (std::size_t i = 1; i + 1 < etag.size(); i += 2) {
    const std::size_t high = kDigits.find(etag[i]);
    const std::size_t low = kDigits.find(etag[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    packed += static_cast<char>(high * kDigits.size() + low);
  }
  return packed;
}

std::string unpack_etag(std::string_view packed) {
  std::string etag = "\"";
  for (const char each : packed) {
    const auto byte = static_cast<unsigned char>(each);
    etag += kDigits[byte / kDigits.size()];
    etag += kDigits[byte % kDigits.size()];
  }
  return etag + '"';
}

}  // namespace

void NameStore::add(Page& page, const ListedName& listed) {
  const s3::ObjectInfo& object = listed.node.object;
  const std::optional<std::string> packed = pack_etag(object.etag);
  const std::string& etag = packed ? *packed : object.etag;
  Record record;
  record.text_at = static_cast<std::uint32_t>(page.text.size());
  record.etag_length = static_cast<std::uint16_t>(etag.size());
  record.name_length = static_cast<std::uint8_t>(listed.name.size());
  record.is_directory = listed.node.is_directory;
  record.has_packed_etag = packed.has_value();
  record.size_bytes = object.size_bytes;
  record.modified = object.modified;
  page.text += listed.name;
  page.text += etag;
  page.records.push_back(record);
}

void NameStore::add(std::span<const ListedName> names) {
  while (!names.empty()) {
    const auto same = std::ranges::find_if(names, [&names](const ListedName& listed) {
      return listed.seen_at != names.front().seen_at;
    });
    const auto count = static_cast<std::size_t>(same - names.begin());
    add_page(names.first(count));
    names = names.subspan(count);
  }
}

void NameStore::add_page(std::span<const ListedName> names) {
  Page page{.first = size_, .seen_at = names.front().seen_at, .records = {}, .text = {}};
  page.records.reserve(names.size());
  for (const ListedName& listed : names) add(page, listed);
  page.text.shrink_to_fit();
  size_ += names.size();
  bytes_ += sizeof(Page) + page.records.capacity() * sizeof(Record) + page.text.capacity();
  pages_.push_back(std::move(page));
}

ListedName NameStore::at(std::size_t index) const {
  const auto after = std::ranges::upper_bound(pages_, index, {}, &Page::first);
  const Page& page = *std::prev(after);
  const Record& record = page.records[index - page.first];
  const std::string_view text = page.text;
  const std::string_view name = text.substr(record.text_at, record.name_length);
  const std::string_view etag =
      text.substr(record.text_at + record.name_length, record.etag_length);
  ListedName listed{.name = std::string(name), .node = {}, .seen_at = page.seen_at};
  listed.node.is_directory = record.is_directory;
  listed.node.object.key = prefix_ + listed.name + (record.is_directory ? "/" : "");
  listed.node.object.etag = record.has_packed_etag ? unpack_etag(etag) : std::string(etag);
  listed.node.object.size_bytes = record.size_bytes;
  listed.node.object.modified = record.modified;
  return listed;
}

}  // namespace s3rdmafs::vfs
