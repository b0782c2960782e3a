// SPDX-License-Identifier: Apache-2.0
// Finds entries in a manifest.
//
// Blocks have one size, so the search halves the range of their numbers and compares the key with
// the first one of a block; within a block records are read one after another, since each key
// needs the one before it.
//
// Cost. A lookup reads a block for each halving. Those that every search reads stay in kept_; the
// others are mostly in the kernel's page cache, and take a copy and a checksum.
#include "manifest/manifest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "manifest/little_endian.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::manifest {
namespace {

std::unexpected<Error> broken(const std::string& name, const Error& error) {
  return fail_with_advice(error.code, "manifest " + name + ": " + error.detail,
                          "run s3rdmafs manifest again");
}

Result<void> read_whole(int file, BlockBytes& bytes, std::uint64_t offset) {
  std::span<std::byte> left(bytes);
  while (!left.empty()) {
    const ssize_t n = ::pread(file, left.data(), left.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read", errno);
    if (n == 0) return fail(ErrorCode::kCorrupt, "it is cut off");
    left = left.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<Header> read_header(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return fail_errno("stat", errno);
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || bytes < kBlockBytes) {
    return fail(ErrorCode::kUnsupported, "it is not a manifest");
  }
  BlockBytes block;
  if (auto ok = read_whole(file, block, 0); !ok) return std::unexpected(ok.error());
  auto header = decode_header(block);
  if (header && (bytes % kBlockBytes != 0 || bytes / kBlockBytes - 1 != header->blocks)) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("it has {} bytes, and {} blocks need other", bytes, header->blocks));
  }
  return header;
}

}  // namespace

Manifest::Manifest(UniqueFd file, std::string name, Header header)
    : file_(std::move(file)), name_(std::move(name)), header_(std::move(header)) {}

Result<std::unique_ptr<Manifest>> Manifest::open(const std::string& path) {
  // O_NONBLOCK: to open a pipe without a writer would wait for one.
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) {
    return fail_with_advice(ErrorCode::kNotFound, "manifest " + path + " does not exist",
                            "s3rdmafs manifest writes it");
  }
  if (!file) return fail_errno("opening manifest " + path, errno);
  return read(std::move(file), path);
}

Result<std::unique_ptr<Manifest>> Manifest::read(UniqueFd file, std::string name) {
  auto header = read_header(file.get());
  if (!header) return broken(name, header.error());
  return std::unique_ptr<Manifest>(
      new Manifest(std::move(file), std::move(name), std::move(*header)));
}

Result<void> Manifest::check_covers(const Origin& wanted) const {
  const Origin& has = header_.origin;
  const auto differs = [this](std::string_view what, std::string_view made, std::string_view is) {
    return fail_with_advice(
        ErrorCode::kConfig,
        fmt::format("manifest {} is of {} '{}', and the mount is of '{}'", name_, what, made, is),
        "name another file in metadata.manifest, or run s3rdmafs manifest with this mount file");
  };
  if (has.bucket != wanted.bucket) return differs("bucket", has.bucket, wanted.bucket);
  if (!wanted.prefix.starts_with(has.prefix)) return differs("prefix", has.prefix, wanted.prefix);
  const bool is_same_store =
      std::ranges::find_first_of(has.endpoints, wanted.endpoints) != has.endpoints.end();
  if (is_same_store) return {};
  return differs("endpoint", fmt::format("{}", fmt::join(has.endpoints, ", ")),
                 fmt::format("{}", fmt::join(wanted.endpoints, ", ")));
}

Result<Manifest::BlockPointer> Manifest::read_block(std::uint64_t number) const {
  auto bytes = std::make_unique<BlockBytes>();
  if (auto ok = read_whole(file_.get(), *bytes, number * kBlockBytes); !ok) {
    return broken(name_, ok.error());
  }
  auto block = Block::check(std::move(bytes), number);
  if (!block) return broken(name_, block.error());
  return block;
}

Result<Manifest::BlockPointer> Manifest::block(std::uint64_t number) {
  Kept& place = kept_.at(number % kBlocksKept);
  if (place.block && place.number == number) return place.block;
  auto block = read_block(number);
  if (block) place = {number, *block};
  return block;
}

Result<std::uint64_t> Manifest::block_of(std::string_view key) {
  std::uint64_t low = 1;                    // its first key is not greater, or it is the first
  std::uint64_t high = header_.blocks + 1;  // its first key is greater, or it is none
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto read = block(middle);
    if (!read) return std::unexpected(read.error());
    const auto first = (*read)->first_key();
    if (!first) return broken(name_, first.error());
    (*first <= key ? low : high) = middle;
  }
  return low;
}

Result<Cursor> Manifest::seek(std::string_view key) {
  Cursor cursor(*this);
  if (header_.blocks == 0) {
    cursor.is_at_end_ = true;
    return cursor;
  }
  const auto number = block_of(key);
  if (!number) return std::unexpected(number.error());
  if (auto ok = cursor.enter(*number); !ok) return std::unexpected(ok.error());
  while (cursor.entry() != nullptr && cursor.entry()->object.key < key) {
    if (auto ok = cursor.advance(); !ok) return std::unexpected(ok.error());
  }
  return cursor;
}

Result<std::optional<Entry>> Manifest::find(const std::string& key) {
  const auto cursor = seek(key);
  if (!cursor) return std::unexpected(cursor.error());
  const Entry* entry = cursor->entry();
  if (entry == nullptr || entry->object.key != key) return std::nullopt;
  return *entry;
}

Result<void> Cursor::enter(std::uint64_t number) {
  auto block = manifest_->block(number);
  if (!block) return std::unexpected(block.error());
  const auto first = (*block)->first_key();
  // A listing goes on after the last key: without order it would not end.
  if (!first || (block_ && *first <= entry_.object.key)) {
    return broken(manifest_->name(), {ErrorCode::kCorrupt, "its keys are not in order"});
  }
  number_ = number;
  block_ = std::move(*block);
  records_ = block_->records();
  return advance();
}

Result<void> Cursor::advance() {
  const auto read = records_->next(entry_);
  if (!read) return broken(manifest_->name(), read.error());
  if (*read) return {};
  if (number_ < manifest_->header().blocks) return enter(number_ + 1);
  is_at_end_ = true;
  return {};
}

Result<void> Manifest::verify() {
  std::uint64_t checksum = 0;
  std::uint64_t objects = 0;
  std::uint64_t object_bytes = 0;
  std::string last_key;
  Entry entry;
  for (std::uint64_t number = 1; number <= header_.blocks; ++number) {
    const auto block = read_block(number);
    if (!block) return std::unexpected(block.error());
    std::array<std::byte, sizeof(std::uint64_t)> bytes{};
    store(std::span<std::byte>(bytes), (*block)->checksum());
    checksum = crc64nvme(checksum, bytes);
    Block::Records records = (*block)->records();
    for (;;) {
      const auto read = records.next(entry);
      if (!read) return broken(name_, read.error());
      if (!*read) break;
      if (entry.object.key <= last_key) {
        return broken(name_, {ErrorCode::kCorrupt, "its keys are not in order"});
      }
      last_key = entry.object.key;
      ++objects;
      object_bytes += entry.object.size_bytes;
    }
  }
  if (checksum != header_.checksum || objects != header_.objects ||
      object_bytes != header_.object_bytes) {
    return broken(name_, {ErrorCode::kCorrupt, "its blocks are not those that its header counts"});
  }
  return {};
}

}  // namespace s3rdmafs::manifest
