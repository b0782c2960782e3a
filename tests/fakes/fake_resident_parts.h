// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cache/resident_parts.h"
#include "fakes/tmpfs_file.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::fakes {

/// A part whose file is empty. It counts how many of them are in use.
class FakeResidentPart final : public cache::ResidentObject {
 public:
  explicit FakeResidentPart(std::shared_ptr<int> used) : used_(std::move(used)) { ++*used_; }
  ~FakeResidentPart() override { --*used_; }
  [[nodiscard]] int fd() const noexcept override { return file_.get(); }

 private:
  const UniqueFd file_ = make_tmpfs_file().value();
  const std::shared_ptr<int> used_;
};

/// Parts wait until the test answers them, in their order. Thread-bound.
class FakeResidentParts final : public cache::ResidentParts {
 public:
  using Part = std::shared_ptr<const cache::ResidentObject>;

  void open_part(cache::ObjectPart part, Deadline deadline, Done<Part> done) override {
    asked.push_back(std::move(part));
    deadlines.push_back(deadline);
    waiting_.push_back(std::move(done));
  }
  bool prefetch_part(cache::ObjectPart part, Deadline) override {
    if (prefetched.size() == prefetched_max) return false;
    prefetched.push_back(part.offset_bytes);
    return true;
  }
  [[nodiscard]] bool has_whole(const cache::ObjectVersion&) const override { return is_whole; }
  [[nodiscard]] std::uint64_t memory_bytes_max() const override { return memory_bytes; }

  /// Answers the request that has waited longest.
  void give() { answer(std::make_shared<FakeResidentPart>(used)); }
  void answer(Result<Part> part) {
    auto done = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    done(std::move(part));
  }

  bool is_whole = false;
  std::uint64_t memory_bytes = 128 * kMiB;
  std::size_t prefetched_max = SIZE_MAX;
  std::vector<cache::ObjectPart> asked;
  std::vector<Deadline> deadlines;
  std::vector<std::uint64_t> prefetched;  ///< where the parts begin
  std::shared_ptr<int> used = std::make_shared<int>(0);

 private:
  std::vector<Done<Part>> waiting_;
};

}  // namespace s3rdmafs::fakes
