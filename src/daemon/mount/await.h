// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <utility>

namespace s3rdmafs::daemon {

/// Starts one asynchronous operation and blocks until its answer:
/// await<Result<X>>([&](auto done) { ... }). `start` must hand `done` to an operation that has a
/// deadline, which bounds the wait.
template <class Answer, class Start>
[[nodiscard]] Answer await(Start start) {
  std::promise<Answer> answer;
  auto answered = answer.get_future();
  start([&answer](Answer value) { answer.set_value(std::move(value)); });
  return answered.get();
}

}  // namespace s3rdmafs::daemon
