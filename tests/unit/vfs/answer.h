// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::vfs {

/// The answer to one asynchronous call, when it has come. Copies share it. Fails the test if it
/// comes twice. Not thread-safe: for stores that answer on the caller's thread.
template <class T>
class Answer {
 public:
  [[nodiscard]] Done<T> done() {
    return [state = state_](Result<T> result) {
      EXPECT_FALSE(state->has_value()) << "done was called twice";
      *state = std::move(result);
    };
  }
  [[nodiscard]] bool has_come() const { return state_->has_value(); }
  [[nodiscard]] Result<T>& get() const { return state_->value(); }
  /// The error's name, "" for success, "pending" before the answer.
  [[nodiscard]] std::string_view error() const {
    if (!has_come()) return "pending";
    return get() ? "" : error_code_name(get().error().code);
  }

 private:
  std::shared_ptr<std::optional<Result<T>>> state_ = std::make_shared<std::optional<Result<T>>>();
};

/// The error's name, "" for success.
template <class T>
std::string_view error_of(const Result<T>& result) {
  return result ? "" : error_code_name(result.error().code);
}

/// The answer to one asynchronous call, on whatever thread it comes.
template <class T>
class Later {
 public:
  [[nodiscard]] Done<T> done() {
    return [promise = promise_](Result<T> result) { promise->set_value(std::move(result)); };
  }
  [[nodiscard]] bool has_come() const {
    return answer_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// Waits; a minute without an answer is a failure of the test.
  [[nodiscard]] Result<T> get() {
    if (answer_.wait_for(std::chrono::minutes(1)) == std::future_status::ready)
      return answer_.get();
    ADD_FAILURE() << "no answer came";
    return fail(ErrorCode::kTimedOut, "no answer came");
  }

 private:
  std::shared_ptr<std::promise<Result<T>>> promise_ = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> answer_ = promise_->get_future();
};

/// The answer to a call, which may come later.
/// @param call  gets the `done` to pass on
template <class T, class Call>
Result<T> answer_of(Call call) {
  Later<T> answer;
  call(answer.done());
  return answer.get();
}

}  // namespace s3rdmafs::vfs
