// SPDX-License-Identifier: Apache-2.0
// The block cache against its model, which is one sentence: a read that succeeds gives the bytes of
// the version it was opened for, and goes on giving them while it is held, whatever else happens:
// eviction, failures, new versions, and servers that write after they were given up.
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <ostream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "../kinds.h"
#include "cache/blocks/block_cache.h"
#include "fakes/cache_world.h"

namespace s3rdmafs::cache {

/// One step of a run; what the numbers mean depends on the kind.
struct Command {
  enum class Kind { kRead, kLetGo, kReplace, kLoseAnswer, kWriteLate, kFence };
  Kind kind = Kind::kRead;
  std::size_t object = 0;
  std::uint64_t offset = 0;
  std::size_t length = 0;
};

std::ostream& operator<<(std::ostream& out, const Command& command) {
  constexpr const char* kNames[] = {"read",        "let go",     "replace",
                                    "lose answer", "write late", "fence"};
  return out << kNames[static_cast<int>(command.kind)] << " object " << command.object << " at "
             << command.offset << " + " << command.length;
}

namespace {

using fakes::FakeObjectStore;

// One of each block class, the last of three blocks.
constexpr std::size_t kSizes[] = {30'000, 300'000, 9 * kMiB};
constexpr std::size_t kObjects = std::size(kSizes);

class CheckedCache : private fakes::CacheWorld {
 public:
  /// @param obeys_quarantine  false lets the server write late into memory that is already safe
  ///                          again: the planted bug that the model must see
  explicit CheckedCache(bool obeys_quarantine) : obeys_quarantine_(obeys_quarantine) {
    fabric_.hold_fences(true);
    store_.fail_if([this](const FakeObjectStore::Call& call) { return maybe_lose(call); });
    for (std::size_t i = 0; i < kObjects; ++i) replace(i);
  }
  ~CheckedCache() {
    held_.clear();
    readers_.clear();
    store_.shut_down();
    fabric_.hold_fences(false);
  }
  CheckedCache(const CheckedCache&) = delete;
  CheckedCache& operator=(const CheckedCache&) = delete;

  /// Empty, or what was wrong.
  std::string run(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
      if (std::string problem = step(command); !problem.empty()) return problem;
    }
    held_.clear();
    fence();
    for (const char* gauge : {"cache_pins", "cache_fills_in_flight", "cache_reads_waiting"}) {
      if (metrics_.gauge(gauge, "").value() != 0) return std::string(gauge) + " is not zero";
    }
    return "";
  }

 private:
  struct Held {
    PinnedBytes bytes;
    std::string expected;
  };

  std::string step(const Command& command) {
    switch (command.kind) {
      case Command::Kind::kRead:
        return read(command);
      case Command::Kind::kReplace:
        replace(command.object);
        break;
      case Command::Kind::kLetGo:
        if (!held_.empty())
          held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(command.offset % held_.size()));
        break;
      case Command::Kind::kLoseAnswer: {
        const MutexLock lock(mutex_);
        ++answers_to_lose_;
        break;
      }
      case Command::Kind::kWriteLate:
        write_late();
        break;
      case Command::Kind::kFence:
        fence();
        break;
    }
    return check_held();
  }

