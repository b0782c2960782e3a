// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <utility>

namespace s3rdmafs::daemon {

/// Starts one operation and waits for its `done`: await<Result<X>>([&](auto done) { ... }).
/// Bounded by the operation's own deadline.
template <class Answer, class Start>
[[nodiscard]] Answer await(Start start) {
  std::promise<Answer> answer;
  auto answered = answer.get_future();
  start([&answer](Answer value) { answer.set_value(std::move(value)); });
  return answered.get();
}

}  // namespace s3rdmafs::daemon
