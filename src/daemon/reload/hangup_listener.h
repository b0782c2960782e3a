// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace s3rdmafs::daemon {

/// Blocks SIGHUP in this thread and in those that it starts, so that a HangupListener gets it. Call
/// it before there are threads.
void hold_hangups();

/// Calls a function for each SIGHUP, on a thread of its own. Signals that come during a call are
/// one. Needs hold_hangups().
class HangupListener {
 public:
  explicit HangupListener(std::function<void()> on_hangup);

 private:
  void run(const std::stop_token& stop);

  const std::function<void()> on_hangup_;
  std::jthread thread_;  // last: ends before the members it uses
};

}  // namespace s3rdmafs::daemon
