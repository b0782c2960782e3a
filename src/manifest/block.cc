// SPDX-License-Identifier: Apache-2.0
// The layout of a block and of its records.
//
// A reader trusts nothing but the size of the block: a checksum can be right although the file was
// made to harm. So every length is compared with what is left before it is used.
#include "manifest/block.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "manifest/little_endian.h"
#include "s3/wire/server_text.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::manifest {
namespace {

// A block: checksum of the rest, number of the block, number of records, bytes of the records.
constexpr std::size_t kNumberAt = 8;
constexpr std::size_t kCountAt = 16;
constexpr std::size_t kUsedAt = 20;
constexpr std::size_t kRecordsAt = 24;

// A record: bytes shared with the key before, further bytes of the key, bytes of the ETag, flags,
// size, time, CRC64NVME; then both texts.
constexpr std::size_t kRestBytesAt = 2;
constexpr std::size_t kEtagBytesAt = 4;
constexpr std::size_t kFlagsAt = 6;
constexpr std::size_t kSizeAt = 8;
constexpr std::size_t kTimeAt = 16;
constexpr std::size_t kCrcAt = 24;
constexpr std::size_t kRecordBytes = 32;
constexpr std::uint16_t kHasCrc = 1;

static_assert(kRecordsAt + kRecordBytes + kKeyBytesMax + kEtagBytesMax <= kBlockBytes,
              "an empty block has room for any entry");

void store_text(std::span<std::byte> bytes, std::string_view text) {
  std::memcpy(bytes.data(), text.data(), text.size());
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A key with NUL is not one for S3, and the caches rely on that.
bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= kKeyBytesMax && !text.contains('\0');
}

// It becomes a header of requests.
bool is_etag(std::string_view text) {
  return !text.empty() && text.size() <= kEtagBytesMax && s3::is_header_value(text);
}

std::unexpected<Error> damaged_block(std::uint64_t number, std::string_view why) {
  return fail(ErrorCode::kCorrupt, fmt::format("block {} is damaged: {}", number, why));
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::byte> block) {
  return crc64nvme(0, block.subspan(sizeof(std::uint64_t)));
}

Result<void> check_entry(const Entry& entry) {
  if (!is_key(entry.object.key)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a manifest cannot hold the key '{}': a key has 1 to {} bytes, and no "
                            "NUL",
                            entry.object.key.substr(0, kKeyBytesMax), kKeyBytesMax));
  }
  if (!is_etag(entry.object.etag)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' has no ETag that a request can name", entry.object.key));
  }
  return {};
}

bool BlockBuilder::add(const Entry& entry) {
  const std::string& key = entry.object.key;
  const auto differs = std::ranges::mismatch(last_key_, key);
  const auto shared = records_ == 0 ? 0 : static_cast<std::size_t>(differs.in2 - key.begin());
  const std::string_view rest = std::string_view(key).substr(shared);
  const std::string& etag = entry.object.etag;
  const std::size_t bytes = kRecordBytes + rest.size() + etag.size();
  if (kRecordsAt + used_ + bytes > kBlockBytes) return false;

  const std::span<std::byte> record = std::span(bytes_).subspan(kRecordsAt + used_, bytes);
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(
      entry.object.modified.time_since_epoch());
  store(record, static_cast<std::uint16_t>(shared));
  store(record.subspan(kRestBytesAt), static_cast<std::uint16_t>(rest.size()));
  store(record.subspan(kEtagBytesAt), static_cast<std::uint16_t>(etag.size()));
  store(record.subspan(kFlagsAt), entry.crc64nvme ? kHasCrc : std::uint16_t{0});
  store(record.subspan(kSizeAt), entry.object.size_bytes);
  store(record.subspan(kTimeAt), static_cast<std::uint64_t>(time.count()));
  store(record.subspan(kCrcAt), entry.crc64nvme.value_or(0));
  store_text(record.subspan(kRecordBytes), rest);
  store_text(record.subspan(kRecordBytes + rest.size()), etag);
  used_ += bytes;
  ++records_;
  last_key_ = key;
  return true;
}

std::span<const std::byte> BlockBuilder::finish(std::uint64_t number) {
  const std::span<std::byte> block(bytes_);
  std::ranges::fill(block.subspan(kRecordsAt + used_), std::byte{0});
  store(block.subspan(kNumberAt), number);
  store(block.subspan(kCountAt), records_);
  store(block.subspan(kUsedAt), static_cast<std::uint32_t>(used_));
  store(block, checksum_of(block));
  used_ = 0;
  records_ = 0;
  last_key_.clear();
  return block;
}

