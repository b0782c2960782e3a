// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/connection.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::client {

class AttachedFile;

/// The daemon of a mount, as this process sees it: connections, and how much of its memory the
/// process has. Lives as long as the process. Thread-safe.
class Daemon {
 public:
  /// The daemon of the mount that an open file is on; null where it is on none. Asks the mount: a
  /// device number says nothing, since the next mount may get the same.
  [[nodiscard]] static Daemon* of(int fd, const struct statx& found);

  /// The daemon that listens at a path.
  [[nodiscard]] static Daemon& at(const std::string& socket_path);

  /// As Connection::ask(), on a connection that no other thread uses.
  [[nodiscard]] std::optional<Connection::Answer> ask(const attach::Request& request,
                                                      int descriptor,
                                                      std::chrono::milliseconds time);
  /// Sends several requests before it waits for the first answer: the daemon wakes up once for all.
  /// An answer for each request, in their order. The time is for all of them.
  [[nodiscard]] std::vector<std::optional<Connection::Answer>> ask_together(
      std::span<const attach::Request> requests, std::chrono::milliseconds time);
  void tell(const attach::Request& request);

  /// A file that may have parts, for as long as it lives.
  void add(AttachedFile& file);
  void remove(AttachedFile& file);

  void set_bytes_max(std::uint64_t bytes) { bytes_max_ = bytes; }
  /// Whether the process may take a part of this length and keep all that it has.
  [[nodiscard]] bool has_room(std::uint64_t length_bytes) const;
  /// Gives the least recently used parts up until a part of this length has room. False where all
  /// are in use.
  [[nodiscard]] bool make_room(std::uint64_t length_bytes);
  /// Gives one part up. False where all are in use.
  [[nodiscard]] bool give_up_one();
  void count_held(std::int64_t bytes) { held_bytes_ += static_cast<std::uint64_t>(bytes); }

 private:
  explicit Daemon(std::string socket_path)
      : socket_path_(std::move(socket_path)), pid_(::getpid()) {}
  struct Taken {
    Connection connection;
    bool was_idle = false;
  };
  [[nodiscard]] std::optional<Taken> take();
  void give_back(Taken taken, bool is_sound);
  static void begin_child();

  const std::string socket_path_;
  std::atomic<pid_t> pid_;
  std::atomic<std::uint64_t> bytes_max_{0};
  std::atomic<std::uint64_t> held_bytes_{0};

  Mutex connections_mutex_;  // leaf
  std::vector<Connection> idle_ GUARDED_BY(connections_mutex_);
  std::size_t open_ GUARDED_BY(connections_mutex_) = 0;

  Mutex files_mutex_;  // taken before a file gives up a part; see AttachedFile
  std::vector<AttachedFile*> files_ GUARDED_BY(files_mutex_);
};

}  // namespace s3rdmafs::client
