// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/resident_objects.h"

namespace s3rdmafs::fakes {

/// An object with a number in the place of its descriptor.
class FakeResidentObject final : public cache::ResidentObject {
 public:
  explicit FakeResidentObject(int fd) : fd_(fd) {}
  [[nodiscard]] int fd() const noexcept override { return fd_; }

 private:
  const int fd_;
};

/// Opens wait until the test answers them, in their order. Thread-bound.
class FakeResidentObjects final : public cache::ResidentObjects {
 public:
  using Object = std::shared_ptr<const cache::ResidentObject>;

  void open(cache::ObjectVersion version, Deadline, Done<Object> done) override {
    asked_.push_back(std::move(version));
    waiting_.push_back(std::move(done));
  }

  bool prefetch(cache::ObjectVersion version, Deadline) override {
    if (!has_room) return false;
    prefetched.push_back(std::move(version.key));
    return true;
  }

  bool has_room = true;  ///< for prefetched objects
  std::vector<std::string> prefetched;

  /// Answers the open that has waited longest.
  void answer(Result<Object> object) {
    auto done = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    done(std::move(object));
  }
  [[nodiscard]] const std::vector<cache::ObjectVersion>& asked() const { return asked_; }

 private:
  std::vector<cache::ObjectVersion> asked_;
  std::vector<Done<Object>> waiting_;
};

}  // namespace s3rdmafs::fakes
