// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/rc_session_maker.h"

#include <sys/random.h>

#include <cerrno>

namespace s3rdmafs::rdma::verbs {
namespace {

class RcSession final : public Session {
 public:
  RcSession(std::shared_ptr<RcDevice> device, QueuePair pair, std::string id)
      : device_(std::move(device)), pair_(std::move(pair)), id_(std::move(id)) {}
  [[nodiscard]] const std::string& id() const noexcept override { return id_; }

 private:
  std::shared_ptr<RcDevice> device_;  // outlives the pair
  QueuePair pair_;
  const std::string id_;
};

}  // namespace

Result<std::unique_ptr<Session>> RcSessionMaker::connect() {
  std::shared_ptr<RcDevice> device = device_.get();
  if (!device) return fail(ErrorCode::kUnreachable, "the RDMA device is down");
  auto pair = device->make_queue_pair();
  if (!pair) return std::unexpected(std::move(pair.error()));
  std::uint32_t random = 0;
  if (::getrandom(&random, sizeof(random), 0) != sizeof(random)) {
    return fail_errno("getrandom", errno);
  }
  auto accepted = control_.connect(device->endpoint_of(*pair), 1 + random % rc::kPsnMax);
  if (!accepted) return std::unexpected(std::move(accepted.error()));
  if (auto ready = device->connect(*pair, accepted->server, accepted->server_psn); !ready) {
    return std::unexpected(std::move(ready.error()));
  }
  return std::make_unique<RcSession>(std::move(device), std::move(*pair),
                                     std::move(accepted->session_id));
}

}  // namespace s3rdmafs::rdma::verbs
