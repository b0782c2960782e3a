// SPDX-License-Identifier: Apache-2.0
// Rows of CSV, as RFC 4180 has them: quotes around a field are doubled inside it. S3 encodes keys,
// so that no field has a line break.
#include "manifest/inventory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "s3/wire/server_text.h"
#include "s3rdmafs/base/ascii.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/s3/uri.h"

namespace s3rdmafs::manifest {
namespace {

constexpr std::string_view kUsualSchema = "Bucket, Key, Size, LastModifiedDate, ETag";
// A key of 1,024 bytes has 3,072 when it is encoded; the other fields are short.
constexpr std::streamsize kRowBytesMax = 64 * kKiB;
constexpr std::uintmax_t kSchemaFileBytesMax = 64 * kMiB;  // it names every file of the inventory

// The fields of a row; nothing where a quote does not end.
std::optional<std::vector<std::string>> fields_of(std::string_view row) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (std::size_t at = 0; at < row.size(); ++at) {
    const char c = row[at];
    if (is_quoted && c == '"' && row.substr(at + 1).starts_with('"')) {
      fields.back() += c;
      ++at;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (is_quoted) return std::nullopt;
  return fields;
}

// The text of a member of a JSON object; empty if there is none. Schemas have no escapes.
std::string_view json_text(std::string_view json, std::string_view name) {
  std::size_t at = json.find('"' + std::string(name) + '"');
  if (at == std::string_view::npos) return {};
  at = json.find(':', at);
  const std::size_t begin = at == std::string_view::npos ? at : json.find('"', at);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = json.find('"', begin + 1);
  return end == std::string_view::npos ? "" : json.substr(begin + 1, end - begin - 1);
}

// A "+" that is not encoded is a blank: in keys it is always encoded.
Result<std::string> decoded_key(std::string text) {
  for (std::size_t at = text.find('+'); at != std::string::npos; at = text.find('+', at)) {
    text.replace(at, 1, "%20");
  }
  return s3::uri_decode(text);
}

std::optional<std::chrono::system_clock::time_point> inventory_time(const std::string& text) {
  std::tm parts{};
  if (::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return std::nullopt;
  return s3::nearest_time(::timegm(&parts));
}

std::unexpected<Error> bad_row(std::string what) {
  return fail(ErrorCode::kInvalidArgument, std::move(what));
}

}  // namespace

Result<void> InventoryReader::set_columns(std::string_view schema) {
  const std::pair<std::string_view, int Columns::*> known_names[] = {
      {"Bucket", &Columns::bucket},      {"Key", &Columns::key},
      {"IsLatest", &Columns::is_latest}, {"IsDeleteMarker", &Columns::is_delete_marker},
      {"Size", &Columns::size},          {"LastModifiedDate", &Columns::modified},
      {"ETag", &Columns::etag},
  };
  columns_ = {};
  const auto names = fields_of(schema).value_or(std::vector<std::string>());
  for (std::size_t at = 0; at < names.size(); ++at) {
    const auto known = std::ranges::find(known_names, ascii_trimmed(names[at]),
                                         [](const auto& name) { return name.first; });
    if (known != std::end(known_names)) columns_.*known->second = static_cast<int>(at);
  }
  if (std::min({columns_.key, columns_.size, columns_.modified, columns_.etag}) >= 0) return {};
  return fail_with_advice(
      ErrorCode::kInvalidArgument, fmt::format("the inventory has the columns '{}' only", schema),
      "it needs Key, Size, LastModifiedDate and ETag: add them to the inventory's configuration");
}

Result<void> InventoryReader::read_schema(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string json(kSchemaFileBytesMax, '\0');
  file.read(json.data(), static_cast<std::streamsize>(json.size()));
  json.resize(static_cast<std::size_t>(file.gcount()));
  const std::string_view format = json_text(json, "fileFormat");
  if (!format.empty() && format != "CSV") {
    return fail_with_advice(ErrorCode::kUnsupported,
                            fmt::format("{} is of an inventory in {}", path, format),
                            "have the inventory written as CSV");
  }
  const std::string_view schema = json_text(json, "fileSchema");
  if (schema.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                path + " has no fileSchema: it is not the manifest.json of an inventory");
  }
  return set_columns(schema);
}

Result<void> InventoryReader::take_row(const std::vector<std::string>& row,
                                       const Take& take) const {
  const auto field = [&row](int column) -> std::string_view {
    return column >= 0 ? row[static_cast<std::size_t>(column)] : std::string_view();
  };
  const int last =
      std::max({columns_.bucket, columns_.key, columns_.is_latest, columns_.is_delete_marker,
                columns_.size, columns_.modified, columns_.etag});
  if (row.size() <= static_cast<std::size_t>(last)) {
    return bad_row(
        fmt::format("it has {} columns; pass the inventory's manifest.json before it", row.size()));
  }
  if (columns_.bucket >= 0 && field(columns_.bucket) != bucket_) {
    return bad_row(fmt::format("it is of bucket '{}', and the mount file names '{}'",
                               field(columns_.bucket), bucket_));
  }
  if (field(columns_.is_latest) == "false" || field(columns_.is_delete_marker) == "true") return {};
  auto key = decoded_key(std::string(field(columns_.key)));
  if (!key) return std::unexpected(key.error());
  if (!key->starts_with(prefix_)) return {};

  Entry entry{.object = {.key = std::move(*key), .etag = {}, .size_bytes = 0, .modified = {}}};
  const std::string_view size = field(columns_.size);
  const auto parsed =
      std::from_chars(size.data(), size.data() + size.size(), entry.object.size_bytes);
  if (parsed.ec != std::errc() || parsed.ptr != size.data() + size.size()) {
    return bad_row(fmt::format("'{}' is not a size", size));
  }
  const auto modified = inventory_time(std::string(field(columns_.modified)));
  if (!modified) return bad_row(fmt::format("'{}' is not a time", field(columns_.modified)));
  entry.object.modified = *modified;
  const std::string_view etag = field(columns_.etag);
  // Servers send it in quotes, and requests name it so; inventories leave them out.
  entry.object.etag = etag.empty() || etag.contains('"') ? etag : fmt::format("\"{}\"", etag);
  return take(std::move(entry));
}

Result<void> InventoryReader::read_rows(const std::string& path, const Take& take) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail_errno("opening " + path, errno);
  const auto buffer = std::make_unique<std::array<char, kRowBytesMax>>();
  for (std::uint64_t line = 1; file.getline(buffer->data(), kRowBytesMax); ++line) {
    const std::string_view row = ascii_trimmed(buffer->data());
    if (line == 1 && row.starts_with("\x1f\x8b")) {
      return fail_with_advice(
          ErrorCode::kUnsupported, path + " is compressed",
          "unpack it with gunzip, or pass /dev/stdin and pipe the output of zcat into this");
    }
    if (row.empty()) continue;
    const auto fields = fields_of(row);
    auto taken = fields ? take_row(*fields, take) : bad_row("a quote does not end");
    if (!taken) return fail_with_context(fmt::format("{}:{}", path, line), taken.error());
  }
  if (!file.eof()) return bad_row(path + " has a row that is too long for an inventory's");
  return {};
}

Result<void> InventoryReader::read(const std::vector<std::string>& paths, const Take& take) {
  if (auto usual = set_columns(kUsualSchema); !usual) return usual;
  for (const std::string& path : paths) {
    if (!path.ends_with(".json")) continue;
    if (auto read = read_schema(path); !read) return read;
  }
  for (const std::string& path : paths) {
    if (path.ends_with(".json")) continue;
    if (auto read = read_rows(path, take); !read) return read;
  }
  return {};
}

}  // namespace s3rdmafs::manifest
