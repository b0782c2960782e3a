// SPDX-License-Identifier: Apache-2.0
// A part's slot. Its word counts the users of the part, and has a bit that says that the part is
// here. A reader adds itself first and looks at the bit then; a thread that gives the part up turns
// the bit into kGoing only while there are no users. So a hit takes two atomic operations and no
// lock, and a child of fork(2) finds no slot half changed: at worst one has a user for ever that
// was a thread of the parent, and stays.
//
// When a part is asked for. A program that reads in order gets the next part, and has those after
// it fetched. A small read elsewhere goes through the mount, which fetches 64 KiB in place of 8
// MiB; the fourth one of a part asks for it. Where the process has all that it may hold, a part
// would take the place of another, which is then asked for again: a reader at random places of more
// than that would do nothing else. So there a part is asked for once the mount has served a quarter
// of it.
//
// After a refusal the file is read through the mount for a short time: a mount without room is not
// asked at each read.
#include "client/attached_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <deque>

#include "s3rdmafs/base/units.h"

namespace s3rdmafs::client {
namespace {

using attach::Kind;
using attach::Status;

constexpr std::uint64_t kHere = std::uint64_t{1} << 63;
constexpr std::uint64_t kGoing = std::uint64_t{1} << 62;

// The least that the mount fetches: a smaller read elsewhere costs it less than a part.
constexpr std::size_t kSmallBytes = 64 * kKiB;
constexpr unsigned kSmallReadsMax = 4;
// A stream's first read of a part is at its beginning, or a little after it where threads share the
// stream; at random places most parts follow one that was read as well.
constexpr std::uint64_t kStepShare = 8;
// A part costs a message, a mapping and its page faults, which is more than a read through the
// mount costs, and less than the reads of all of it.
constexpr std::uint64_t kShareBeforeExchange = 4;
// As much as the mount's own read-ahead has under way for a stream.
constexpr std::uint64_t kAheadBytesMax = 64 * kMiB;
// A mount that has no room has some when other programs go on: a short time beside a part's.
constexpr std::int64_t kPauseMs = 100;
constexpr int kTriesMax = 4;
// Of a stream: the part that it reads, and one that a reader beside it may still be at.
constexpr std::uint64_t kKeptOfStream = 2;
// The daemon answers at once; a part comes by its own deadline (retry.deadline, 30 s by default).
constexpr std::chrono::milliseconds kAnswerTime{2000};
constexpr std::chrono::milliseconds kPartTime{35'000};

// How many parts of a mapping are asked for at once: half of the connections that a process may
// have, so that two threads can.
constexpr std::uint64_t kTogetherMax = 8;

// A stream begins at the beginning; elsewhere one part says nothing of the next.
std::uint64_t ahead_of(std::uint64_t part, std::optional<unsigned> run, std::uint64_t part_bytes) {
  const unsigned steps = run ? std::min(*run, 3U) : 0;
  return std::min(run || part == 0 ? part_bytes << steps : 0, kAheadBytesMax);
}

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

std::shared_ptr<AttachedFile> AttachedFile::attach(int fd, Daemon* daemon) {
  sys::Descriptor own(sys::fcntl(fd, F_DUPFD_CLOEXEC, kOwnFrom));
  if (!own) own.reset(sys::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own) return nullptr;
  struct statx found{};
  if (sys::stat_of(own.get(), found) != 0) return nullptr;
  std::shared_ptr<AttachedFile> file(
      new AttachedFile(OwnDescriptor(std::move(own)), found.stx_size));
  file->begin(found, daemon);
  return file;
}

void AttachedFile::begin(const struct statx& found, Daemon* daemon) {
  const int flags = sys::fcntl(file_.number(), F_GETFL, 0);
  if (!S_ISREG(found.stx_mode)) {
    reason_ = "it is not a regular file";
  } else if (flags < 0 || (flags & O_PATH) != 0 || (flags & O_ACCMODE) != O_RDONLY) {
    reason_ = "it is not open for reading alone";
  } else if (size_bytes_ < kBytesMin) {
    reason_ = "it is smaller than 1 MiB: the kernel serves it best";
  } else {
    daemon_ = daemon != nullptr ? daemon : Daemon::of(file_.number(), found);
    reason_ = daemon_ == nullptr ? "it is not on an s3rdmafs mount that can be read past FUSE"
                                 : get_ticket();
  }
  if (reason_ == nullptr) daemon_->add(*this);
}

AttachedFile::~AttachedFile() {
  if (reason_ != nullptr) return;
  daemon_->remove(*this);
  for (std::uint64_t part = 0; part < parts_; ++part) give_up(part);
  if (const auto ticket = own_ticket()) daemon_->tell({.kind = Kind::kClose, .ticket = *ticket});
}

std::optional<attach::Ticket> AttachedFile::own_ticket() const {
  const MutexLock lock(mutex_);
  if (ticket_pid_ != ::getpid()) return std::nullopt;
  return ticket_;
}

const char* AttachedFile::get_ticket() {
  if (!file_.is_intact()) return "its descriptor was closed";
  const auto answer = daemon_->ask({.kind = Kind::kOpen}, file_.number(), kAnswerTime);
  if (!answer) return "the daemon of its mount does not answer";
  const attach::Reply& reply = answer->reply;
  if (reply.status == Status::kWritable) return "its bucket may be written through this mount";
  if (reply.status != Status::kOk) return "the daemon of its mount refused it";
  const bool is_sound = reply.part_bytes > 0 && reply.object_bytes == size_bytes_ &&
                        (reply.part_bytes % 4096 == 0 || reply.part_bytes >= size_bytes_);
  if (!is_sound) return "the daemon of its mount has another version of it";
  if (slots_ == nullptr) {
    part_bytes_ = std::min(reply.part_bytes, size_bytes_);
    parts_ = (size_bytes_ + part_bytes_ - 1) / part_bytes_;
    slots_ = std::make_unique<Slot[]>(parts_);
  } else if (std::min(reply.part_bytes, size_bytes_) != part_bytes_) {
    return "its parts have changed";
  }
  daemon_->set_bytes_max(std::max<std::uint64_t>(1, reply.parts_max) * part_bytes_);
  const MutexLock lock(mutex_);
  ticket_ = reply.ticket;
  ticket_pid_ = ::getpid();
  return nullptr;
}

std::uint64_t AttachedFile::part_length(std::uint64_t part) const noexcept {
  return std::min(part_bytes_, size_bytes_ - part * part_bytes_);
}

AttachedFile::Piece AttachedFile::piece_at(std::uint64_t at, std::size_t length) const noexcept {
  const std::uint64_t part = at / part_bytes_;
  const std::uint64_t in_part = at % part_bytes_;
  return {.part = part,
          .in_part = in_part,
          .length = std::min<std::uint64_t>(length, part_length(part) - in_part)};
}

AttachedFile::Answer AttachedFile::pread(void* buffer, std::size_t length, off_t offset) {
  if (reason_ != nullptr || offset < 0) {
    return {.result = read_through(buffer, length, offset), .is_past_fuse = false};
  }
  const auto begin = static_cast<std::uint64_t>(offset);
  if (begin >= size_bytes_) return {};
  length = std::min<std::uint64_t>({length, size_bytes_ - begin, SSIZE_MAX});
  Answer answer;
  for (std::size_t done = 0; done < length;) {
    const std::uint64_t at = begin + done;
    const auto [part, in_part, n] = piece_at(at, length - done);
    char* const to = static_cast<char*>(buffer) + done;
    if (hold(part, in_part, length)) {
      std::memcpy(to, slots_[part].bytes + in_part, n);
      let_go(part);
      done += n;
      answer.result += static_cast<ssize_t>(n);
      continue;
    }
    answer.is_past_fuse = false;
    const ssize_t got = read_through(to, n, static_cast<off_t>(at));
    if (got < 0) return {.result = answer.result > 0 ? answer.result : -1, .is_past_fuse = false};
    answer.result += got;
    if (static_cast<std::size_t>(got) < n) return answer;
    done += n;
  }
  return answer;
}

AttachedFile::Answer AttachedFile::send(int to, std::size_t length, off_t offset) {
  if (reason_ != nullptr || offset < 0) return {.result = 0, .is_past_fuse = false};
  Answer answer;
  const auto begin = static_cast<std::uint64_t>(offset);
  if (begin >= size_bytes_) return answer;
  length = std::min<std::uint64_t>({length, size_bytes_ - begin, SSIZE_MAX});
  for (std::size_t done = 0; done < length;) {
    const auto [part, in_part, n] = piece_at(begin + done, length - done);
    answer.is_past_fuse = hold(part, in_part, length);
    if (!answer.is_past_fuse) break;
    const ssize_t sent = sys::write(to, slots_[part].bytes + in_part, n);
    let_go(part);
    if (sent < 0) {
      if (done == 0) answer.result = -1;
      break;
    }
    done += static_cast<std::size_t>(sent);
    answer.result = static_cast<ssize_t>(done);
    if (static_cast<std::size_t>(sent) < n) break;  // there is no room for more
  }
  return answer;
}

ssize_t AttachedFile::read_through(void* buffer, std::size_t length, off_t offset) const {
  if (!file_.is_intact()) {
    errno = EBADF;
    return -1;
  }
  std::size_t done = 0;
  while (done < length) {
    const ssize_t n = sys::pread(file_.number(), static_cast<char*>(buffer) + done, length - done,
                                 offset + static_cast<off_t>(done));
    if (n < 0) return done > 0 ? static_cast<ssize_t>(done) : -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

bool AttachedFile::hold(std::uint64_t part, std::uint64_t in_part, std::size_t length) {
  Slot& slot = slots_[part];
  if ((slot.word.fetch_add(1, std::memory_order_acquire) & kHere) != 0) {
    slot.used_at.store(time_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return true;
  }
  let_go(part);
  return may_ask() && fetch(part, in_part, length);
}

std::optional<unsigned> AttachedFile::run_before(std::uint64_t part) const {
  const MutexLock lock(mutex_);
  return streams_.run_before(part);
}

void AttachedFile::note(std::uint64_t part) {
  const MutexLock lock(mutex_);
  streams_.note(part);
}

bool AttachedFile::fetch(std::uint64_t part, std::uint64_t in_part, std::size_t length) {
  const bool may_be_a_step = in_part < part_bytes_ / kStepShare;
  const std::optional<unsigned> run = may_be_a_step ? run_before(part) : std::nullopt;
  if (is_for_the_mount(part, in_part, length, run.has_value())) return false;
  const MutexLock lock(fetch_mutexes_[part % fetch_mutexes_.size()]);
  Slot& slot = slots_[part];
  const std::uint64_t word = slot.word.fetch_add(1, std::memory_order_acquire);
  if ((word & kHere) != 0) return true;  // another thread has fetched it
  if ((word & kGoing) == 0 && take(part, ahead_of(part, run, part_bytes_))) {
    note(part);
    // A stream does not come back, and the daemon still has the part if one does.
    if (run && part >= kKeptOfStream) give_up(part - kKeptOfStream);
    return true;
  }
  let_go(part);
  pause();
  return false;
}

bool AttachedFile::is_for_the_mount(std::uint64_t part, std::uint64_t in_part, std::size_t length,
                                    bool is_in_stream) {
  const bool is_step = in_part == 0 && (is_in_stream || (part == 0 && length >= kSmallBytes));
  const std::uint64_t n = std::min<std::uint64_t>(length, part_length(part) - in_part);
  if (!is_step && n < part_length(part) && !daemon_->has_room(part_length(part))) {
    const std::uint64_t served = slots_[part].missed_bytes.fetch_add(n);
    return served < part_length(part) / kShareBeforeExchange;
  }
  if (parts_ == 1 || is_in_stream || length >= kSmallBytes) return false;
  return ++slots_[part].small_reads < kSmallReadsMax;
}

attach::Request AttachedFile::request_for(const attach::Ticket& ticket, std::uint64_t part,
                                          std::uint64_t ahead_bytes) const {
  return {.kind = Kind::kGet,
          .ticket = ticket,
          .offset_bytes = part * part_bytes_,
          .length_bytes = ahead_bytes};
}

// The caller has counted itself as a user, which keeps other threads from giving the part up.
bool AttachedFile::take(std::uint64_t part, std::uint64_t ahead_bytes) {
  const std::uint64_t length = part_length(part);
  auto ticket = own_ticket();
  if (!ticket && get_ticket() == nullptr) ticket = own_ticket();
  if (!ticket || !daemon_->make_room(length)) return false;
  attach::Request request = request_for(*ticket, part, ahead_bytes);
  auto answer = daemon_->ask(request, -1, kPartTime);
  for (int tries = 1; tries < kTriesMax && answer && answer->reply.status == Status::kTooMany &&
                      daemon_->give_up_one();
       ++tries) {
    answer = daemon_->ask(request, -1, kPartTime);
  }
  // All connections of the process had ended since it got the ticket.
  if (answer && answer->reply.status == Status::kNoTicket && get_ticket() == nullptr) {
    request.ticket = own_ticket().value_or(attach::Ticket{});
    answer = daemon_->ask(request, -1, kPartTime);
  }
  return map(request, answer);
}

bool AttachedFile::map(const attach::Request& request,
                       const std::optional<Connection::Answer>& answer) {
  if (!answer || answer->reply.status != Status::kOk || !answer->descriptor) return false;
  const std::uint64_t part = request.offset_bytes / part_bytes_;
  const std::uint64_t length = part_length(part);
  struct statx found{};
  const bool is_the_part = answer->reply.offset_bytes == request.offset_bytes &&
                           answer->reply.length_bytes == length &&
                           sys::stat_of(answer->descriptor.get(), found) == 0 &&
                           S_ISREG(found.stx_mode) && found.stx_size >= length;
  if (!is_the_part) return false;
  // The mapping alone is kept: a descriptor could be closed by code that does not know of it.
  void* const bytes =
      sys::mmap(nullptr, length, PROT_READ, MAP_SHARED, answer->descriptor.get(), 0);
  if (bytes == MAP_FAILED) return false;
  Slot& slot = slots_[part];
  slot.bytes = static_cast<const std::byte*>(bytes);
  slot.used_at = ++time_;
  slot.missed_bytes = 0;
  daemon_->count_held(static_cast<std::int64_t>(length));
  slot.word.fetch_or(kHere, std::memory_order_release);
  return true;
}

// It does not pass the last of the locks, so that it takes them in order.
std::uint64_t AttachedFile::batch_end(std::uint64_t first, std::uint64_t last) const {
  const std::uint64_t locks_end = (first / fetch_mutexes_.size() + 1) * fetch_mutexes_.size();
  return std::min({last + 1, first + kTogetherMax, locks_end});
}

// The caller fetches the parts that a batch could not get.
void AttachedFile::fetch_together(std::uint64_t first, std::uint64_t last) {
  const std::uint64_t end = batch_end(first, last);
  const auto ticket = own_ticket();
  if (end - first < 2 || !ticket || !may_ask()) return;
  const std::optional<unsigned> run = run_before(first);
  std::deque<MutexLock> locks;
  std::vector<attach::Request> missing;
  for (std::uint64_t part = first; part < end; ++part) {
    locks.emplace_back(fetch_mutexes_[part % fetch_mutexes_.size()]);
    const std::uint64_t word = slots_[part].word.fetch_add(1, std::memory_order_acquire);
    if ((word & (kHere | kGoing)) != 0) continue;
    missing.push_back(
        request_for(*ticket, part, part + 1 == end ? ahead_of(first, run, part_bytes_) : 0));
  }
  if (daemon_->make_room(missing.size() * part_bytes_)) {
    const auto answers = daemon_->ask_together(missing, kPartTime);
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (map(missing[i], answers[i])) note(missing[i].offset_bytes / part_bytes_);
    }
  }
  for (std::uint64_t part = first; part < end; ++part) let_go(part);
  // As fetch() does, for the parts before the batch.
  for (std::uint64_t part = first - std::min(first, kKeptOfStream); run && part < first; ++part) {
    give_up(part);
  }
}

bool AttachedFile::may_ask() const {
  return asks_again_at_ms_.load(std::memory_order_relaxed) == 0 || now_ms() >= asks_again_at_ms_;
}

void AttachedFile::pause() { asks_again_at_ms_ = now_ms() + kPauseMs; }

std::optional<AttachedFile::Idle> AttachedFile::oldest_idle() const {
  std::optional<Idle> oldest;
  for (std::uint64_t part = 0; part < parts_; ++part) {
    if (slots_[part].word != kHere) continue;
    const std::uint64_t used_at = slots_[part].used_at;
    if (!oldest || used_at < oldest->used_at) oldest = Idle{.part = part, .used_at = used_at};
  }
  return oldest;
}

void AttachedFile::give_up(std::uint64_t part) {
  Slot& slot = slots_[part];
  std::uint64_t unused = kHere;
  if (!slot.word.compare_exchange_strong(unused, kGoing, std::memory_order_acq_rel)) return;
  const std::uint64_t length = part_length(part);
  ::syscall(SYS_munmap, std::exchange(slot.bytes, nullptr), length);
  daemon_->count_held(-static_cast<std::int64_t>(length));
  if (const auto ticket = own_ticket()) {  // a child has a mapping, and holds nothing of its own
    daemon_->tell({.kind = Kind::kRelease, .ticket = *ticket, .offset_bytes = part * part_bytes_});
  }
  slot.word.fetch_and(~kGoing, std::memory_order_release);
}

void AttachedFile::prefetch(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  if (reason_ != nullptr || offset_bytes >= size_bytes_ || !may_ask()) return;
  const auto ticket = own_ticket();
  if (!ticket) return;
  daemon_->tell({.kind = Kind::kPrefetch,
                 .ticket = *ticket,
                 .offset_bytes = offset_bytes,
                 .length_bytes = length_bytes});
}

bool AttachedFile::pin(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  if (reason_ != nullptr) return false;
  const std::uint64_t first = offset_bytes / part_bytes_;
  const std::uint64_t last = (offset_bytes + length_bytes - 1) / part_bytes_;
  // The first batch is asked for at once: a message for it would only be in its way.
  if (const std::uint64_t rest = batch_end(first, last); rest <= last) {
    prefetch(rest * part_bytes_, offset_bytes + length_bytes - rest * part_bytes_);
  }
  for (std::uint64_t part = first; part <= last; ++part) {
    if ((slots_[part].word.load(std::memory_order_relaxed) & kHere) == 0) {
      fetch_together(part, last);
    }
    if (hold(part, 0, part_bytes_)) continue;
    for (std::uint64_t held = first; held < part; ++held) let_go(held);
    return false;
  }
  return true;
}

void AttachedFile::unpin(std::uint64_t offset_bytes, std::uint64_t length_bytes) {
  const std::uint64_t first = offset_bytes / part_bytes_;
  const std::uint64_t last = (offset_bytes + length_bytes - 1) / part_bytes_;
  for (std::uint64_t part = first; part <= last; ++part) let_go(part);
}

void AttachedFile::begin_child() {
  for (Mutex& mutex : fetch_mutexes_) new (&mutex) Mutex;
  new (&mutex_) Mutex;
}

}  // namespace s3rdmafs::client
