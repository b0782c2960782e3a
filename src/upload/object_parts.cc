// SPDX-License-Identifier: Apache-2.0
#include "upload/object_parts.h"

#include <algorithm>
#include <cstring>

#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::upload {

s3::PutBody Part::body() const { return {.window = buffer.window(length), .crc64nvme = crc64nvme}; }

std::size_t ObjectParts::fill(std::span<const std::byte> bytes) {
  if (!is_filling()) return 0;
  const std::span<std::byte> room = filling_.buffer.bytes().subspan(filling_.length);
  const auto some = bytes.first(std::min(bytes.size(), room.size()));
  if (some.empty()) return 0;
  std::memcpy(room.data(), some.data(), some.size());
  filling_.crc64nvme = crc64nvme(filling_.crc64nvme, some);
  filling_.length += some.size();
  return some.size();
}

void ObjectParts::begin(PartBuffer buffer) {
  filling_ = Part{.number = ++begun_, .buffer = std::move(buffer)};
}

void ObjectParts::end_filling() {
  ready_.push_back(std::make_shared<Part>(std::exchange(filling_, {})));
}

s3::PutBody ObjectParts::whole_body() const {
  return filling_.length > 0 ? filling_.body() : s3::PutBody{};
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
