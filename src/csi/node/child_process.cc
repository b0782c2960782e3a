// SPDX-License-Identifier: Apache-2.0
// A thread that asks a hung file system hangs with it, for good. A process in its place is killed:
// the kernel lets a request of FUSE go for a fatal signal.
#include "csi/node/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <type_traits>

#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::csi {
namespace {

UniqueFd descriptor_of(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// A killed process ends within moments; a wait for it is not worth a bound of its own.
int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The lists that posix_spawn(3) reads.
class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  // Neither this process's descriptors, nor the signals that it has blocked, nor its terminal.
  void prepare(const std::string& output) {
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, output.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW, 0600);
    ::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }

  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Answer {
  int error = 0;
  FileSystemNumbers numbers{};
};
static_assert(std::is_trivially_copyable_v<Answer> &&
              sizeof(Answer) < 4096);  // one write to a pipe

// Between fork and exit in a process that had threads: only calls of signal-safety(7).
[[noreturn]] void answer_and_exit(const char* path, int to_parent) {
  Answer answer;
  struct statfs found{};
  if (::statfs(path, &found) != 0) {
    answer.error = errno;
  } else {
    const auto block =
        static_cast<std::uint64_t>(found.f_frsize != 0 ? found.f_frsize : found.f_bsize);
    answer.numbers = {.bytes_total = found.f_blocks * block,
                      .bytes_free = found.f_bfree * block,
                      .bytes_available = found.f_bavail * block,
                      .files_total = found.f_files,
                      .files_free = found.f_ffree};
  }
  const ssize_t written = ::write(to_parent, &answer, sizeof(answer));
  ::_exit(written == static_cast<ssize_t>(sizeof(answer)) ? 0 : 1);
}

}  // namespace

bool wait_for_process(const UniqueFd& process, const Clock& clock, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now()).count();
    pollfd watched{.fd = process.get(), .events = POLLIN, .revents = 0};
    const int ready =
        ::poll(&watched, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
    if (ready > 0) return true;
    if (left <= 0) return false;
  }
}

Result<int> run_command(const Command& command, const Clock& clock, Deadline deadline) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = command.environment;
  SpawnSettings settings;
  settings.prepare(command.output);
  pid_t pid = -1;
  const int error =
      ::posix_spawnp(&pid, words.front().c_str(), &settings.actions_, &settings.attributes_,
                     pointers_to(words).data(), pointers_to(environment).data());
  if (error == ENOENT) return fail(ErrorCode::kNotFound, "there is no program " + words.front());
  if (error != 0) return fail_errno("run " + words.front(), error);
  const UniqueFd process = descriptor_of(pid);
  if (process && wait_for_process(process, clock, deadline)) return reap(pid);
  ::kill(pid, SIGKILL);
  reap(pid);
  return fail(ErrorCode::kTimedOut, words.front() + " has not ended in time");
}

Result<FileSystemNumbers> ask_file_system(const std::string& path, const Clock& clock,
                                          Deadline deadline) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe", errno);
  const UniqueFd from_child(ends[0]);
  UniqueFd to_parent(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("fork", errno);
  if (pid == 0) answer_and_exit(path.c_str(), to_parent.get());
  to_parent.reset();
  const UniqueFd process = descriptor_of(pid);
  const bool has_ended = process && wait_for_process(process, clock, deadline);
  if (!has_ended) ::kill(pid, SIGKILL);
  reap(pid);
  Answer answer;
  if (!has_ended ||
      ::read(from_child.get(), &answer, sizeof(answer)) != static_cast<ssize_t>(sizeof(answer))) {
    return fail(ErrorCode::kTimedOut, printable(path) + ": the file system does not answer");
  }
  switch (answer.error) {
    case 0:
      return answer.numbers;
    case ENOTCONN:
    case ECONNABORTED:
      return fail(ErrorCode::kStale, printable(path) + ": the daemon of the mount has died");
    case ENOENT:
      return fail(ErrorCode::kNotFound, printable(path) + " does not exist");
    default:
      return fail_errno("statfs " + printable(path), answer.error);
  }
}

}  // namespace s3rdmafs::csi
