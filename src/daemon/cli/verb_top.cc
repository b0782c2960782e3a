// SPDX-License-Identifier: Apache-2.0
// Asks the mount's daemon for its numbers again and again, and shows what changed. The daemon does
// nothing for this command between two questions.
#include <cstdio>
#include <thread>

#include "daemon/cli/verbs.h"
#include "daemon/mount/mount_point.h"
#include "daemon/top/take_sample.h"
#include "daemon/top/terminal.h"
#include "daemon/top/top_frame.h"
#include "daemon/top/top_model.h"

namespace s3rdmafs::daemon {
namespace {

using SteadyClock = std::chrono::steady_clock;

// As many intervals as the widest graph has columns.
constexpr std::size_t kHistoryMax = 1000;

int show_once(const std::string& mount_point, const TopSample& before, FrameOptions options) {
  std::this_thread::sleep_for(options.interval);
  const auto now = take_sample(mount_point);
  if (!now) return report(now.error());
  const TopModel model = compare(before, *now);
  const Throughput history[] = {model.programs()};
  options.is_plain = true;
  for (const std::string& line : draw_frame(model, history, mount_point, options)) {
    std::fprintf(stdout, "%s\n", line.c_str());
  }
  return kExitSuccess;
}

// The first frame comes at once, of a mount that seems to stand still.
int show_live(const std::string& mount_point, TopSample before, FrameOptions options) {
  auto terminal = Terminal::open();
  if (!terminal) return report(terminal.error());
  TopModel model = compare(before, before);
  std::deque<Throughput> history;
  SteadyClock::time_point next = before.at + options.interval;
  while (true) {
    const Terminal::Size size = (*terminal)->size();
    options.columns = size.columns;
    options.rows = size.rows;
    const std::vector<Throughput> points(history.begin(), history.end());
    (*terminal)->show(draw_frame(model, points, mount_point, options));
    const Terminal::Event event = (*terminal)->wait_until(next);
    if (event == Terminal::Event::kEnd) return kExitSuccess;
    if (event == Terminal::Event::kPause) options.is_paused = !options.is_paused;
    if (event != Terminal::Event::kTimeout) continue;
    next = SteadyClock::now() + options.interval;
    auto now = take_sample(mount_point);
    if (!now) {
      terminal->reset();
      return report(now.error());
    }
    if (options.is_paused) continue;
    model = compare(before, *now);
    before = *std::move(now);
    history.push_back(model.programs());
    if (history.size() > kHistoryMax) history.pop_front();
  }
}

}  // namespace

int run_top(const TopCommand& command) {
  const auto mount_point = resolve_mount_point(command.mountpoint);
  if (!mount_point) return report(mount_point.error());
  auto first = take_sample(*mount_point);
  if (!first) return report(first.error());
  const FrameOptions options{.columns = command.columns,
                             .rows = command.rows,
                             .is_ascii = !terminal_takes_utf8(),
                             .interval = command.interval};
  return command.once ? show_once(*mount_point, *first, options)
                      : show_live(*mount_point, *std::move(first), options);
}

}  // namespace s3rdmafs::daemon
