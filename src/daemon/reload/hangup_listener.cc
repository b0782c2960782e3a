// SPDX-License-Identifier: Apache-2.0
#include "daemon/reload/hangup_listener.h"

#include <pthread.h>

#include <csignal>
#include <ctime>
#include <utility>

#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::daemon {
namespace {

// The delay after which the end is noticed.
constexpr timespec kLookTime{.tv_sec = 0, .tv_nsec = 200'000'000};

sigset_t hangup_alone() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

void hold_hangups() {
  const sigset_t signals = hangup_alone();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

HangupListener::HangupListener(std::function<void()> on_hangup) : on_hangup_(std::move(on_hangup)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void HangupListener::run(const std::stop_token& stop) {
  set_thread_name("reload");
  const sigset_t signals = hangup_alone();
  while (!stop.stop_requested()) {
    if (::sigtimedwait(&signals, nullptr, &kLookTime) == SIGHUP) on_hangup_();
  }
}

}  // namespace s3rdmafs::daemon
