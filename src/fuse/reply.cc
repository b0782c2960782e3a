// SPDX-License-Identifier: Apache-2.0
// Exactly one reply, although the operation and an interrupt may both want to give it.
//
// libfuse calls on_interrupt with the request's own lock held. fuse_req_interrupt_func(request,
// nullptr, nullptr) takes that lock, so it returns only when no interrupt is being handled, and the
// state may be freed after it. That is why claim() calls it before it lets the owner answer.
//
// libfuse reports an interrupt that came before the registration from within the registration. The
// request must not be answered there, since libfuse still has to unlock it: the phase remembers the
// interrupt, and the registering thread answers it once the registration has returned.
//
// One thread may make a request interruptible while another answers it. The mutex, which only these
// two take, keeps the request alive until the registration has returned.
//
// Cost: one allocation and two readings of the clock for each request; two lock acquisitions for
// those that can be interrupted.
#include "fuse/reply.h"

#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "fuse/errno_map.h"
#include "fuse/mount_context.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::fuse {
namespace {

void send_pieces(fuse_req_t request, const cache::PinnedBytes& bytes) {
  // libfuse copies a list of pieces to the heap, but not a single piece.
  if (bytes.pieces().size() == 1) {
    const auto piece = bytes.pieces().front();
    fuse_reply_buf(request, reinterpret_cast<const char*>(piece.data()), piece.size());
    return;
  }
  std::array<iovec, cache::PinnedBytes::kPiecesMax> parts{};
  int count = 0;
  for (const auto piece : bytes.pieces()) {
    parts.at(static_cast<std::size_t>(count++)) = {.iov_base = const_cast<std::byte*>(piece.data()),
                                                   .iov_len = piece.size()};
  }
  fuse_reply_iov(request, parts.data(), count);
}

}  // namespace

Reply::State::State(fuse_req_t of, Opcode operation, std::uint64_t bytes)
    : request(of),
      mount(*static_cast<MountContext*>(fuse_req_userdata(of))),
      times(mount.times.of(operation, bytes)),
      came_at(mount.clock.now()) {}

void Reply::LetGo::operator()(State* state) const {
  if (state->holders.fetch_sub(1) == 1) delete state;
}

Reply::Reply(fuse_req_t request, Opcode operation) : state_(new State(request, operation, 0)) {
  make_interruptible(*state_);
}

// No interrupt function is registered, so libfuse does not touch the request.
Reply Reply::uninterruptible(fuse_req_t request, Opcode operation, std::uint64_t bytes) {
  return Reply(Held(new State(request, operation, bytes)));
}

Reply::Waiting Reply::waiting() const {
  state_->holders.fetch_add(1);
  return Waiting(Held(state_.get()));
}

void Reply::make_interruptible(State& state) {
  {
    const MutexLock lock(state.mutex);
    auto expected = Phase::kOpen;
    if (!state.phase.compare_exchange_strong(expected, Phase::kRegistering)) return;
    fuse_req_interrupt_func(state.request, &Reply::on_interrupt, &state);
    state.has_interrupt_function = true;
    expected = Phase::kRegistering;
    if (state.phase.compare_exchange_strong(expected, Phase::kOpen)) return;
    state.phase.store(Phase::kAnswered);
  }
  fuse_req_interrupt_func(state.request, nullptr, nullptr);
  fuse_reply_err(state.request, EINTR);
}

Reply::~Reply() {
  if (!state_ || state_->phase.load() == Phase::kAnswered) return;
  log::critical("fuse: a request was dropped without an answer; replying EIO");
  errno_value(EIO);
}

void Reply::on_interrupt(fuse_req_t request, void* data) noexcept {
  auto* state = static_cast<State*>(data);
  auto expected = Phase::kRegistering;
  if (state->phase.compare_exchange_strong(expected, Phase::kInterruptedEarly)) return;
  expected = Phase::kOpen;
  if (!state->phase.compare_exchange_strong(expected, Phase::kAnswered)) return;
  // The owner may free the state from here on.
  fuse_reply_err(request, EINTR);
}

bool Reply::claim() {
  bool has_interrupt_function = false;
  {
    const MutexLock lock(state_->mutex);
    auto expected = Phase::kOpen;
    if (!state_->phase.compare_exchange_strong(expected, Phase::kAnswered)) return false;
    has_interrupt_function = state_->has_interrupt_function;
  }
  if (has_interrupt_function) fuse_req_interrupt_func(state_->request, nullptr, nullptr);
  return true;
}

void Reply::measure() { state_->times.record(state_->mount.clock.now() - state_->came_at); }

Deadline Reply::deadline() const { return state_->came_at + state_->mount.presentation.deadline; }

void Reply::error(const Error& error) {
  state_->mount.failures.report(error);
  errno_value(errno_of(error.code));
}

void Reply::errno_value(int value) {
  if (!claim()) return;
  fuse_reply_err(state_->request, value);
  measure();
}

bool Reply::entry(const fuse_entry_param& entry) {
  if (!claim()) return false;
  const bool is_taken = fuse_reply_entry(state_->request, &entry) == 0;
  measure();
  return is_taken;
}

void Reply::attributes(const struct stat& attributes, double valid_s) {
  if (!claim()) return;
  fuse_reply_attr(state_->request, &attributes, valid_s);
  measure();
}

bool Reply::open(const std::function<fuse_file_info(fuse_req_t)>& make_file) {
  if (!claim()) return false;
  const fuse_file_info file = make_file(state_->request);
  const bool is_taken = fuse_reply_open(state_->request, &file) == 0;
  measure();
  return is_taken;
}

void Reply::create(const fuse_entry_param& entry, const fuse_file_info& file) {
  if (!claim()) return;
  fuse_reply_create(state_->request, &entry, &file);
  measure();
}

void Reply::written(std::size_t bytes) {
  if (!claim()) return;
  fuse_reply_write(state_->request, bytes);
  measure();
}

void Reply::link(const std::string& target) {
  if (!claim()) return;
  fuse_reply_readlink(state_->request, target.c_str());
  measure();
}

bool Reply::bytes(std::span<const char> bytes) {
  if (!claim()) return false;
  const bool is_taken = fuse_reply_buf(state_->request, bytes.data(), bytes.size()) == 0;
  measure();
  return is_taken;
}

void Reply::data(const cache::PinnedBytes& bytes) {
  if (!claim()) return;
  send_pieces(state_->request, bytes);
  measure();
}

void Reply::size(std::size_t bytes) {
  if (!claim()) return;
  fuse_reply_xattr(state_->request, bytes);
  measure();
}

void Reply::statfs(const struct statvfs& statistics) {
  if (!claim()) return;
  fuse_reply_statfs(state_->request, &statistics);
  measure();
}

}  // namespace s3rdmafs::fuse
