// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rdma/verbs/session_pool.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::fakes {

/// A server that makes RC sessions, or refuses to, as the test says. Thread-safe.
class FakeSessionMaker final : public rdma::verbs::SessionMaker {
 public:
  void refuse(std::optional<Error> why) {
    const MutexLock lock(mutex_);
    refusal_ = std::move(why);
  }
  /// Sessions that were made and not yet destroyed.
  [[nodiscard]] int alive() const { return alive_; }
  /// Attempts, the refused ones included.
  [[nodiscard]] int attempts() const { return attempts_; }
  /// The sessions that the server was told to forget.
  [[nodiscard]] std::vector<std::string> disconnected() const {
    const MutexLock lock(mutex_);
    return disconnected_;
  }

  Result<std::unique_ptr<rdma::verbs::Session>> connect() override {
    const int number = ++attempts_;
    const MutexLock lock(mutex_);
    if (refusal_) return std::unexpected(*refusal_);
    return std::make_unique<Made>(*this, number);
  }
  void disconnect(const std::string& session_id) override {
    const MutexLock lock(mutex_);
    disconnected_.push_back(session_id);
  }
  void cancel() noexcept override {}

 private:
  class Made final : public rdma::verbs::Session {
   public:
    Made(FakeSessionMaker& maker, int number) : maker_(maker), id_(std::to_string(number)) {
      ++maker_.alive_;
    }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;
    ~Made() override { --maker_.alive_; }
    [[nodiscard]] const std::string& id() const noexcept override { return id_; }

   private:
    FakeSessionMaker& maker_;
    const std::string id_;
  };

  std::atomic<int> alive_{0};
  std::atomic<int> attempts_{0};
  mutable Mutex mutex_;  // leaf
  std::optional<Error> refusal_ GUARDED_BY(mutex_);
  std::vector<std::string> disconnected_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::fakes
