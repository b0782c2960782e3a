// SPDX-License-Identifier: Apache-2.0
// Which parts of an object travel, and which the server copies.
//
// Why equal parts. S3 takes parts of 5 MiB or more, but for the last, and 10,000 of them. Where all
// borders are multiples of one size that is large enough, each part that is sent or copied is a
// multiple of it too, so only the last can be short, and no two changes share the cost of a part
// less than they could.
#include "upload/staged/upload_plan.h"

#include <algorithm>

namespace s3rdmafs::upload {
namespace {

std::uint64_t parts_of(std::uint64_t bytes, std::uint64_t part_bytes) {
  return (bytes + part_bytes - 1) / part_bytes;
}

/// The bytes to send where parts have this size: whole parts, cut at the object's end.
ByteRanges bytes_to_send(ByteRange object, std::optional<std::uint64_t> base_bytes,
                         const ByteRanges& changed, std::uint64_t part_bytes) {
  ByteRanges send = changed;
  send.add({std::min(base_bytes.value_or(0), object.end), object.end});
  return send.widened(part_bytes).intersect(object);
}

void divide(std::vector<PlannedPart>& plan, PlannedPart::How how, ByteRange bytes,
            std::uint64_t most_bytes) {
  for (std::uint64_t begin = bytes.begin; begin < bytes.end; begin += most_bytes) {
    plan.push_back({.how = how, .bytes = {begin, std::min(begin + most_bytes, bytes.end)}});
  }
}

}  // namespace

Result<std::vector<PlannedPart>> plan_upload(std::uint64_t size_bytes,
                                             std::optional<std::uint64_t> base_bytes,
                                             const ByteRanges& changed, const PlanLimits& limits) {
  const ByteRange object{.begin = 0, .end = size_bytes};
  for (std::uint64_t part = limits.part_bytes; part <= limits.part_bytes_max; part *= 2) {
    const std::uint64_t copy_most = std::max(limits.copy_bytes_max / part, std::uint64_t{1}) * part;
    const ByteRanges send = bytes_to_send(object, base_bytes, changed, part);
    const ByteRanges copy = send.complement(object);
    std::uint64_t count = 0;
    for (const ByteRange& range : send.list()) count += parts_of(range.size(), part);
    for (const ByteRange& range : copy.list()) count += parts_of(range.size(), copy_most);
    if (count > limits.parts_max) continue;

    std::vector<PlannedPart> plan;
    plan.reserve(count);
    for (const ByteRange& range : send.list()) {
      divide(plan, PlannedPart::How::kSend, range, part);
    }
    for (const ByteRange& range : copy.list()) {
      divide(plan, PlannedPart::How::kCopy, range, copy_most);
    }
    std::ranges::sort(plan, {}, [](const PlannedPart& planned) { return planned.bytes.begin; });
    return plan;
  }
  return fail_with_advice(ErrorCode::kTooLarge,
                          "an object of " + format_size(size_bytes) +
                              " with so many changes needs "
                              "more parts than a server takes",
                          "raise write.part_size or write.buffer_size");
}

Result<std::vector<PlannedPart>> plan_in_order(std::uint64_t size_bytes, const PartSizes& sizes) {
  std::vector<PlannedPart> plan;
  for (std::uint64_t begin = 0; begin < size_bytes; begin = plan.back().bytes.end) {
    if (plan.size() == kPartsMax) {
      return fail_with_advice(ErrorCode::kTooLarge,
                              "an object of " + format_size(size_bytes) +
                                  " that was begun with small parts needs more of them than a "
                                  "server takes",
                              "raise write.part_size");
    }
    const std::uint64_t part_bytes = sizes.of(static_cast<unsigned>(plan.size()) + 1);
    plan.push_back({.how = PlannedPart::How::kSend,
                    .bytes = {begin, std::min(begin + part_bytes, size_bytes)}});
  }
  return plan;
}

}  // namespace s3rdmafs::upload
