// SPDX-License-Identifier: Apache-2.0
// Exactly one reply, although two may want to give it.
//
// libfuse calls on_interrupt with the request's own lock held, so fuse_req_interrupt_func(request,
// nullptr, nullptr), which takes that lock, returns only when no interrupt is being handled: after
// it the state may be freed. That is why claim() calls it before every answer of the owner's.
//
// An interrupt that came before the registration is reported from within the registration, where
// the request must not be answered (libfuse unlocks it afterwards); it is remembered and answered
// by the constructor.
#include "fuse/reply.h"

#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "fuse/errno_map.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::fuse {

Reply::Reply(fuse_req_t request) : state_(new State{.request = request}) {
  fuse_req_interrupt_func(request, &Reply::on_interrupt, state_.get());
  auto expected = Phase::kRegistering;
  if (state_->phase.compare_exchange_strong(expected, Phase::kOpen)) return;
  state_->phase.store(Phase::kOpen);
  errno_value(EINTR);
}

// No interrupt function is registered: libfuse then leaves the request alone.
Reply Reply::uninterruptible(fuse_req_t request) {
  std::unique_ptr<State> state(new State{.request = request});
  state->phase.store(Phase::kOpen);
  return Reply(std::move(state));
}

Reply::~Reply() {
  if (!state_ || state_->phase.load() == Phase::kAnswered) return;
  spdlog::critical("a FUSE request was dropped without an answer; answering EIO");
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
  auto expected = Phase::kOpen;
  if (!state_->phase.compare_exchange_strong(expected, Phase::kAnswered)) return false;
  fuse_req_interrupt_func(state_->request, nullptr, nullptr);
  return true;
}

void Reply::error(const Error& error) { errno_value(errno_of(error.code)); }

void Reply::errno_value(int value) {
  if (claim()) fuse_reply_err(state_->request, value);
}

void Reply::entry(const fuse_entry_param& entry) {
  if (claim()) fuse_reply_entry(state_->request, &entry);
}

void Reply::attributes(const struct stat& attributes, double valid_s) {
  if (claim()) fuse_reply_attr(state_->request, &attributes, valid_s);
}

bool Reply::open(const std::function<fuse_file_info(fuse_req_t)>& make_file) {
  if (!claim()) return false;
  const fuse_file_info file = make_file(state_->request);
  return fuse_reply_open(state_->request, &file) == 0;
}

void Reply::create(const fuse_entry_param& entry, const fuse_file_info& file) {
  if (claim()) fuse_reply_create(state_->request, &entry, &file);
}

void Reply::written(std::size_t bytes) {
  if (claim()) fuse_reply_write(state_->request, bytes);
}

void Reply::bytes(std::span<const char> bytes) {
  if (claim()) fuse_reply_buf(state_->request, bytes.data(), bytes.size());
}

void Reply::data(const cache::PinnedBytes& bytes) {
  if (!claim()) return;
  // libfuse copies a list of pieces to the heap, but not a single one.
  if (bytes.pieces().size() == 1) {
    const auto piece = bytes.pieces().front();
    fuse_reply_buf(state_->request, reinterpret_cast<const char*>(piece.data()), piece.size());
    return;
  }
  std::array<iovec, cache::PinnedBytes::kPiecesMax> parts{};
  int count = 0;
  for (const auto piece : bytes.pieces()) {
    parts.at(static_cast<std::size_t>(count++)) = {.iov_base = const_cast<std::byte*>(piece.data()),
                                                   .iov_len = piece.size()};
  }
  fuse_reply_iov(state_->request, parts.data(), count);
}

void Reply::statfs(const struct statvfs& statistics) {
  if (claim()) fuse_reply_statfs(state_->request, &statistics);
}

}  // namespace s3rdmafs::fuse