  void replace(std::size_t object) {
    std::string& bytes = contents_[object];
    bytes.assign(kSizes[object], '\0');
    ++versions_;
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      const std::uint64_t word = (at + versions_) * 0x9E3779B97F4A7C15;
      std::memcpy(&bytes[at], &word, sizeof(word));
    }
    const std::string key = "object" + std::to_string(object);
    const std::string etag = store_.put(key, bytes);
    readers_.resize(kObjects);
    readers_[object] = cache_.open({.key = key, .etag = etag, .size_bytes = bytes.size()});
  }

  std::string read(const Command& command) {
    const std::string& content = contents_[command.object];
    const std::uint64_t offset = command.offset % (content.size() + 1000);
    std::optional<Result<PinnedBytes>> outcome;
    std::atomic<bool> answered{false};
    readers_[command.object]->read(offset, command.length, clock_.now() + std::chrono::seconds(1),
                                   [&](Result<PinnedBytes> result) {
                                     outcome = std::move(result);
                                     answered = true;
                                   });
    if (!answered) {  // all memory is held or in quarantine: it comes when that ends
      fence();
      while (!answered) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!*outcome) return check_held();
    constexpr std::size_t kHeldMax = 3;
    if (held_.size() == kHeldMax) held_.erase(held_.begin());
    held_.push_back({.bytes = std::move(**outcome),
                     .expected = offset < content.size() ? content.substr(offset, command.length)
                                                         : std::string()});
    return check_held();
  }

  // A GET whose answer is lost leaves the server with the right to write into its window. Called by
  // the thread that fences as well.
  std::optional<s3::GetFailure> maybe_lose(const FakeObjectStore::Call& call) {
    if (call.operation != FakeObjectStore::Operation::kGet) return std::nullopt;
    const MutexLock lock(mutex_);
    if (answers_to_lose_ == 0) return std::nullopt;
    --answers_to_lose_;
    late_.push_back(call.window);
    return s3::GetFailure{.error = {ErrorCode::kTimedOut, "lost"}, .late_write_possible = true};
  }

  void write_late() {
    const MutexLock lock(mutex_);
    for (const rdma::Window& window : late_) std::ranges::fill(window.bytes(), std::byte{0xEE});
  }

  // All regions are fenced: the server's rights end, and unless the bug is planted it knows that.
  void fence() {
    held_.clear();
    fabric_.hold_fences(false);
    while (metrics_.gauge("cache_slabs", "", R"(state="quarantined")").value() != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    fabric_.hold_fences(true);
    const MutexLock lock(mutex_);
    if (obeys_quarantine_) late_.clear();
  }

  std::string check_held() const {
    for (const Held& held : held_) {
      std::string text;
      for (const auto piece : held.bytes.pieces()) {
        text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      }
      if (text != held.expected) return "a read holds wrong bytes";
    }
    return "";
  }

  const bool obeys_quarantine_;
  std::unique_ptr<memory::Arena> arena_ = make_arena(3);
  BlockCache cache_{
      *arena_, store_, clock_, metrics_,
      BlockCache::Options{.read_ahead_max_bytes = 0, .fill_deadline = std::chrono::seconds(1)}};
  std::array<std::string, kObjects> contents_;
  std::vector<std::shared_ptr<ObjectReader>> readers_;
  std::vector<Held> held_;
  Mutex mutex_;  // leaf
  std::vector<rdma::Window> late_ GUARDED_BY(mutex_);
  std::size_t answers_to_lose_ GUARDED_BY(mutex_) = 0;
  std::uint64_t versions_ = 0;
};

rc::Gen<std::vector<Command>> command_lists() {
  using Kind = Command::Kind;
  const auto kind =
      kinds_by_weight<Kind>({{12, {Kind::kRead}},
                             {3, {Kind::kLetGo}},
                             {2, {Kind::kReplace, Kind::kLoseAnswer, Kind::kWriteLate}},
                             {1, {Kind::kFence}}});
  const auto command = rc::gen::build<Command>(
      rc::gen::set(&Command::kind, kind),
      rc::gen::set(&Command::object, rc::gen::inRange<std::size_t>(0, kObjects)),
      rc::gen::set(&Command::offset, rc::gen::inRange<std::uint64_t>(0, 10 * kMiB)),
      rc::gen::set(&Command::length, rc::gen::inRange<std::size_t>(1, 200'000)));
  return rc::gen::container<std::vector<Command>>(command);
}

RC_GTEST_PROP(BlockCacheProperty, EveryReadGivesTheBytesOfItsVersionAndKeepsThem, ()) {
  const auto commands = *command_lists();
  RC_ASSERT(CheckedCache(/*obeys_quarantine=*/true).run(commands) == "");
}

// The control: a server that writes after the fence is seen, so the property can fail.
TEST(BlockCacheModel, SeesAWriteIntoMemoryThatIsInUseAgain) {
  const Command read{.kind = Command::Kind::kRead, .object = 0, .length = 1000};
  const Command lose{.kind = Command::Kind::kLoseAnswer};
  const Command fence{.kind = Command::Kind::kFence};
  const Command write_late{.kind = Command::Kind::kWriteLate};
  const Command read_other{.kind = Command::Kind::kRead, .object = 1, .length = 1000};
  // The slab of the lost answer is free again after the fence, and the next that is taken.
  const std::vector<Command> commands = {lose, read, fence, read_other, write_late};
  EXPECT_EQ(CheckedCache(/*obeys_quarantine=*/true).run(commands), "");
  EXPECT_NE(CheckedCache(/*obeys_quarantine=*/false).run(commands), "");
}

}  // namespace
}  // namespace s3rdmafs::cache
