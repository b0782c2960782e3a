// SPDX-License-Identifier: Apache-2.0
#include "client/preload/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "client/system_calls.h"

namespace s3rdmafs::client {
namespace {

struct Reason {
  std::atomic<const char*> text{nullptr};
  std::atomic<std::uint64_t> files{0};
};

struct Counts {
  std::atomic<std::uint64_t> reads_past{0};
  std::atomic<std::uint64_t> bytes_past{0};
  std::atomic<std::uint64_t> reads_through{0};
  std::atomic<std::uint64_t> bytes_through{0};
  std::array<Reason, 8> reasons;  // one for each that AttachedFile has
};

// Without a destructor that would run before the last read.
constinit Counts counts;

void append(int fd, const char* text, int length) {
  if (length > 0) static_cast<void>(::syscall(SYS_write, fd, text, length));
}

__attribute__((destructor)) void tell_at_exit() { tell(); }

}  // namespace

void tell() noexcept {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the process ends
  const char* const path = std::getenv(kReportVariable);
  const bool is_used = counts.reads_past + counts.reads_through > 0 || counts.reasons[0].text;
  if (path == nullptr || !is_used) return;
  const sys::Descriptor file(static_cast<int>(
      ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)));
  if (!file) return;
  char line[256];
  append(file.get(), line,
         std::snprintf(line, sizeof(line),
                       "%s[%d]: past FUSE %llu bytes in %llu reads; through it %llu bytes in %llu "
                       "reads\n",
                       program_invocation_short_name, static_cast<int>(::getpid()),
                       static_cast<unsigned long long>(counts.bytes_past),
                       static_cast<unsigned long long>(counts.reads_past),
                       static_cast<unsigned long long>(counts.bytes_through),
                       static_cast<unsigned long long>(counts.reads_through)));
  for (const Reason& reason : counts.reasons) {
    if (reason.text == nullptr) break;
    append(file.get(), line,
           std::snprintf(line, sizeof(line), "  %llu files through it: %s\n",
                         static_cast<unsigned long long>(reason.files), reason.text.load()));
  }
  forget_reads();  // a destructor of another library may call _exit(2)
}

void forget_reads() noexcept {
  for (auto* const count :
       {&counts.reads_past, &counts.bytes_past, &counts.reads_through, &counts.bytes_through}) {
    *count = 0;
  }
  for (Reason& reason : counts.reasons) {
    reason.files = 0;
    reason.text = nullptr;
  }
}

void note_read(std::size_t bytes, bool is_past_fuse) noexcept {
  constexpr auto kOrder = std::memory_order_relaxed;
  (is_past_fuse ? counts.reads_past : counts.reads_through).fetch_add(1, kOrder);
  (is_past_fuse ? counts.bytes_past : counts.bytes_through).fetch_add(bytes, kOrder);
}

void note_reason(const char* reason) noexcept {
  for (Reason& known : counts.reasons) {
    const char* text = nullptr;
    if (known.text.compare_exchange_strong(text, reason) || text == reason) {
      ++known.files;
      return;
    }
  }
}

}  // namespace s3rdmafs::client
