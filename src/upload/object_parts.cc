// SPDX-License-Identifier: Apache-2.0
#include "upload/object_parts.h"

#include <algorithm>
#include <cstring>

#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::upload {

s3::PutBody Part::body() const { return {.window = buffer.window(length), .crc64nvme = crc64nvme}; }

void Part::add_piece(std::size_t offset, std::size_t piece_length, std::uint64_t crc) {
  early.emplace(offset, Piece{.length = piece_length, .crc64nvme = crc});
  while (!early.empty() && early.begin()->first == arrived) {
    const Piece next = early.extract(early.begin()).mapped();
    crc64nvme = crc64nvme_joined(crc64nvme, next.crc64nvme, next.length);
    arrived += next.length;
  }
}

std::uint64_t Landing::copy(std::span<const std::byte> bytes) const {
  const std::span<std::byte> place = part->buffer.bytes().subspan(offset, length);
  std::memcpy(place.data(), bytes.data(), length);
  return crc64nvme(0, bytes);
}

Landing ObjectParts::reserve(std::size_t length) {
  const std::size_t offset = filling_->length;
  filling_->length += length;
  return {.part = filling_, .offset = offset, .length = length};
}

std::size_t ObjectParts::fill(std::span<const std::byte> bytes) {
  const auto some = bytes.first(std::min(bytes.size(), room()));
  if (some.empty()) return 0;
  const Landing landing = reserve(some.size());
  land(landing, landing.copy(some));
  return some.size();
}

void ObjectParts::begin(PartBuffer buffer) {
  filling_ = std::make_shared<Part>();
  filling_->number = ++begun_;
  filling_->buffer = std::move(buffer);
}

void ObjectParts::end_filling() { ready_.push_back(std::exchange(filling_, nullptr)); }

s3::PutBody ObjectParts::whole_body() const {
  return filling_ && filling_->length > 0 ? filling_->body() : s3::PutBody{};
}

std::shared_ptr<Part> ObjectParts::take_ready() {
  auto part = std::move(ready_.front());
  ready_.pop_front();
  return part;
}

std::vector<s3::UploadedPart> ObjectParts::take_sent() {
  std::vector<s3::UploadedPart> parts;
  parts.reserve(sent_.size());
  for (auto& [number, part] : sent_) parts.push_back(std::move(part));
  sent_.clear();
  return parts;
}

}  // namespace s3rdmafs::upload
