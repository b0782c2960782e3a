// SPDX-License-Identifier: Apache-2.0
// The device is the end for writing of a pipe that carries nothing: device_calls.cc stands in for
// read(2), writev(2) and ioctl(2) on it. A descriptor is known by the pipe's inode number, so that
// copies of it belong to the same kernel and a number that was closed and used again does not.
#include "fakes/fuse/fake_kernel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace s3rdmafs::fakes {
namespace {

constexpr FakeKernel::Id kIdStep = 2;  // as FUSE_REQ_ID_STEP: the lowest bit is an interrupt's
constexpr FakeKernel::Id kInterruptBit = 1;  // as FUSE_INT_REQ_BIT
constexpr std::chrono::seconds kReplyTime{30};

struct Kernels {
  Mutex mutex;  // leaf
  std::map<ino_t, FakeKernel*> by_pipe GUARDED_BY(mutex);
};

Kernels& kernels() {
  static Kernels& all = *new Kernels;  // read(2) is called until the very end of the process
  return all;
}

ino_t pipe_of(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) ? status.st_ino : 0;
}

bool has_reply(const FuseRequest& request) {
  return request.opcode != FUSE_FORGET && request.opcode != FUSE_BATCH_FORGET;
}

std::string name_of(const FuseRequest& request) {
  return "opcode " + std::to_string(request.opcode);
}

}  // namespace

FakeKernel::FakeKernel(Abilities abilities) : abilities_(abilities) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  device_peer_ = UniqueFd(ends[0]);
  device_ = UniqueFd(ends[1]);
  Kernels& all = kernels();
  const MutexLock lock(all.mutex);
  all.by_pipe[pipe_of(device_.get())] = this;
}

FakeKernel::~FakeKernel() {
  Kernels& all = kernels();
  const MutexLock lock(all.mutex);
  all.by_pipe.erase(pipe_of(device_.get()));
}

FakeKernel* FakeKernel::find(int fd) {
  Kernels& all = kernels();
  {
    const MutexLock lock(all.mutex);
    if (all.by_pipe.empty()) return nullptr;
  }
  const ino_t pipe = pipe_of(fd);
  const MutexLock lock(all.mutex);
  const auto found = all.by_pipe.find(pipe);
  return found == all.by_pipe.end() ? nullptr : found->second;
}

std::string FakeKernel::make_device() {
  return "/dev/fd/" + std::to_string(::fcntl(device_.get(), F_DUPFD_CLOEXEC, 3));
}

FakeKernel::Id FakeKernel::send(FuseRequest request) {
  return enqueue(std::move(request), Fate::kNormal);
}

FakeKernel::Id FakeKernel::send_interrupted(FuseRequest request) {
  return enqueue(std::move(request), Fate::kInterruptedFirst);
}

FakeKernel::Id FakeKernel::send_given_up(FuseRequest request) {
  return enqueue(std::move(request), Fate::kGivenUp);
}

FakeKernel::Id FakeKernel::enqueue(FuseRequest request, Fate fate) {
  Id id = 0;
  {
    const MutexLock lock(mutex_);
    id = last_id_ += kIdStep;
    inodes_.on_sent(request);
    if (has_reply(request)) {
      requests_[id] = {.request = request, .is_given_up = fate == Fate::kGivenUp};
    }
    if (fate == Fate::kInterruptedFirst) queue_interrupt(id);
    queue_.push_back({id, std::move(request)});
  }
  changed_.notify_all();
  return id;
}

void FakeKernel::interrupt(Id id) {
  {
    const MutexLock lock(mutex_);
    queue_interrupt(id);
  }
  changed_.notify_all();
}

void FakeKernel::queue_interrupt(Id id) {
  const fuse_interrupt_in in{.unique = id};
  queue_.push_back(
      {id | kInterruptBit,
       {.opcode = FUSE_INTERRUPT, .body = {reinterpret_cast<const char*>(&in), sizeof(in)}}});
}

bool FakeKernel::await_refusal(Id id) {
  const auto deadline = std::chrono::steady_clock::now() + kReplyTime;
  const MutexLock lock(mutex_);
  const Pending& pending = requests_.at(id);
  while (!pending.was_refused) {
    if (!changed_.wait_until(mutex_, deadline)) return false;
  }
  return true;
}

