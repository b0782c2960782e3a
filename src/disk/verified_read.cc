// SPDX-License-Identifier: Apache-2.0
// Runs of whole units are read straight into the caller's memory where that is aligned, which cache
// blocks are. A unit that is wanted in part, or is shorter than a unit, takes the way through the
// scratch memory: a checksum needs all of it, and O_DIRECT would write past its end.
#include "disk/verified_read.h"

#include <algorithm>
#include <cstring>

#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::disk {
namespace {

bool is_aligned(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % kDiskBlockBytes == 0;
}

class PieceReader {
 public:
  PieceReader(const Piece& piece, std::span<std::byte> into, Scratch& scratch)
      : piece_(piece), into_(into), scratch_(scratch) {}

  Result<void> run() {
    while (at_ < piece_.range.end) {
      const std::uint32_t end = end_of_whole_units();
      if (auto ok = end > at_ ? read_whole_units(end) : read_by_scratch(); !ok) return ok;
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t unit_at(std::uint32_t at) const {
    return (at - piece_.extent.range.begin) / kUnitBytes;
  }
  [[nodiscard]] std::uint64_t position_of_unit(std::size_t unit) const {
    return piece_.extent.position_bytes + unit * kUnitBytes;
  }

  // at_ itself where no whole unit can be read from there on.
  [[nodiscard]] std::uint32_t end_of_whole_units() const {
    const bool begins_unit = (at_ - piece_.extent.range.begin) % kUnitBytes == 0;
    const bool may_read = !piece_.segment->is_direct() || is_aligned(rest().data());
    if (!begins_unit || !may_read) return at_;
    return at_ + static_cast<std::uint32_t>(round_down(piece_.range.end - at_, kUnitBytes));
  }

  Result<void> read_whole_units(std::uint32_t end) {
    const std::size_t first = unit_at(at_);
    const std::span<std::byte> bytes = rest().first(end - at_);
    if (auto ok = piece_.segment->read(position_of_unit(first), bytes); !ok) return ok;
    for (std::size_t i = 0; i * kUnitBytes < bytes.size(); ++i) {
      if (auto ok = check(first + i, bytes.subspan(i * kUnitBytes, kUnitBytes)); !ok) return ok;
    }
    at_ = end;
    return {};
  }

  Result<void> read_by_scratch() {
    const std::size_t unit = unit_at(at_);
    const auto unit_begin =
        piece_.extent.range.begin + static_cast<std::uint32_t>(unit * kUnitBytes);
    const auto unit_length = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(kUnitBytes, piece_.extent.range.end - unit_begin));
    const std::span<std::byte> scratch(scratch_.bytes);
    const auto read = piece_.segment->read(position_of_unit(unit),
                                           scratch.first(round_up(unit_length, kDiskBlockBytes)));
    if (!read) return read;
    if (auto ok = check(unit, scratch.first(unit_length)); !ok) return ok;
    const std::uint32_t end = std::min(piece_.range.end, unit_begin + unit_length);
    std::memcpy(rest().data(), scratch.data() + (at_ - unit_begin), end - at_);
    at_ = end;
    return {};
  }

  Result<void> check(std::size_t unit, std::span<const std::byte> bytes) const {
    if (crc64nvme(0, bytes) == piece_.checksums.at(unit)) return {};
    return fail(ErrorCode::kCorrupt, "the disk cache has other bytes than were written");
  }

  [[nodiscard]] std::span<std::byte> rest() const {
    return into_.subspan(at_ - piece_.range.begin);
  }

  const Piece& piece_;
  const std::span<std::byte> into_;
  Scratch& scratch_;
  std::uint32_t at_ = piece_.range.begin;  // in the chunk
};

}  // namespace

Result<void> read_verified(const Piece& piece, std::span<std::byte> into, Scratch& scratch) {
  return PieceReader(piece, into, scratch).run();
}

}  // namespace s3rdmafs::disk
