// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "s3/endpoints/endpoint_set.h"

namespace s3rdmafs::s3 {

struct Endpoint;
class Endpoints;

/// One request that counts as outstanding at its endpoint. Endpoints::lease() makes it. A lease
/// that is destroyed before end() counts as a request that was never sent. Used by one thread at a
/// time; the Endpoints outlive it.
class EndpointLease {
 public:
  EndpointLease() = default;  ///< of no endpoint
  EndpointLease(EndpointLease&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)),
        endpoint_(other.endpoint_),
        bytes_(other.bytes_) {}
  EndpointLease& operator=(EndpointLease&& other) noexcept;
  ~EndpointLease() { end(EndpointSet::Outcome::kNothing); }
  EndpointLease(const EndpointLease&) = delete;
  EndpointLease& operator=(const EndpointLease&) = delete;

  /// Also valid after end().
  [[nodiscard]] Endpoint& endpoint() const { return *endpoint_; }

  /// The request is over. Only the first call counts.
  void end(EndpointSet::Outcome outcome);

 private:
  friend class Endpoints;
  EndpointLease(Endpoints& owner, Endpoint& endpoint, std::uint64_t bytes)
      : owner_(&owner), endpoint_(&endpoint), bytes_(bytes) {}

  Endpoints* owner_ = nullptr;  // nullptr: ended
  Endpoint* endpoint_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace s3rdmafs::s3
