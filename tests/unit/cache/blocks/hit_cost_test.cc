// SPDX-License-Identifier: Apache-2.0
// The cost of a hit. Most reads of a mount are hits.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "cache/blocks/block_cache.h"
#include "fakes/allocation_count.h"
#include "fakes/cache_world.h"

namespace s3rdmafs::cache {
namespace {

class HitCost : public testing::Test, protected fakes::CacheWorld {
 protected:
  static constexpr std::size_t kObjectBytes = 12 * kMiB;

  void TearDown() override { store_.shut_down(); }

  // Of one read, until its bytes are given and released.
  std::size_t allocations_of(std::uint64_t offset, std::size_t length) {
    const std::size_t before = fakes::allocations_of_this_thread();
    reader_->read(offset, length, Deadline::max(),
                  [this](Result<PinnedBytes> bytes) { bytes_read_ = bytes->size_bytes(); });
    EXPECT_EQ(bytes_read_, length);
    return fakes::allocations_of_this_thread() - before;
  }

  std::unique_ptr<memory::Arena> arena_ = make_arena(8);
  BlockCache cache_{*arena_, store_, clock_, metrics_, {.fill_deadline = std::chrono::seconds(30)}};
  std::shared_ptr<ObjectReader> reader_ =
      cache_.open({.key = "object",
                   .etag = store_.put("object", std::string(kObjectBytes, 'x')),
                   .size_bytes = kObjectBytes});
  std::size_t bytes_read_ = 0;
};

TEST_F(HitCost, IsOneAllocationForEachBlockTouched) {
  if (!fakes::kCountsAllocations) return;  // under ThreadSanitizer; every other build counts
  const std::size_t of_a_miss = allocations_of(0, 4 * kMiB);
  for (const std::uint64_t offset : {4 * kMiB, 8 * kMiB}) {
    static_cast<void>(allocations_of(offset, 4 * kMiB));
  }

  EXPECT_EQ(allocations_of(0, 4096), 1U);
  EXPECT_EQ(allocations_of(kMiB, kMiB), 1U);
  EXPECT_EQ(allocations_of(6 * kMiB, 4 * kMiB), 2U) << "over the border of two blocks";
  EXPECT_GT(of_a_miss, 4U) << "the control: allocations are seen";
}

}  // namespace
}  // namespace s3rdmafs::cache
