// SPDX-License-Identifier: Apache-2.0
// Processes rather than threads: threads would share one descriptor table and one address space,
// whose locks (page faults of a mapping above all) are none of the file system's.
//
// The common start is the end of a pipe that every reader waits on and the parent closes.
#include "load/readers.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "s3rdmafs/base/cpu_time.h"

namespace s3rdmafs::bench {
namespace {

constexpr unsigned kReadersMax = 256;

struct Slot {
  Tally tally;
  double cpu_before_start = 0;
  double cpu_at_end = 0;
};

struct Shared {
  std::atomic<std::uint64_t> next = 0;
  std::atomic<unsigned> ready = 0;
  std::array<Slot, kReadersMax> slots;
};

void run_one(unsigned number, Shared& shared, int start,
             const std::function<Tally(Reader&)>& read) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a run that is stopped leaves no reader
  Slot& slot = shared.slots.at(number);
  Reader reader{.number = number, .wait_for_start = {}, .next = &shared.next};
  reader.wait_for_start = [&] {
    shared.ready.fetch_add(1);
    char nothing = 0;
    if (::read(start, &nothing, 1) != 0) give_up("the start signal is broken");
    slot.cpu_before_start = process_cpu_seconds();
  };
  slot.tally = read(reader);
  slot.cpu_at_end = process_cpu_seconds();
}

}  // namespace

void give_up(const char* what) {
  std::fprintf(stderr, "read_load: %s\n", what);
  std::_Exit(1);
}

void give_up_errno(const char* what) {
  std::fprintf(stderr, "read_load: %s: %s\n", what, std::strerror(errno));
  std::_Exit(1);
}

Outcome run_readers(unsigned count, const std::function<Tally(Reader&)>& read) {
  if (count == 0 || count > kReadersMax) give_up("--readers must be 1 to 256");
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) give_up_errno("mmap");
  auto& shared = *new (memory) Shared;
  int start[2] = {-1, -1};
  if (::pipe(start) != 0) give_up_errno("pipe");

  std::vector<pid_t> readers;
  for (unsigned number = 0; number < count; ++number) {
    const pid_t child = ::fork();
    if (child < 0) give_up_errno("fork");
    if (child == 0) {
      ::close(start[1]);
      run_one(number, shared, start[0], read);
      std::_Exit(0);
    }
    readers.push_back(child);
  }
  ::close(start[0]);
  // A reader that failed before its start would never become ready.
  while (shared.ready.load() < count) {
    if (::waitpid(-1, nullptr, WNOHANG) > 0) give_up("a reader ended before the start");
    ::usleep(1000);
  }
  const auto began = std::chrono::steady_clock::now();
  ::close(start[1]);
  bool all_good = true;
  for (const pid_t reader : readers) {
    int status = 0;
    all_good &=
        ::waitpid(reader, &status, 0) == reader && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (!all_good) give_up("a reader failed");

  Outcome outcome;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (unsigned number = 0; number < count; ++number) {
    const Slot& slot = shared.slots.at(number);
    outcome.total.bytes += slot.tally.bytes;
    outcome.total.ops += slot.tally.ops;
    outcome.total.p50_us = std::max(outcome.total.p50_us, slot.tally.p50_us);
    outcome.total.p99_us = std::max(outcome.total.p99_us, slot.tally.p99_us);
    outcome.cpu_seconds += slot.cpu_at_end - slot.cpu_before_start;
  }
  return outcome;
}

}  // namespace s3rdmafs::bench
