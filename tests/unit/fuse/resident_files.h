// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <memory>
#include <utility>

#include "cache/resident_objects.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::fuse {

/// Gives each object a file of its own at once, or refuses where the test says so. Thread-safe.
class ResidentFiles final : public cache::ResidentObjects {
 public:
  void refuse(bool refuses) { refuses_ = refuses; }
  /// Objects that are still held.
  [[nodiscard]] int alive() const { return *alive_; }

  void open(cache::ObjectVersion, Deadline,
            Done<std::shared_ptr<const cache::ResidentObject>> done) override {
    if (refuses_) return done(fail(ErrorCode::kNoMemory, "refused by the test"));
    done(std::make_shared<const File>(alive_));
  }
  bool prefetch(cache::ObjectVersion, Deadline) override { return false; }

 private:
  class File final : public cache::ResidentObject {
   public:
    explicit File(std::shared_ptr<std::atomic<int>> alive)
        : fd_(::memfd_create("whole", MFD_CLOEXEC)), alive_(std::move(alive)) {
      ++*alive_;
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() override { --*alive_; }
    [[nodiscard]] int fd() const noexcept override { return fd_.get(); }

   private:
    const UniqueFd fd_;
    const std::shared_ptr<std::atomic<int>> alive_;
  };

  std::atomic<bool> refuses_ = false;
  const std::shared_ptr<std::atomic<int>> alive_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace s3rdmafs::fuse
