// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fakes/rdma/token_text.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"
#include "target/rdma/transfer_service.h"

namespace s3rdmafs::fakes {

/// A server over a real fabric that loses the answer to every third GET. When the test says so it
/// uses the token of such a GET to write wrong bytes. GETs only. Borrows the service. Thread-safe,
/// but put() must come before the first GET.
class LateWritingStore final : public s3::ObjectStore {
 public:
  static constexpr std::byte kLateByte{0xEE};

  explicit LateWritingStore(target::TransferService& service)
      : service_(service), late_bytes_(file_with(std::string(kLateBytesMax, '\xEE'))) {}

  void put(const std::string& key, const std::string& bytes) {
    objects_.emplace(key, file_with(bytes));
  }

  void get(s3::GetRequest request, Deadline, s3::GetDone done) override {
    const rdma::Window& window = request.window;
    const auto token = token_text(*window.region, window.offset, window.length);
    if (!token) return done(std::unexpected(s3::GetFailure{.error = token.error()}));
    constexpr unsigned kLoseEvery = 3;
    if (++gets_ % kLoseEvery == 0) {
      lose({.token = *token, .length = window.length});
      return done(std::unexpected(s3::GetFailure{
          .error = {ErrorCode::kTimedOut, "the answer was lost"}, .late_write_possible = true}));
    }
    const auto written = service_.write_window(*token, objects_.at(request.key).get(),
                                               request.offset_bytes, window.length);
    if (!written) return done(std::unexpected(s3::GetFailure{.error = written.error()}));
    done(s3::Path::kRdma);
  }

  enum class LateWrite { kNothingLost, kLanded, kRefused };

  /// Uses the token of one lost GET, the newest or any, for the first time.
  LateWrite write_late(std::mt19937& random) {
    Lost lost;
    {
      const MutexLock lock(mutex_);
      if (lost_.empty()) return LateWrite::kNothingLost;
      const std::size_t newest = lost_.size() - 1;
      const std::size_t chosen = random() % 2 == 0 ? newest : random() % lost_.size();
      std::swap(lost_[chosen], lost_[newest]);
      lost = lost_.back();
      lost_.pop_back();
      used_.push_back(lost);
    }
    return write(lost) ? LateWrite::kLanded : LateWrite::kRefused;
  }

  /// Uses every token again that write_late() has used; how many of these writes landed.
  std::size_t write_all_again() {
    std::size_t landed = 0;
    const MutexLock lock(mutex_);
    for (const Lost& lost : used_) landed += write(lost) ? 1 : 0;
    return landed;
  }

  void head(std::string, Deadline, Done<s3::ObjectInfo> done) override {
    done(fail(ErrorCode::kUnsupported, "GETs only"));
  }
  void list(s3::ListRequest, Deadline, Done<s3::ListPage> done) override {
    done(fail(ErrorCode::kUnsupported, "GETs only"));
  }
  void shut_down() override {}

 private:
  struct Lost {
    std::string token;
    std::size_t length = 0;
  };
  static constexpr std::size_t kLateBytesMax = 4 * kMiB;  // the cache's largest block

  static UniqueFd file_with(const std::string& bytes) {
    UniqueFd fd(::memfd_create("object", MFD_CLOEXEC));
    EXPECT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return fd;
  }
  void lose(Lost lost) {
    const MutexLock lock(mutex_);
    lost_.push_back(std::move(lost));
  }
  [[nodiscard]] bool write(const Lost& lost) {
    return service_.write_window(lost.token, late_bytes_.get(), 0, lost.length).has_value();
  }

  target::TransferService& service_;
  const UniqueFd late_bytes_;
  std::map<std::string, UniqueFd> objects_;
  std::atomic<unsigned> gets_{0};
  Mutex mutex_;  // leaf, but for the service's
  std::vector<Lost> lost_ GUARDED_BY(mutex_);
  std::vector<Lost> used_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::fakes
