// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/daemon.h"
#include "client/own_descriptor.h"
#include "client/stream_table.h"
#include "client/system_calls.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::client {

/// An open file whose bytes are read out of the memory of its mount, where that can be had, and
/// through the mount where not. Thread-safe.
class AttachedFile {
 public:
  struct Answer {
    ssize_t result = 0;        ///< bytes, or -1 and errno
    bool is_past_fuse = true;  ///< all of it
  };

  /// The mount puts smaller files into the kernel's page cache when they are opened.
  static constexpr std::uint64_t kBytesMin = kMiB;

  /// Its descriptors have numbers from here on, where there is room: most processes may have 1,024.
  static constexpr int kOwnFrom = 800;

  /// Keeps a duplicate of the descriptor. Null where there can be none, with errno. A file that
  /// cannot be attached is read through the mount; reason() tells why.
  /// @param daemon  of the file's mount; null: the mount is asked
  [[nodiscard]] static std::shared_ptr<AttachedFile> attach(int fd, Daemon* daemon = nullptr);
  ~AttachedFile();
  AttachedFile(const AttachedFile&) = delete;
  AttachedFile& operator=(const AttachedFile&) = delete;

  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] int fd() const noexcept { return file_.number(); }
  /// Whether no open(2) or dup(2) of the program can give its descriptor's number to another file,
  /// unless it has some hundred files open.
  [[nodiscard]] bool has_high_number() const noexcept { return fd() >= kOwnFrom; }
  /// Null where it is attached.
  [[nodiscard]] const char* reason() const noexcept { return reason_; }

  /// As pread(2).
  [[nodiscard]] Answer pread(void* buffer, std::size_t length, off_t offset);
  /// Writes bytes of the file to another descriptor, as write(2): result is how many, or -1 and
  /// errno where the first could not be written. Stops before bytes that cannot be had past FUSE;
  /// `is_past_fuse` is false then.
  [[nodiscard]] Answer send(int to, std::size_t length, off_t offset);
  /// The bytes are probably wanted soon. Does not wait.
  void prefetch(std::uint64_t offset_bytes, std::uint64_t length_bytes);

  /// The parts that have [offset, offset + length), which stay until unpin(). False, and none is
  /// pinned, where one cannot be had. The range is in the file, and not empty.
  [[nodiscard]] bool pin(std::uint64_t offset_bytes, std::uint64_t length_bytes);
  void unpin(std::uint64_t offset_bytes, std::uint64_t length_bytes);
  [[nodiscard]] std::uint64_t part_bytes() const noexcept { return part_bytes_; }
  /// Where a pinned part is mapped.
  [[nodiscard]] const std::byte* part_at(std::uint64_t part) const noexcept {
    return slots_[part].bytes;
  }
  [[nodiscard]] std::uint64_t part_length(std::uint64_t part) const noexcept;

  // For Daemon.

  struct Idle {
    std::uint64_t part = 0;
    std::uint64_t used_at = 0;
  };
  /// The part that has been unused for the longest time.
  [[nodiscard]] std::optional<Idle> oldest_idle() const;
  /// Does nothing where the part is in use.
  void give_up(std::uint64_t part);
  /// In a child of fork(2), which has one thread.
  void begin_child();

 private:
  struct Slot {
    /// Users, and the states below.
    std::atomic<std::uint64_t> word{0};
    const std::byte* bytes = nullptr;  // while kHere
    std::atomic<std::uint64_t> used_at{0};
    std::atomic<unsigned> small_reads{0};
    std::atomic<std::uint64_t> missed_bytes{0};  // served by the mount for want of room
  };

  /// A run of bytes in one part.
  struct Piece {
    std::uint64_t part = 0;
    std::uint64_t in_part = 0;
    std::size_t length = 0;
  };
  /// The first of [at, at + length).
  [[nodiscard]] Piece piece_at(std::uint64_t at, std::size_t length) const noexcept;

  AttachedFile(OwnDescriptor file, std::uint64_t size_bytes)
      : file_(std::move(file)), size_bytes_(size_bytes) {}
  void begin(const struct statx& found, Daemon* daemon);
  /// Null: it has one. Else why not.
  [[nodiscard]] const char* get_ticket();
  /// None in a child of fork(2) before its get_ticket(): the daemon gave it to the parent.
  [[nodiscard]] std::optional<attach::Ticket> own_ticket() const;
  /// For a read of `length` bytes that goes on at `in_part` in the part.
  [[nodiscard]] bool hold(std::uint64_t part, std::uint64_t in_part, std::size_t length);
  void let_go(std::uint64_t part) { slots_[part].word.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] bool fetch(std::uint64_t part, std::uint64_t in_part, std::size_t length);
  [[nodiscard]] bool is_for_the_mount(std::uint64_t part, std::uint64_t in_part, std::size_t length,
                                      bool is_in_stream);
  /// As StreamTable has them.
  [[nodiscard]] std::optional<unsigned> run_before(std::uint64_t part) const;
  void note(std::uint64_t part);
  /// The part after the last that one batch from `first` has, which goes no further than `last`.
  [[nodiscard]] std::uint64_t batch_end(std::uint64_t first, std::uint64_t last) const;
  /// Asks for the missing parts of one batch at once. Holds none of them.
  void fetch_together(std::uint64_t first, std::uint64_t last);
  [[nodiscard]] bool take(std::uint64_t part, std::uint64_t ahead_bytes);
  [[nodiscard]] attach::Request request_for(const attach::Ticket& ticket, std::uint64_t part,
                                            std::uint64_t ahead_bytes) const;
  /// False where the answer is not the part that was asked for.
  [[nodiscard]] bool map(const attach::Request& request,
                         const std::optional<Connection::Answer>& answer);
  [[nodiscard]] ssize_t read_through(void* buffer, std::size_t length, off_t offset) const;
  [[nodiscard]] bool may_ask() const;
  void pause();

  const OwnDescriptor file_;
  const std::uint64_t size_bytes_;
  const char* reason_ = nullptr;
  Daemon* daemon_ = nullptr;
  std::uint64_t part_bytes_ = 0;
  std::uint64_t parts_ = 0;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<std::int64_t> asks_again_at_ms_{0};
  std::atomic<std::uint64_t> time_{0};  // counts parts taken

  // Threads that want one part wait for one request. Taken before all others of this library, and
  // in the order of their numbers where a thread takes several.
  std::array<Mutex, 16> fetch_mutexes_;
  mutable Mutex mutex_;  // leaf
  StreamTable streams_ GUARDED_BY(mutex_);
  attach::Ticket ticket_ GUARDED_BY(mutex_){};
  pid_t ticket_pid_ GUARDED_BY(mutex_) = 0;
};

}  // namespace s3rdmafs::client
