// SPDX-License-Identifier: Apache-2.0
#include "target/rdma/token_dispatch.h"

namespace s3rdmafs::target {
namespace {

std::unexpected<Error> not_served() {
  return fail(ErrorCode::kInvalidArgument, "the token is of a fabric that is not served here");
}

}  // namespace

TransferService* TokenDispatch::service_of(std::string_view token) const {
  return token.starts_with("rc:") ? rc_ : shm_;
}

bool TokenDispatch::moves_bytes(std::string_view token) const {
  const TransferService* service = service_of(token);
  return service == nullptr || service->moves_bytes(token);
}

Result<std::uint64_t> TokenDispatch::window_size(std::string_view token) {
  TransferService* service = service_of(token);
  return service == nullptr ? not_served() : service->window_size(token);
}

Result<void> TokenDispatch::write_part(std::string_view token, std::uint64_t window_offset, int fd,
                                       std::uint64_t file_offset, std::uint64_t length) {
  TransferService* service = service_of(token);
  return service == nullptr ? not_served()
                            : service->write_part(token, window_offset, fd, file_offset, length);
}

Result<void> TokenDispatch::read_window(std::string_view token, int fd, std::uint64_t file_offset,
                                        std::uint64_t length) {
  TransferService* service = service_of(token);
  return service == nullptr ? not_served() : service->read_window(token, fd, file_offset, length);
}

}  // namespace s3rdmafs::target
