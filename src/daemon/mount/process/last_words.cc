// SPDX-License-Identifier: Apache-2.0
// One handler for all threads: most belong to libfuse or libcurl, or start deep in a layer, and
// none can continue after an exception that it did not expect.
#include "daemon/mount/process/last_words.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

std::atomic<int> last_words_fd{-1};  // a terminate handler takes no argument

constexpr std::string_view kNoMemory = "memory ran out (this process's limit, or the machine's)";

void write_to_pipe(std::string_view text) noexcept {
  const int fd = last_words_fd.load();
  if (fd < 0) return;
  // Shorter than PIPE_BUF, so it is written whole. Without a reader nothing is lost.
  if (::write(fd, text.data(), text.size()) < 0) return;
}

// Memory may have run out: a text that cannot be made is left out.
[[noreturn]] void end_with_reason() noexcept {
  const std::exception_ptr problem = std::current_exception();
  try {
    const std::string reason = reason_of(problem);
    write_to_pipe("the daemon ended: " + reason);
    log::critical("the daemon ends: {}; the mount ends with it", reason);
  } catch (...) {
    write_to_pipe(kNoMemory);
  }
  std::abort();
}

}  // namespace

std::string reason_of(const std::exception_ptr& problem) {
  if (!problem) return "an internal error of s3rdmafs";
  try {
    std::rethrow_exception(problem);
  } catch (const std::bad_alloc&) {
    return std::string(kNoMemory);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an unknown exception";
  }
}

void leave_last_words(int fd) noexcept {
  last_words_fd.store(fd);
  std::set_terminate(end_with_reason);
}

}  // namespace s3rdmafs::daemon
