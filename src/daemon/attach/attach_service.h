// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "cache/resident_parts.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/client/attach_wire.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::daemon {

/// Gives programs the parts of files that they have opened. Thread-safe; no call waits.
class AttachService {
 public:
  struct Options {
    std::uint64_t part_bytes = 0;           ///< of objects that are not resident as a whole
    std::uint64_t ahead_bytes_max = 0;      ///< fetched after the part that is asked for
    std::chrono::milliseconds part_time{};  ///< from a request for a part to its deadline
  };
  struct Opened {
    cache::ObjectVersion version;
    std::uint64_t handle = 0;  ///< for NoteGiven
  };
  /// The version that a descriptor of a program may read. Errors: kInvalidArgument (no file of the
  /// mount, or not open for reading), kUnsupported (the bucket may be written).
  using FindOpened = std::function<Result<Opened>(int descriptor, pid_t process)>;
  /// Called for each part that a program was given of what it has opened. Does not wait.
  using NoteGiven = std::function<void(std::uint64_t handle, std::uint64_t bytes)>;

  struct Answer {
    attach::Reply reply;
    UniqueFd descriptor = {};  ///< of a part, for reading alone; only with kGet and kOk
  };
  using Answered = std::move_only_function<void(Answer)>;

  class Process;

  /// Borrows all but the options. Processes must be gone before the parts' owner is.
  AttachService(cache::ResidentParts& parts, FindOpened find_opened, NoteGiven note_given,
                const Clock& clock, metrics::Registry& metrics, Options options);
  ~AttachService();

  /// The state of a process: what it holds goes when the last owner of this does.
  [[nodiscard]] std::shared_ptr<Process> join(pid_t pid);

  /// Serves one request. `answered` is called once where the kind has an answer, on this thread or
  /// one of the cache's; not at all for the other kinds.
  /// @param descriptor  that came with it; may be none
  void serve(const std::shared_ptr<Process>& process, const attach::Request& request,
             UniqueFd descriptor, Answered answered);

 private:
  struct Metrics;
  struct File;

  [[nodiscard]] Answer open(Process& process, const UniqueFd& descriptor);
  void get(const std::shared_ptr<Process>& process, const attach::Request& request,
           Answered answered);
  void prefetch(Process& process, const attach::Request& request);
  void fetch_ahead(const File& file, std::uint64_t offset_bytes, std::uint64_t length_bytes);
  [[nodiscard]] Answer refuse(attach::Status status);
  [[nodiscard]] std::uint64_t process_bytes_max() const;
  /// The memory that each of the processes that are connected has for what is fetched ahead of it.
  [[nodiscard]] std::uint64_t share_of_one();

  cache::ResidentParts& parts_;
  const FindOpened find_opened_;
  const NoteGiven note_given_;
  const Clock& clock_;
  const Options options_;
  const std::unique_ptr<Metrics> metrics_;

  Mutex mutex_;  // leaf
  std::map<pid_t, std::weak_ptr<Process>> processes_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::daemon
