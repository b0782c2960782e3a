// SPDX-License-Identifier: Apache-2.0
// A program that prints keys.
//
// It runs in a process group of its own, which is killed at the end of its time with all that it
// has started. The time goes by the steady clock: a program knows no other.
#include "credentials/process_keys.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "credentials/keys_document.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::credentials {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::size_t kOutputBytesMax = 256 * kKiB;
// How soon a stop, and the end of a program that has closed its output before, are noticed.
constexpr std::chrono::milliseconds kLook{100};

/// A running program, killed with its group unless it has ended.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  /// 0, or an errno.
  [[nodiscard]] int start(const std::string& command, int output) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    std::string shell = "sh";
    std::string option = "-c";
    std::string text = command;
    const std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
    const int error =
        ::posix_spawn(&pid_, "/bin/sh", &files, &attributes, arguments.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) pid_ = 0;
    return error;
  }

  /// Its status, once it has ended.
  [[nodiscard]] std::optional<int> try_wait() {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return std::nullopt;
    pid_ = 0;
    return ended < 0 ? 0 : status;  // it was waited for elsewhere, where SIGCHLD is ignored
  }

 private:
  pid_t pid_ = 0;
};

/// Reads some bytes, or waits a moment for them. False: there will be no more.
bool read_some(int fd, std::string& output) {
  pollfd waits{.fd = fd, .events = POLLIN, .revents = 0};
  if (::poll(&waits, 1, static_cast<int>(kLook.count())) <= 0) return true;
  std::array<char, 4096> some{};
  const ssize_t count = ::read(fd, some.data(), some.size());
  if (count < 0) return errno == EINTR;
  output.append(some.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::string text_of_status(int status) {
  if (WIFEXITED(status)) return fmt::format("it ended with status {}", WEXITSTATUS(status));
  return fmt::format("signal {} ended it", WTERMSIG(status));
}

}  // namespace

Result<FetchedKeys> ProcessKeys::fetch(const std::stop_token& stop) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("credential_process: a pipe", errno);
  const UniqueFd output_end(ends[0]);
  UniqueFd input_end(ends[1]);
  Child child;
  if (const int error = child.start(command_, input_end.get()); error != 0) {
    return fail_errno("credential_process: start /bin/sh", error);
  }
  input_end.reset();
  const SteadyTime end = std::chrono::steady_clock::now() + kTimeMax;
  std::string output;
  std::optional<int> status;
  for (bool is_open = true; is_open || !status;) {
    if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "credential_process: ended");
    if (std::chrono::steady_clock::now() >= end) {
      return fail(ErrorCode::kTimedOut, fmt::format("credential_process: it ran for {} s and was "
                                                    "killed",
                                                    kTimeMax.count()));
    }
    if (is_open) is_open = read_some(output_end.get(), output);
    if (output.size() > kOutputBytesMax) {
      return fail(ErrorCode::kProtocol, "credential_process: its output is too long");
    }
    if (!is_open) {
      status = child.try_wait();
      if (!status) std::this_thread::sleep_for(kLook / 10);
    }
  }
  if (*status != 0) {
    return fail(ErrorCode::kAccessDenied, "credential_process: " + text_of_status(*status));
  }
  return parse_process_keys(output);
}

}  // namespace s3rdmafs::credentials
