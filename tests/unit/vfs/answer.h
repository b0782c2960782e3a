// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// The answer to a call that is answered before it returns.
/// @param call  gets the `done` to pass on
template <class T, class Call>
Result<T> answer_of(Call call) {
  Answer<T> answer;
  call(answer.done());
  return std::move(answer.get());
}

}  // namespace s3rdmafs::vfs
