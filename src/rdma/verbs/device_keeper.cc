// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/device_keeper.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::rdma::verbs {
namespace {

// Returns at an event, at the end, or after an interval. The descriptor of the device's events is
// closed again at once: a round may close the device, and the next open must not meet the old one.
void wait_for_event(int wake, const UniqueFd& device) {
  std::array<pollfd, 2> watched{{{.fd = wake, .events = POLLIN, .revents = 0},
                                 {.fd = device.get(), .events = POLLIN, .revents = 0}}};
  ::poll(watched.data(), watched.size(), static_cast<int>(DeviceKeeper::kInterval.count()));
}

}  // namespace

Result<void> DeviceKeeper::start(std::string thread_name, std::function<UniqueFd()> events,
                                 std::function<void()> round) {
  wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return fail_errno("eventfd", errno);
  thread_ =
      std::jthread([wake = wake_.get(), name = std::move(thread_name), events = std::move(events),
                    round = std::move(round)](const std::stop_token& stop) {
        set_thread_name(name);
        while (!stop.stop_requested()) {
          wait_for_event(wake, events());
          if (!stop.stop_requested()) round();
        }
      });
  return {};
}

void DeviceKeeper::request_stop() noexcept {
  thread_.request_stop();
  if (wake_) ::eventfd_write(wake_.get(), 1);
}

}  // namespace s3rdmafs::rdma::verbs
