// SPDX-License-Identifier: Apache-2.0
// A transfer takes its session, then a staging buffer, and goes buffer by buffer: from the file
// into it and on to the client, or the other way round. One work request is in flight at a time;
// the HTTP thread that carries the request waits for it. A transfer that fails ends its session, so
// that what its client hears of next is certain.
#include "target/rdma/rc/rc_service.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

// The longest time of a chunk on the wire: a request that waits longer waits for transfers that
// hang.
constexpr std::chrono::seconds kStagingPatience{30};

Result<rdma::rc::ObjectToken> parse(std::string_view text) {
  const auto token = rdma::rc::parse_object_token(text);
  if (!token) return fail(ErrorCode::kInvalidArgument, "the RDMA token is malformed");
  return *token;
}

/// `call` is pread or pwrite; moves all bytes or fails.
template <class Call>
Result<void> move_all(Call call, int fd, std::span<std::byte> bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t moved =
        call(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return fail_errno("the object's file", errno);
    if (moved == 0) return fail(ErrorCode::kSystem, "the object's file is shorter than it was");
    done += static_cast<std::size_t>(moved);
  }
  return {};
}

}  // namespace

Result<RcService::Opened> RcService::connect(const rdma::rc::Endpoint& client,
                                             std::uint32_t client_psn) {
  sessions_.remove_idle();
  auto connection = connector_.connect(client, client_psn);
  if (!connection) return std::unexpected(connection.error());
  auto id = sessions_.add(std::move(connection->link));
  if (!id) return std::unexpected(id.error());
  return Opened{
      .session_id = std::move(*id), .endpoint = connection->endpoint, .psn = connection->psn};
}

Result<std::uint64_t> RcService::window_size(std::string_view token) {
  const auto parsed = parse(token);
  if (!parsed) return std::unexpected(parsed.error());
  return parsed->size_bytes;
}

template <class MovePiece>
Result<void> RcService::transfer(std::string_view text, std::uint64_t window_offset,
                                 std::uint64_t length, MovePiece move_piece) {
  const auto token = parse(text);
  if (!token) return std::unexpected(token.error());
  if (window_offset > token->size_bytes || length > token->size_bytes - window_offset) {
    return fail(ErrorCode::kInvalidArgument, "the token's window is too small");
  }
  auto session = sessions_.borrow(token->session_id);
  if (!session) return std::unexpected(session.error());
  auto staging = staging_.borrow(kStagingPatience);
  if (!staging) {
    session->keep();
    return std::unexpected(staging.error());
  }
  const StagingBuffer& buffer = staging->buffer();
  for (std::uint64_t done = 0; done < length;) {
    const std::size_t piece = std::min<std::uint64_t>(buffer.bytes.size(), length - done);
    const RemoteMemory remote{.address = token->address + window_offset + done,
                              .rkey = token->rkey};
    if (auto moved = move_piece(session->link(), buffer, piece, remote, done); !moved) {
      log::warn("rc: a transfer failed after {} of {} bytes: {}", done, length,
                moved.error().detail);
      return moved;
    }
    done += piece;
  }
  session->keep();
  return {};
}

Result<void> RcService::write_part(std::string_view token, std::uint64_t window_offset, int fd,
                                   std::uint64_t file_offset, std::uint64_t length) {
  return transfer(token, window_offset, length,
                  [fd, file_offset](RcLink& link, const StagingBuffer& buffer, std::size_t piece,
                                    RemoteMemory remote, std::uint64_t done) -> Result<void> {
                    auto read =
                        move_all(::pread, fd, buffer.bytes.first(piece), file_offset + done);
                    if (!read) return read;
                    return link.write(buffer, piece, remote);
                  });
}

Result<void> RcService::read_window(std::string_view token, int fd, std::uint64_t file_offset,
                                    std::uint64_t length) {
  return transfer(token, /*window_offset=*/0, length,
                  [fd, file_offset](RcLink& link, const StagingBuffer& buffer, std::size_t piece,
                                    RemoteMemory remote, std::uint64_t done) -> Result<void> {
                    auto read = link.read(buffer, piece, remote);
                    if (!read) return read;
                    return move_all(::pwrite, fd, buffer.bytes.first(piece), file_offset + done);
                  });
}

}  // namespace s3rdmafs::target