FuseReply FakeKernel::await(Id id) {
  const auto deadline = std::chrono::steady_clock::now() + kReplyTime;
  const MutexLock lock(mutex_);
  const Pending& pending = requests_.at(id);
  while (!pending.reply) {
    if (changed_.wait_until(mutex_, deadline)) continue;
    violation("no reply to " + name_of(pending.request), 0);
    return {.error = ETIMEDOUT};
  }
  return *pending.reply;
}

bool FakeKernel::is_answered(Id id) const {
  const MutexLock lock(mutex_);
  return requests_.at(id).reply.has_value();
}

fuse_init_out FakeKernel::initialise() {
  const FuseReply reply = call(fuse_request::init(abilities_.minor, abilities_.flags));
  return reply.as<fuse_init_out>();
}

void FakeKernel::forget_all() {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> counts;
  {
    const MutexLock lock(mutex_);
    counts.assign(inodes_.lookups().begin(), inodes_.lookups().end());
  }
  if (!counts.empty()) send(fuse_request::batch_forget(counts));
}

void FakeKernel::refuse_notifications(int error) {
  const MutexLock lock(mutex_);
  notification_error_ = error;
}

void FakeKernel::unmount(int read_error) {
  {
    const MutexLock lock(mutex_);
    if (read_error_ == 0) read_error_ = read_error;
    device_peer_.reset();
    for (auto& [id, pending] : requests_) {
      pending.is_given_up = true;
      if (!pending.reply) pending.reply = FuseReply{.error = ECONNABORTED};
    }
  }
  changed_.notify_all();
}

std::uint64_t FakeKernel::lookups(std::uint64_t node) const {
  const MutexLock lock(mutex_);
  const auto found = inodes_.lookups().find(node);
  return found == inodes_.lookups().end() ? 0 : found->second;
}

std::size_t FakeKernel::open_files() const {
  const MutexLock lock(mutex_);
  return inodes_.open_files();
}

std::size_t FakeKernel::backing_ids() const {
  const MutexLock lock(mutex_);
  return inodes_.backing_ids();
}

std::string FakeKernel::page_cache(std::uint64_t node) const {
  const MutexLock lock(mutex_);
  return inodes_.page_cache(node);
}

unsigned FakeKernel::repeated_interrupts() const {
  const MutexLock lock(mutex_);
  return repeated_interrupts_;
}

std::vector<std::string> FakeKernel::violations() const {
  const MutexLock lock(mutex_);
  return inodes_.violations();
}

ssize_t FakeKernel::violation(std::string text, int error) {
  inodes_.add_violation(std::move(text));
  return -error;
}

ssize_t FakeKernel::device_read(int fd, std::span<char> buffer) {
  const MutexLock lock(mutex_);
  while (queue_.empty() && read_error_ == 0) {
    changed_.wait_until(mutex_, std::chrono::steady_clock::now() + kReplyTime);
  }
  if (read_error_ != 0) return -read_error_;
  // Errors that Linux gives when a request is withdrawn while it is read, or a signal comes.
  ++reads_;
  if (reads_ % 7 == 0) return -EINTR;
  if (reads_ % 11 == 0) return -ENOENT;
  if (buffer.size() < bytes_read_at_least_) return -EINVAL;

  const Queued next = std::move(queue_.front());
  queue_.pop_front();
  fuse_in_header header{};
  header.len = static_cast<std::uint32_t>(sizeof(header) + next.request.body.size());
  header.opcode = next.request.opcode;
  header.unique = next.unique;
  header.nodeid = next.request.node;
  header.uid = ::geteuid();
  header.gid = ::getegid();
  header.pid = next.request.pid;
  if (header.len > buffer.size()) {
    return violation("the file system's buffer is too small for " + name_of(next.request), EIO);
  }
  std::memcpy(buffer.data(), &header, sizeof(header));
  std::ranges::copy(next.request.body, buffer.data() + sizeof(header));
  if (const auto found = requests_.find(next.unique); found != requests_.end()) {
    found->second.read_by = fd;
  }
  return header.len;
}

