// SPDX-License-Identifier: Apache-2.0
// What a process holds. A part that was given to a process is in use (a ResidentObject) until the
// process releases it or its last connection ends. From then on the kernel alone says whether a
// descriptor or a mapping is left. The limits count only the first kind: a child that was forked
// may still have what its parent has released.
#include "daemon/attach/attach_service.h"

#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon {
namespace {

using attach::Kind;
using attach::Request;
using attach::Status;
using attach::Ticket;

// More than a program has files open (RLIMIT_NOFILE is 1,024 for most).
constexpr std::size_t kTicketsMax = 4096;
// Of the memory of whole objects: four programs can read at full speed, and half is left for opens
// that the kernel serves.
constexpr std::uint64_t kProcessesAtFullSpeed = 4;
constexpr std::uint64_t kShareOfAll = 2;

Ticket new_ticket() {
  Ticket ticket{};
  // Never fails for so few bytes once the kernel has begun (getrandom(2)).
  if (::getrandom(ticket.data(), sizeof(ticket), 0) != sizeof(ticket)) return {};
  return ticket;
}

// The file's own mode keeps a program of another user from opening it for writing (0600).
UniqueFd reopened_for_reading(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

struct AttachService::File {
  cache::ObjectVersion version;
  std::uint64_t handle = 0;
  std::uint64_t part_bytes = 0;

  [[nodiscard]] cache::ObjectPart part_at(std::uint64_t offset_bytes) const {
    const std::uint64_t begin = offset_bytes / part_bytes * part_bytes;
    return {.version = version,
            .offset_bytes = begin,
            .length_bytes = std::min(part_bytes, version.size_bytes - begin)};
  }
};

struct AttachService::Metrics {
  explicit Metrics(metrics::Registry& registry)
      : opens(registry.counter("attach_opens_total", "Files that programs attached to")),
        parts(registry.counter("attach_parts_total", "Parts given to programs")),
        bytes(registry.counter("attach_part_bytes_total", "Bytes of the parts given to programs")),
        processes(registry.gauge("attach_processes", "Processes that read past FUSE")),
        held_bytes(registry.gauge("attach_held_bytes", "Bytes of the parts that programs hold")),
        registry_(registry) {}

  void refused(std::string_view reason) const {
    registry_
        .counter("attach_refused_total", "Requests of programs that read past FUSE, refused",
                 fmt::format(R"(reason="{}")", reason))
        .add();
  }

  metrics::Counter& opens;
  metrics::Counter& parts;
  metrics::Counter& bytes;
  metrics::Gauge& processes;
  metrics::Gauge& held_bytes;

 private:
  metrics::Registry& registry_;
};

/// Thread-safe.
class AttachService::Process {
 public:
  /// Borrows the gauges.
  Process(pid_t its_pid, const Metrics& metrics)
      : pid(its_pid), count_(metrics.processes), all_held_bytes_(metrics.held_bytes) {
    count_.add(1);
  }
  ~Process() {
    all_held_bytes_.add(-static_cast<std::int64_t>(held_bytes_));
    count_.add(-1);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const pid_t pid;  ///< 0: of another PID namespace

  /// False where it has all the tickets it may have.
  bool add(const Ticket& ticket, File file) {
    const MutexLock lock(mutex_);
    if (files_.size() >= kTicketsMax) return false;
    files_.insert_or_assign(ticket, std::move(file));
    return true;
  }
  void close(const Ticket& ticket) {
    const MutexLock lock(mutex_);
    files_.erase(ticket);
  }
  [[nodiscard]] std::optional<File> find(const Ticket& ticket) const {
    const MutexLock lock(mutex_);
    const auto found = files_.find(ticket);
    if (found == files_.end()) return std::nullopt;
    return found->second;
  }

  /// Counts a part that is about to be given. False where that is more than the process may have;
  /// it may have one part however large it is.
  [[nodiscard]] bool reserve(std::uint64_t length_bytes, std::uint64_t bytes_max) {
    const MutexLock lock(mutex_);
    if (held_bytes_ > 0 && held_bytes_ + length_bytes > bytes_max) return false;
    count(static_cast<std::int64_t>(length_bytes));
    return true;
  }
  /// The part was not given.
  void cancel(std::uint64_t length_bytes) {
    const MutexLock lock(mutex_);
    count(-static_cast<std::int64_t>(length_bytes));
  }
  /// The part was given. One that the process holds already counts once.
  void hold(const Ticket& ticket, std::uint64_t begin, std::uint64_t length_bytes,
            std::shared_ptr<const cache::ResidentObject> part) {
    const MutexLock lock(mutex_);
    const std::pair key(ticket, begin);
    if (held_.contains(key)) return count(-static_cast<std::int64_t>(length_bytes));
    held_.emplace(key, Held{.length_bytes = length_bytes, .part = std::move(part)});
  }
  void release(const Ticket& ticket, std::uint64_t begin) {
    std::shared_ptr<const cache::ResidentObject> part;  // goes after the lock
    const MutexLock lock(mutex_);
    const auto found = held_.find({ticket, begin});
    if (found == held_.end()) return;
    count(-static_cast<std::int64_t>(found->second.length_bytes));
    part = std::move(found->second.part);
    held_.erase(found);
  }

 private:
  struct Held {
    std::uint64_t length_bytes = 0;
    std::shared_ptr<const cache::ResidentObject> part;
  };

  void count(std::int64_t bytes) REQUIRES(mutex_) {
    held_bytes_ += static_cast<std::uint64_t>(bytes);
    all_held_bytes_.add(bytes);
  }

  metrics::Gauge& count_;
  metrics::Gauge& all_held_bytes_;

  mutable Mutex mutex_;  // leaf
  std::map<Ticket, File> files_ GUARDED_BY(mutex_);
  std::map<std::pair<Ticket, std::uint64_t>, Held> held_ GUARDED_BY(mutex_);
  std::uint64_t held_bytes_ GUARDED_BY(mutex_) = 0;  // those about to be given included
};

AttachService::AttachService(cache::ResidentParts& parts, FindOpened find_opened,
                             NoteGiven note_given, const Clock& clock, metrics::Registry& metrics,
                             Options options)
    : parts_(parts),
      find_opened_(std::move(find_opened)),
      note_given_(std::move(note_given)),
      clock_(clock),
      options_(options),
      metrics_(std::make_unique<Metrics>(metrics)) {}

AttachService::~AttachService() = default;

std::shared_ptr<AttachService::Process> AttachService::join(pid_t pid) {
  const MutexLock lock(mutex_);
  std::erase_if(processes_, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<Process>& known = processes_[pid];
  if (auto process = known.lock()) return process;
  auto process = std::make_shared<Process>(pid, *metrics_);
  known = process;
  return process;
}

std::uint64_t AttachService::process_bytes_max() const {
  return parts_.memory_bytes_max() / kProcessesAtFullSpeed;
}

// More ahead of one process would take the place of what is ahead of another.
std::uint64_t AttachService::share_of_one() {
  const MutexLock lock(mutex_);
  const auto sharers =
      std::ranges::count_if(processes_, [](const auto& one) { return !one.second.expired(); });
  return parts_.memory_bytes_max() / kShareOfAll /
         static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(sharers, 1));
}

AttachService::Answer AttachService::refuse(Status status) {
  static constexpr std::array<std::string_view, 8> kReasons = {
      "", "bad_request", "not_of_mount", "writable", "no_ticket", "too_many", "no_room", "failed"};
  metrics_->refused(kReasons.at(static_cast<std::size_t>(status)));
  return {.reply = {.status = status}};
}

void AttachService::serve(const std::shared_ptr<Process>& process, const Request& request,
                          UniqueFd descriptor, Answered answered) {
  if (request.version != attach::kWireVersion) return answered(refuse(Status::kBadRequest));
  switch (request.kind) {
    case Kind::kOpen:
      return answered(open(*process, descriptor));
    case Kind::kGet:
      return get(process, request, std::move(answered));
    case Kind::kPrefetch:
      return prefetch(*process, request);
    case Kind::kRelease:
      return process->release(request.ticket, request.offset_bytes);
    case Kind::kClose:
      return process->close(request.ticket);
  }
  answered(refuse(Status::kBadRequest));
}

AttachService::Answer AttachService::open(Process& process, const UniqueFd& descriptor) {
  if (!descriptor) return refuse(Status::kBadRequest);
  auto opened = find_opened_(descriptor.get(), process.pid);
  if (!opened) {
    return refuse(opened.error().code == ErrorCode::kUnsupported ? Status::kWritable
                                                                 : Status::kNotOfMount);
  }
  File file{.version = std::move(opened->version),
            .handle = opened->handle,
            .part_bytes = options_.part_bytes};
  const std::uint64_t size_bytes = file.version.size_bytes;
  // A whole object that is there has its bytes in one file.
  if (size_bytes > 0 && parts_.has_whole(file.version)) file.part_bytes = size_bytes;
  const std::uint64_t part_bytes = file.part_bytes;
  const Ticket ticket = new_ticket();
  if (ticket == Ticket{} || !process.add(ticket, std::move(file))) return refuse(Status::kNoRoom);
  metrics_->opens.add();
  return {.reply = {.status = Status::kOk,
                    .ticket = ticket,
                    .object_bytes = size_bytes,
                    .part_bytes = part_bytes,
                    .parts_max = std::max<std::uint64_t>(1, process_bytes_max() / part_bytes)}};
}

void AttachService::get(const std::shared_ptr<Process>& process, const Request& request,
                        Answered answered) {
  const auto file = process->find(request.ticket);
  if (!file) return answered(refuse(Status::kNoTicket));
  if (request.offset_bytes >= file->version.size_bytes) {
    return answered(refuse(Status::kBadRequest));
  }
  const cache::ObjectPart part = file->part_at(request.offset_bytes);
  const auto held_by_all = static_cast<std::uint64_t>(metrics_->held_bytes.value());
  if (held_by_all + part.length_bytes > parts_.memory_bytes_max() / kShareOfAll) {
    return answered(refuse(Status::kNoRoom));
  }
  if (!process->reserve(part.length_bytes, process_bytes_max())) {
    return answered(refuse(Status::kTooMany));
  }
  parts_.open_part(
      part, clock_.now() + options_.part_time,
      [this, process, ticket = request.ticket, begin = part.offset_bytes,
       length = part.length_bytes, handle = file->handle, answered = std::move(answered)](
          Result<std::shared_ptr<const cache::ResidentObject>> opened) mutable {
        if (!opened) {
          process->cancel(length);
          const bool is_memory = opened.error().code == ErrorCode::kNoMemory ||
                                 opened.error().code == ErrorCode::kBusy;
          return answered(refuse(is_memory ? Status::kNoRoom : Status::kFailed));
        }
        UniqueFd descriptor = reopened_for_reading((*opened)->fd());
        if (!descriptor) {
          process->cancel(length);
          return answered(refuse(Status::kNoRoom));
        }
        process->hold(ticket, begin, length, std::move(*opened));
        metrics_->parts.add();
        metrics_->bytes.add(length);
        note_given_(handle, length);
        answered({.reply = {.status = Status::kOk, .offset_bytes = begin, .length_bytes = length},
                  .descriptor = std::move(descriptor)});
      });
  fetch_ahead(*file, part.offset_bytes + part.length_bytes, request.length_bytes);
}

void AttachService::prefetch(Process& process, const Request& request) {
  const auto file = process.find(request.ticket);
  if (!file || request.offset_bytes >= file->version.size_bytes) return;
  fetch_ahead(*file, request.offset_bytes, request.length_bytes);
}

void AttachService::fetch_ahead(const File& file, std::uint64_t offset_bytes,
                                std::uint64_t length_bytes) {
  const std::uint64_t length =
      std::min({length_bytes, options_.ahead_bytes_max, process_bytes_max(), share_of_one()});
  const std::uint64_t left =
      file.version.size_bytes - std::min(offset_bytes, file.version.size_bytes);
  const std::uint64_t end = offset_bytes + std::min(length, left);
  for (std::uint64_t at = offset_bytes; at < end;) {
    const cache::ObjectPart part = file.part_at(at);
    if (!parts_.prefetch_part(part, clock_.now() + options_.part_time)) return;
    at = part.offset_bytes + part.length_bytes;
  }
}

}  // namespace s3rdmafs::daemon
