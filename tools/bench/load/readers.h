// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace s3rdmafs::bench {

/// The figures of one reader. Lives in memory shared by all readers of a run.
struct Tally {
  std::uint64_t bytes = 0;
  std::uint64_t ops = 0;  ///< reads, or files where each is opened, read and closed
  double p50_us = 0;      ///< of one operation; 0 where it was not measured
  double p99_us = 0;
};

/// The things that a reader is given besides its own number.
struct Reader {
  unsigned number = 0;                         ///< 0 .. readers - 1
  std::function<void()> wait_for_start;        ///< to be called once, when all is prepared
  std::atomic<std::uint64_t>* next = nullptr;  ///< shared by all readers: work handed out so far
};

/// All readers together.
struct Outcome {
  Tally total;             ///< latencies: the worst reader's
  double seconds = 0;      ///< from the common start to the end of the last one
  double cpu_seconds = 0;  ///< user and system time of the readers, from the common start on
};

/// Runs `read` in `count` processes of their own, as jobs read, and waits for them. One that fails
/// prints why and ends this program with status 1.
[[nodiscard]] Outcome run_readers(unsigned count, const std::function<Tally(Reader&)>& read);

/// Ends the calling process with status 1.
[[noreturn]] void give_up(const char* what);
[[noreturn]] void give_up_errno(const char* what);

}  // namespace s3rdmafs::bench