ssize_t FakeKernel::device_write(int fd, std::span<const iovec> parts) {
  std::string message;
  for (const iovec& part : parts) message.append(static_cast<char*>(part.iov_base), part.iov_len);
  const auto header = FuseReply{.body = message}.as<fuse_out_header>();
  std::string body = message.substr(std::min(sizeof(header), message.size()));
  ssize_t result = 0;
  {
    const MutexLock lock(mutex_);
    if (message.size() < sizeof(header) || header.len != message.size()) {
      return violation("a reply whose header has another length", EINVAL);
    }
    if (header.unique == 0) {
      result = take_notification(header.error, body);
    } else if ((header.unique & kInterruptBit) != 0) {
      result = take_interrupt_reply(header.unique, -header.error);
    } else {
      result = take_reply(fd, header.unique, {.error = -header.error, .body = std::move(body)});
    }
  }
  changed_.notify_all();
  return result < 0 ? result : static_cast<ssize_t>(message.size());
}

ssize_t FakeKernel::take_reply(int fd, Id unique, FuseReply reply) {
  const auto found = requests_.find(unique);
  if (found == requests_.end()) return violation("a reply to no request", ENOENT);
  Pending& pending = found->second;
  if (pending.is_given_up) {
    pending.was_refused = true;
    return -ENOENT;
  }
  const std::string name = name_of(pending.request);
  if (pending.reply) return violation("two replies to " + name, ENOENT);
  if (pending.read_by != fd) return violation("a reply by another device to " + name, ENOENT);
  if (reply.error < 0 || reply.error >= 512 || (reply.error != 0 && !reply.body.empty())) {
    return violation("an error that Linux refuses to " + name, EINVAL);
  }
  const BodyLimits limits = reply_body_limits(pending.request);
  if (reply.error == 0 && (reply.body.size() < limits.min || reply.body.size() > limits.max)) {
    return violation("a reply of " + std::to_string(reply.body.size()) + " bytes to " + name,
                     EINVAL);
  }
  if (reply.error == 0) inodes_.on_reply(pending.request, reply);
  if (reply.error == 0 && pending.request.opcode == FUSE_INIT) {
    bytes_read_at_least_ =
        std::max<std::size_t>(FUSE_MIN_READ_BUFFER, sizeof(fuse_in_header) + sizeof(fuse_write_in) +
                                                        reply.as<fuse_init_out>().max_write);
  }
  pending.reply = std::move(reply);
  return 0;
}

// EAGAIN: its request has not been seen yet. Linux then sends the interrupt again if it waits.
ssize_t FakeKernel::take_interrupt_reply(Id unique, int error) {
  const auto found = requests_.find(unique & ~kInterruptBit);
  if (error != EAGAIN) return violation("an INTERRUPT was answered", EINVAL);
  if (found == requests_.end() || found->second.reply) return -ENOENT;
  ++repeated_interrupts_;
  queue_interrupt(found->first);
  return 0;
}

ssize_t FakeKernel::take_notification(int code, std::string_view body) {
  if (read_error_ != 0) return -ENOTCONN;
  if (notification_error_ != 0) return -notification_error_;
  const auto store = FuseReply{.body = std::string(body)}.as<fuse_notify_store_out>();
  if (code != FUSE_NOTIFY_STORE || body.size() != sizeof(store) + store.size) {
    return violation("notification " + std::to_string(code) + " is unknown or has a wrong length",
                     EINVAL);
  }
  for (const auto& [id, pending] : requests_) {
    if (pending.request.opcode == FUSE_READ && pending.request.node == store.nodeid &&
        !pending.reply) {
      return violation("bytes were stored while a read has their pages locked: a deadlock", EINVAL);
    }
  }
  return -inodes_.store(store.nodeid, store.offset, body.substr(sizeof(store)));
}

int FakeKernel::device_ioctl(unsigned long request, void* argument) {
  const MutexLock lock(mutex_);
  if (read_error_ != 0) return -EPERM;
  if (request == kBackingOpenIoctl) {
    if (!abilities_.backs_files) return -EPERM;
    return inodes_.open_backing(static_cast<const BackingMap*>(argument)->fd);
  }
  if (request == kBackingCloseIoctl) {
    return inodes_.close_backing(*static_cast<const std::uint32_t*>(argument));
  }
  return -ENOTTY;
}

}  // namespace s3rdmafs::fakes
