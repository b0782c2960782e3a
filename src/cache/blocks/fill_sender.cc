// SPDX-License-Identifier: Apache-2.0
#include "cache/blocks/fill_sender.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace s3rdmafs::cache {

void FillSender::send(Fill fill) {
  const Block& block = *fill.block;
  const CachedObject& object = *block.object;
  const std::uint64_t in_block = fill.units.first * kUnitBytes;
  const std::uint64_t offset = block.object_offset() + in_block;
  const std::uint64_t length = std::min((fill.units.last - fill.units.first) * kUnitBytes,
                                        object.version.size_bytes - offset);

  s3::GetRequest request{.key = object.version.key,
                         .etag = object.version.etag,
                         .offset_bytes = offset,
                         .window = {.region = &arena_.region(block.place.slab),
                                    .offset = block.place.slot * block.size_bytes() + in_block,
                                    .length = length},
                         .can_restart = true};
  const Deadline deadline = fill.deadline;
  store_.get(std::move(request), deadline,
             [this, fill = std::move(fill), length, sent = clock_.now()](const Outcome& outcome) {
               if (const auto now = clock_.now(); outcome)
                 transfers_.on_done(length, now - sent, now);
               on_done_(fill, outcome);
             });
}

}  // namespace s3rdmafs::cache
