// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/terminal.h"

#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <string_view>

namespace s3rdmafs::daemon {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr char kInterrupt = 3;  // Ctrl-C, where the terminal makes no signal of it
constexpr char kEscape = 27;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the terminal is gone; SIGHUP follows
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH}) ::sigaddset(&set, signal);
  return set;
}

termios raw(termios settings) {
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  settings.c_cc[VMIN] = 0;
  settings.c_cc[VTIME] = 0;
  return settings;
}

Terminal::Event event_of(char key) {
  switch (key) {
    case 'q':
    case kInterrupt:
    case kEscape:
      return Terminal::Event::kEnd;
    case 'p':
    case ' ':
      return Terminal::Event::kPause;
    default:
      return Terminal::Event::kTimeout;
  }
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
  termios former{};
  if (::isatty(STDOUT_FILENO) != 1 || ::tcgetattr(STDIN_FILENO, &former) != 0) {
    return fail(ErrorCode::kInvalidArgument,
                "standard input and output are not a terminal; use --once");
  }
  const sigset_t watched = watched_signals();
  sigset_t mask{};
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &watched, &mask); error != 0) {
    return fail_errno("blocking signals", error);
  }
  UniqueFd signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return fail_errno("signalfd", errno);
  return std::unique_ptr<Terminal>(new Terminal(std::move(signals), mask, former));
}

Terminal::Terminal(UniqueFd signals, sigset_t former_mask, termios former)
    : signals_(std::move(signals)), former_mask_(former_mask), former_(former) {
  const termios settings = raw(former_);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &settings);
  write_all(kEnter);
}

Terminal::~Terminal() {
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &former_);
  ::pthread_sigmask(SIG_SETMASK, &former_mask_, nullptr);
}

Terminal::Size Terminal::size() const {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
  return {.columns = window.ws_col, .rows = window.ws_row};
}

// Each line clears what a longer one has left. No line feed follows the last, which would scroll.
void Terminal::show(std::span<const std::string> lines) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += lines[i] + "\x1b[K";
    if (i + 1 < lines.size()) text += "\r\n";
  }
  write_all(text + "\x1b[J");
}

Terminal::Event Terminal::wait_until(std::chrono::steady_clock::time_point deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Event::kTimeout;
    pollfd watched[] = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                        {.fd = signals_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(watched, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) {
      return Event::kEnd;
    }
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
      return signal.ssi_signo == SIGWINCH ? Event::kResize : Event::kEnd;
    }
    if ((watched[0].revents & (POLLIN | POLLHUP)) == 0) continue;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) != 1) return Event::kEnd;
    if (const Event event = event_of(key); event != Event::kTimeout) return event;
  }
}

bool terminal_takes_utf8() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): commands have one thread
  std::setlocale(LC_CTYPE, "");
  return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
}

}  // namespace s3rdmafs::daemon
