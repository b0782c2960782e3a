// SPDX-License-Identifier: Apache-2.0
// Every difference between servers and every fault is one line here, at the step where it shows.
// A connection that a fault cuts is shut down at once, and the request is still served, without an
// answer. A real server whose client has left does the same, so late transfers here are real.
#include "target/s3/rdma.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"
#include "target/behaviour/token_form.h"

namespace s3rdmafs::target {
namespace {

constexpr const char* kAgentHeader = "x-amz-rdma-agent";
constexpr const char* kDeclined = "501";

// An endpoint in hipObject's form that leads nowhere (s3rdmafs-protocol(7)).
const std::string kGarbage = "200:" + std::string(88, '7');

/// A copy of part of a file with one wrong byte in the middle.
Result<UniqueFd> wrong_copy(int fd, std::uint64_t offset, std::uint64_t length) {
  std::vector<char> bytes(length);
  if (::pread(fd, bytes.data(), length, static_cast<off_t>(offset)) !=
      static_cast<ssize_t>(length)) {
    return fail_errno("read the object", errno);
  }
  bytes[length / 2] = static_cast<char>(~bytes[length / 2]);
  UniqueFd copy(::memfd_create("corrupt", MFD_CLOEXEC));
  if (!copy || ::pwrite(copy.get(), bytes.data(), length, 0) != static_cast<ssize_t>(length)) {
    return fail_errno("copy the object", errno);
  }
  return copy;
}

Result<void> turn_one_byte_over(int fd, std::uint64_t offset, std::uint64_t length) {
  const auto middle = static_cast<off_t>(offset + length / 2);
  char byte = 0;
  if (::pread(fd, &byte, 1, middle) != 1) return fail_errno("read the upload", errno);
  byte = static_cast<char>(~byte);
  if (::pwrite(fd, &byte, 1, middle) != 1) return fail_errno("write the upload", errno);
  return {};
}

S3Result<void> check_request(const Behaviour& behaviour, const Call& call) {
  const std::string token_header(behaviour.token_header);
  if (!call.caller.is_anonymous && !call.caller.signed_headers.contains(token_header)) {
    return refuse(kAccessDenied, token_header + " must be among the signed headers.");
  }
  if (call.request.header_or("content-length", "0") != "0") {
    return refuse(kInvalidRequest, "A request with an RDMA token cannot have a body.");
  }
  if (const auto agent = call.request.header(kAgentHeader);
      agent && !behaviour.agent.empty() && *agent != behaviour.agent) {
    return refuse(kInvalidArgument,
                  fmt::format("{} can only be {}.", kAgentHeader, behaviour.agent));
  }
  return {};
}

}  // namespace

S3Result<std::optional<RdmaProposal>> RdmaProposal::read(const Services& services, const Call& call,
                                                         FaultOperation operation) {
  const Behaviour& behaviour = services.behaviour;
  if (behaviour.ignores_tokens) return std::nullopt;
  auto token = call.request.header(behaviour.token_header);
  if (!token) return std::nullopt;
  if (auto good = check_request(behaviour, call); !good) return pass_on(good);

  const TokenKind kind = token_kind(*token);
  if (kind != TokenKind::kOwn) {
    if (std::string wrong = token_fault(behaviour.token_form, *token); !wrong.empty()) {
      return refuse(behaviour.bad_token, std::move(wrong));
    }
  }
  if (operation == FaultOperation::kPart && !behaviour.takes_parts) {
    return refuse(kNotImplemented, "This server takes no parts by RDMA.");
  }
  RdmaProposal proposal(services, call, std::move(*token));
  proposal.is_served_here_ = kind == TokenKind::kOwn || kind == TokenKind::kUnknown;
  if (services.faults != nullptr) proposal.plan_ = services.faults->plan(operation);
  proposal.wait_if(FaultKind::kDelayRequest);
  return proposal;
}

S3Result<Response> RdmaProposal::get(OpenObject object, ByteRange range, Response response) {
  if (plan_.has(FaultKind::kDeclineWithoutData)) {
    response.set(behaviour().reply_header, kDeclined);
    return response;
  }
  if (declines()) {
    auto declined = decline(std::move(response));
    if (!declined) return declined;
    return in_body(std::move(object), range, std::move(*declined));
  }
  if (range.length_bytes == 0) {
    if (behaviour().sends_empty_by_rdma) mark_done(response, 0, behaviour().has_bytes_on_get);
    return response;
  }
  if (range.length_bytes <= behaviour().in_body_bytes_max) {
    return in_body(std::move(object), range, std::move(response));
  }
  return get_by_rdma(std::move(object), range, std::move(response));
}

Response RdmaProposal::in_body(OpenObject object, ByteRange range, Response response) const {
  services_.traffic.http_sent_bytes.add(range.length_bytes);
  response.body = FileBody{.fd = std::move(object.fd),
                           .offset_bytes = range.offset_bytes,
                           .length_bytes = range.length_bytes};
  return response;
}

S3Result<Response> RdmaProposal::get_by_rdma(OpenObject object, ByteRange range,
                                             Response response) {
  const auto length = length_by_rdma(range.length_bytes);
  if (!length) return std::unexpected(length.error());
  const std::uint64_t whole_stripes = without_last_stripe(*length);
  const ByteRange moved{.offset_bytes = range.offset_bytes, .length_bytes = whole_stripes};
  if (auto done = transfer([&] { return write(object.fd.get(), moved); }); !done) {
    return pass_on(done);
  }
  services_.traffic.rdma_written_bytes.add(moved.length_bytes);
  mark_done(response, moved.length_bytes, behaviour().has_bytes_on_get);
  if (plan_.has(FaultKind::kSuccessWithBody)) {
    return in_body(std::move(object), range, std::move(response));
  }
  if (whole_stripes == *length) return response;
  const ByteRange rest{.offset_bytes = range.offset_bytes + whole_stripes,
                       .length_bytes = range.length_bytes - whole_stripes};
  return in_body(std::move(object), rest, std::move(response));
}

S3Result<std::uint64_t> RdmaProposal::length_by_rdma(std::uint64_t range_bytes) const {
  const auto window = window_size();
  if (!window) return window;
  if (range_bytes > *window && behaviour().oversize == Oversize::kRefused) {
    return refuse(
        behaviour().too_long,
        fmt::format("{} bytes do not fit into the token's window of {}.", range_bytes, *window));
  }
  const std::uint64_t length = std::min(range_bytes, *window);
  const auto bytes_max = plan_.argument(FaultKind::kTruncate);
  return bytes_max ? std::min(length, static_cast<std::uint64_t>(*bytes_max)) : length;
}

std::uint64_t RdmaProposal::without_last_stripe(std::uint64_t length) const {
  const std::uint64_t stripe = behaviour().stripe_bytes;
  return stripe > 0 && length > stripe ? length - length % stripe : length;
}

Result<void> RdmaProposal::write(int fd, ByteRange range) const {
  if (!plan_.has(FaultKind::kCorrupt)) {
    return write_stripes(fd, range.offset_bytes, range.length_bytes);
  }
  const auto copy = wrong_copy(fd, range.offset_bytes, range.length_bytes);
  if (!copy) return std::unexpected(copy.error());
  return write_stripes(copy->get(), 0, range.length_bytes);
}

Result<void> RdmaProposal::write_stripes(int fd, std::uint64_t file_offset,
                                         std::uint64_t length) const {
  const std::uint64_t stripe = behaviour().stripe_bytes;
  if (stripe == 0) return services_.rdma->write_window(token_, fd, file_offset, length);
  // The last one first: several writers may end in any order.
  for (std::uint64_t end = length; end > 0;) {
    const std::uint64_t begin = (end - 1) / stripe * stripe;
    auto written = services_.rdma->write_part(token_, begin, fd, file_offset + begin, end - begin);
    if (!written) return written;
    end = begin;
  }
  return {};
}

std::optional<std::uint64_t> RdmaProposal::expected_bytes() const {
  if (plan_.has(FaultKind::kZeroStore) || plan_.has(FaultKind::kDeclineWithoutData) || declines() ||
      !services_.rdma->moves_bytes(token_)) {
    return std::nullopt;
  }
  const auto size = services_.rdma->window_size(token_);
  return size ? std::optional(*size) : std::nullopt;
}

S3Result<std::optional<Response>> RdmaProposal::receive(UploadBody& body) {
  if (plan_.has(FaultKind::kZeroStore)) return std::nullopt;
  if (declines() || plan_.has(FaultKind::kDeclineWithoutData)) {
    auto declined = decline({});
    if (!declined) return pass_on(declined);
    return std::move(*declined);
  }
  const auto size = window_size();
  if (!size) return std::unexpected(size.error());
  const auto read = [&]() -> Result<void> {
    const std::uint64_t offset = body.file().offset_bytes();
    auto done = services_.rdma->read_window(token_, body.file().fd(), offset, *size);
    if (!done || !plan_.has(FaultKind::kCorrupt)) return done;
    return turn_one_byte_over(body.file().fd(), offset, *size);
  };
  if (auto moved = transfer(read); !moved) return pass_on(moved);
  services_.traffic.rdma_read_bytes.add(*size);
  if (!services_.rdma->moves_bytes(token_)) {
    body.believe(call_.request, *size);
    return std::nullopt;
  }
  if (auto hashed = body.hash_file(*size); !hashed) return pass_on(hashed);
  return std::nullopt;
}

void RdmaProposal::mark_stored(Response& response, std::uint64_t size_bytes) const {
  if (plan_.has(FaultKind::kZeroStore)) return;
  mark_done(response, size_bytes, behaviour().has_bytes_on_put);
}

bool RdmaProposal::declines() const {
  return services_.rdma == nullptr || !services_.rdma->serves(token_) || !is_served_here_ ||
         plan_.has(FaultKind::kDecline) || plan_.has(FaultKind::kError501);
}

S3Result<Response> RdmaProposal::decline(Response response) const {
  DeclineStyle style = behaviour().decline;
  if (plan_.has(FaultKind::kDecline)) style = DeclineStyle::kReply501;
  if (plan_.has(FaultKind::kError501)) style = DeclineStyle::kReply501WithError;
  if (style == DeclineStyle::kReply501) {
    response.set(behaviour().reply_header, kDeclined);
    return response;
  }
  const S3Code code = plan_.has(FaultKind::kError501) ? kNotImplemented : behaviour().declined;
  auto refused = refuse(code, "This server does not move these bytes by RDMA.");
  if (style == DeclineStyle::kReply501WithError) {
    refused.error().headers.emplace_back(behaviour().reply_header, kDeclined);
  }
  return refused;
}

S3Result<std::uint64_t> RdmaProposal::window_size() const {
  const auto size = services_.rdma->window_size(token_);
  if (!size) return refuse_transfer(size.error());
  if (*size > behaviour().transfer_bytes_max) {
    return refuse(behaviour().too_long, fmt::format("One transfer has at most {} bytes.",
                                                    behaviour().transfer_bytes_max));
  }
  return *size;
}

S3Result<void> RdmaProposal::transfer(const std::function<Result<void>()>& move) {
  const auto move_late = [&](FaultKind kind) {
    call_.request.hang_up();
    wait_if(kind);
    auto moved = move();
    services_.traffic.count_late_transfer(moved.has_value());
    return moved;
  };
  if (plan_.has(FaultKind::kCutBefore)) {
    call_.request.hang_up();
    return refuse(behaviour().transfer_failed);
  }
  wait_if(FaultKind::kDelayTransfer);
  const bool is_late = plan_.has(FaultKind::kLateWrite);
  if (auto moved = is_late ? move_late(FaultKind::kLateWrite) : move(); !moved) {
    return refuse_transfer(moved.error());
  }
  if (plan_.has(FaultKind::kDuplicateWrite)) {
    if (auto again = move_late(FaultKind::kDuplicateWrite); !again) {
      return refuse_transfer(again.error());
    }
  }
  if (plan_.has(FaultKind::kCutAfter)) call_.request.hang_up();
  wait_if(FaultKind::kDelayAnswer);
  return {};
}

std::unexpected<S3Error> RdmaProposal::refuse_transfer(const Error& error) const {
  if (error.code == ErrorCode::kUnsupported) return refuse(kNotImplemented, error.detail);
  const bool is_bad_token = error.code == ErrorCode::kInvalidArgument;
  return refuse(is_bad_token ? behaviour().bad_token : behaviour().transfer_failed, error.detail);
}

void RdmaProposal::wait_if(FaultKind kind) const {
  if (const auto delay_ms = plan_.argument(kind)) {
    services_.faults->wait(std::chrono::milliseconds(*delay_ms));
  }
}

void RdmaProposal::mark_done(Response& response, std::uint64_t bytes, bool has_count) const {
  if (plan_.has(FaultKind::kNoReply)) return;
  const int status = behaviour().always_replies_200 ? 200 : response.status;
  response.set(behaviour().reply_header,
               plan_.has(FaultKind::kGarbageToken) ? kGarbage : std::to_string(status));
  if (!behaviour().agent.empty()) response.set(kAgentHeader, behaviour().agent);
  const std::int64_t difference = plan_.argument(FaultKind::kWrongCount).value_or(0);
  if (has_count) {
    response.set(behaviour().bytes_header,
                 std::to_string(static_cast<std::int64_t>(bytes) + difference));
  }
}

S3Result<void> check_part_checksum(const Services& services, const Call& call,
                                   std::optional<ChecksumKind> wanted) {
  if (!services.behaviour.needs_part_checksum || !wanted) return {};
  if (call.request.header(checksum_header(*wanted))) return {};
  return refuse(kNotImplemented,
                fmt::format("A part of this upload needs {}.", checksum_header(*wanted)));
}

}  // namespace s3rdmafs::target