Block::Block(std::unique_ptr<BlockBytes> bytes, std::uint64_t number)
    : bytes_(std::move(bytes)), number_(number) {}

Result<std::shared_ptr<const Block>> Block::check(std::unique_ptr<BlockBytes> bytes,
                                                  std::uint64_t number) {
  const std::span<const std::byte> all(*bytes);
  if (load<std::uint64_t>(all) != checksum_of(all)) {
    return damaged_block(number, "its checksum is wrong");
  }
  if (load<std::uint64_t>(all.subspan(kNumberAt)) != number) {
    return damaged_block(number, "it is another block");
  }
  const std::uint32_t used = load<std::uint32_t>(all.subspan(kUsedAt));
  const std::uint32_t count = load<std::uint32_t>(all.subspan(kCountAt));
  if (used > kBlockBytes - kRecordsAt || count == 0) {
    return damaged_block(number, "its header is wrong");
  }
  std::shared_ptr<Block> block(new Block(std::move(bytes), number));
  block->room_ = std::span<const std::byte>(*block->bytes_).subspan(kRecordsAt, used);
  block->count_ = count;
  return block;
}

std::uint64_t Block::checksum() const {
  return load<std::uint64_t>(std::span<const std::byte>(*bytes_));
}

Result<std::string_view> Block::first_key() const {
  if (room_.size() < kRecordBytes) return damaged_block(number_, "its first record is cut off");
  const std::size_t bytes = load<std::uint16_t>(room_.subspan(kRestBytesAt));
  const bool is_whole = load<std::uint16_t>(room_) == 0 && bytes > 0;
  if (!is_whole || bytes > room_.size() - kRecordBytes) {
    return damaged_block(number_, "its first key is not whole");
  }
  return as_text(room_.subspan(kRecordBytes, bytes));
}

Result<bool> Block::Records::next(Entry& entry) {
  if (passed_ == block_->count_) return false;
  const std::span<const std::byte> left = block_->room_.subspan(at_);
  if (left.size() < kRecordBytes) return damaged_block(block_->number_, "a record is cut off");
  const std::size_t shared = load<std::uint16_t>(left);
  const std::size_t rest_bytes = load<std::uint16_t>(left.subspan(kRestBytesAt));
  const std::size_t etag_bytes = load<std::uint16_t>(left.subspan(kEtagBytesAt));
  if (shared > key_.size() || rest_bytes + etag_bytes > left.size() - kRecordBytes ||
      rest_bytes == 0 || etag_bytes == 0) {
    return damaged_block(block_->number_, "a record has wrong lengths");
  }
  const std::string_view rest = as_text(left.subspan(kRecordBytes, rest_bytes));
  // Of a key that is greater, the first byte that is not shared is greater, or there was none.
  if (shared < key_.size() &&
      static_cast<unsigned char>(rest.front()) <= static_cast<unsigned char>(key_[shared])) {
    return damaged_block(block_->number_, "its keys are not in order");
  }
  key_.resize(shared);
  key_ += rest;
  const std::string_view etag = as_text(left.subspan(kRecordBytes + rest_bytes, etag_bytes));
  if (!is_key(key_) || !is_etag(etag)) {
    return damaged_block(block_->number_, "a key or an ETag is not one");
  }

  using Time = std::chrono::system_clock::time_point;
  const auto time = static_cast<std::int64_t>(load<std::uint64_t>(left.subspan(kTimeAt)));
  const std::uint16_t flags = load<std::uint16_t>(left.subspan(kFlagsAt));
  entry.object.key = key_;
  entry.object.etag = etag;
  entry.object.size_bytes = load<std::uint64_t>(left.subspan(kSizeAt));
  entry.object.modified =
      Time(std::chrono::duration_cast<Time::duration>(std::chrono::nanoseconds(time)));
  entry.crc64nvme.reset();
  if ((flags & kHasCrc) != 0) entry.crc64nvme = load<std::uint64_t>(left.subspan(kCrcAt));
  at_ += kRecordBytes + rest_bytes + etag_bytes;
  ++passed_;
  return true;
}

}  // namespace s3rdmafs::manifest
