// SPDX-License-Identifier: Apache-2.0
// The parent reads a pipe whose other end only the daemon holds. "+" means ready; any other text is
// the error that ended the daemon; no text means that it was killed. So the wait always ends, and
// the daemon's own deadlines bound it.
#include "daemon/mount/process/background.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>

#include "daemon/mount/process/last_words.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {
namespace {

constexpr char kReady = '+';

std::string read_to_end(int fd) {
  std::string text;
  char buffer[512];
  while (true) {
    const ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the parent is gone, and with it the reader
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// From here on output has no reader, and closing the terminal must not end the daemon.
void leave_terminal() {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
}

Result<void> run_to_its_end(const Service& service, const std::function<void()>& ready) {
  try {
    return service(ready);
  } catch (const std::exception&) {
    const std::string reason = reason_of(std::current_exception());
    log::critical("the daemon ends: {}", reason);
    return fail(ErrorCode::kSystem, "the daemon ended: " + reason);
  }
}

// The session is left last: an automount lets only the process group of systemd's mount(8) reach
// the mount point before the mount is there, and every other process waits for this one.
[[noreturn]] void run_daemon(const Service& service, UniqueFd to_parent) {
  if (::chdir("/") != 0) ::_exit(1);  // keeps no other file system busy
  leave_last_words(to_parent.get());
  const auto ready = [&to_parent] {
    ::setsid();
    leave_terminal();
    leave_last_words(-1);
    write_all(to_parent.get(), std::string_view(&kReady, 1));
    to_parent.reset();
  };
  const auto result = run_to_its_end(service, ready);
  if (!result && to_parent) write_all(to_parent.get(), result.error().detail);
  ::_exit(result ? 0 : 1);
}

}  // namespace

Result<void> run_in_background(const Service& service) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe", errno);
  const UniqueFd from_daemon(ends[0]);
  UniqueFd to_parent(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("fork", errno);
  if (child == 0) run_daemon(service, std::move(to_parent));

  to_parent.reset();
  const std::string answer = read_to_end(from_daemon.get());
  if (answer == std::string_view(&kReady, 1)) return {};
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!answer.empty()) return fail(ErrorCode::kSystem, answer);
  return fail(ErrorCode::kSystem,
              fmt::format("the daemon ended before the mount answered: {} {}; its log or the "
                          "kernel's may say why",
                          WIFSIGNALED(status) ? "signal" : "exit status",
                          WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
}

}  // namespace s3rdmafs::daemon
