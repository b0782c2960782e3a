// SPDX-License-Identifier: Apache-2.0
#include "upload/buffer_pool.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_fabric.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::upload {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kChunk = 4 * kKiB;
constexpr std::size_t kSlab = 4 * kChunk;

// Two slabs of four chunks.
class BufferPoolTest : public testing::Test {
 protected:
  /// Answered by the test's thread or the pool's.
  class Taken {
   public:
    void set(Result<PartBuffer> answer) {
      answer_ = std::move(answer);
      has_come_ = true;
    }
    [[nodiscard]] bool has_come() const { return has_come_; }
    Result<PartBuffer>& answer() { return *answer_; }
    PartBuffer& buffer() { return answer_->value(); }
    void give_back() {
      has_come_ = false;
      answer_.reset();
    }

   private:
    std::optional<Result<PartBuffer>> answer_;
    std::atomic<bool> has_come_{false};
  };

  std::shared_ptr<Taken> take(std::size_t chunks, std::chrono::seconds patience = 60s) {
    auto taken = std::make_shared<Taken>();
    pool_.take(chunks * kChunk, clock_.now() + patience,
               [taken](Result<PartBuffer> buffer) { taken->set(std::move(buffer)); });
    return taken;
  }
  std::int64_t gauge(std::string_view name) { return metrics_.gauge(name, "").value(); }
  /// The pool's own thread does something within a second or so.
  template <class Condition>
  static void eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::yield();
    }
  }

  fakes::FakeClock clock_;
  fakes::FakeFabric fabric_;
  metrics::Registry metrics_;
  std::unique_ptr<memory::Arena> arena_ =
      memory::Arena::create(2 * kSlab, memory::Arena::Lock::kOff, fabric_,
                            {.access = rdma::Access::kRemoteRead,
                             .slab_bytes = kSlab,
                             .size_key = "write.buffer_size"})
          .value();
  BufferPool pool_{*arena_, kChunk, clock_, metrics_, [] {}};
};

TEST_F(BufferPoolTest, GivesEachItsOwnMemoryWithinOneRegion) {
  const auto one = take(1);
  const auto two = take(2);
  EXPECT_EQ(one->buffer().bytes().size(), kChunk);
  EXPECT_EQ(two->buffer().bytes().size(), 2 * kChunk);
  const auto* const end_of_one = one->buffer().bytes().data() + kChunk;
  EXPECT_TRUE(end_of_one <= two->buffer().bytes().data());
  EXPECT_EQ(two->buffer().window(5).length, 5U);
  EXPECT_EQ(two->buffer().window(5).bytes().data(), two->buffer().bytes().data());
  EXPECT_EQ(gauge("upload_buffers_used_bytes"), 3 * kChunk);
}

TEST_F(BufferPoolTest, KeepsASlabWholeForLargeBuffersWhileSmallOnesFitElsewhere) {
  const auto small = take(1);
  const auto smaller = take(1);
  const auto large = take(4);
  EXPECT_TRUE(large->has_come());
}

TEST_F(BufferPoolTest, MakesTheLateComerWaitUntilRoomIsGivenBack) {
  const auto first = take(4);
  const auto second = take(4);
  const auto third = take(1);
  ASSERT_TRUE(second->has_come());
  EXPECT_FALSE(third->has_come());
  first->give_back();
  EXPECT_TRUE(third->has_come());
}

TEST_F(BufferPoolTest, LetsNoRequestOvertakeOneThatWaitsForALargeBuffer) {
  const auto first = take(4);
  const auto second = take(3);
  const auto large = take(4);
  const auto small = take(1);
  EXPECT_FALSE(small->has_come()) << "although there is room for it";
  first->give_back();
  EXPECT_TRUE(large->has_come());
  EXPECT_TRUE(small->has_come());
}

TEST_F(BufferPoolTest, FailsARequestThatWaitedTooLong) {
  const auto first = take(4);
  const auto second = take(4);
  const auto late = take(1, 5s);
  clock_.advance(6s);
  eventually([&] { return gauge("upload_writes_waiting") == 0; });
  eventually([&] { return late->has_come(); });
  EXPECT_EQ(late->answer().error().code, ErrorCode::kNoMemory);
}

TEST_F(BufferPoolTest, ReusesABufferThatMayStillBeReadOnlyAfterItsRegionWasRenewed) {
  fabric_.hold_fences(true);
  const auto first = take(1);
  const auto neighbour = take(1);
  first->buffer().let_rest();
  first->give_back();
  EXPECT_EQ(gauge("upload_quarantined_bytes"), kSlab);

  const auto whole = take(4);
  const auto waiting = take(1);
  EXPECT_TRUE(whole->has_come()) << "in the other slab";
  EXPECT_FALSE(waiting->has_come());

  neighbour->give_back();
  EXPECT_FALSE(waiting->has_come()) << "empty, but not yet renewed";
  fabric_.hold_fences(false);
  eventually([&] { return gauge("upload_quarantined_bytes") == 0; });
  eventually([&] { return waiting->has_come(); });
  EXPECT_EQ(fabric_.fences(), 1);
}

// The control: a buffer that no server can read is used again at once.
TEST_F(BufferPoolTest, ReusesAnOrdinaryBufferWithoutARenewal) {
  const auto first = take(4);
  const auto second = take(4);
  first->give_back();
  EXPECT_TRUE(take(4)->has_come());
  EXPECT_EQ(fabric_.fences(), 0);
}

TEST_F(BufferPoolTest, DoesNotRenewUnderTheTransfersOfNeighbours) {
  const auto first = take(1);
  const auto neighbour = take(1);
  first->buffer().let_rest();
  first->give_back();
  fabric_.let_fences_fail(false);
  EXPECT_EQ(fabric_.fences(), 0) << "the neighbour's transfer would fail";
  neighbour->give_back();
  eventually([&] { return fabric_.fences() == 1; });
  eventually([&] { return gauge("upload_quarantined_bytes") == 0; });
}

TEST_F(BufferPoolTest, EndsAllWaitingWhenTheMountDoes) {
  const auto first = take(4);
  const auto second = take(4);
  const auto waiting = take(1);
  pool_.shut_down();
  ASSERT_TRUE(waiting->has_come());
  EXPECT_EQ(waiting->answer().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(take(1)->answer().error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace s3rdmafs::upload
